/** The standbys of one host: which tenants it keeps, and that a worker of the host gets a closed file. */
import {existsSync, mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterEach, expect, test} from 'vitest';
import {delay} from '../../cluster/log/timing.ts';
import type {Members} from '../../cluster/members/members.ts';
import {encodeTenant, tenantKey} from '../../cluster/ownership/tenant-record.ts';
import type {FileAnswer, FileOrder} from '../../cluster/standby/file-order.ts';
import {runOrder} from '../../cluster/standby/file-work.ts';
import {KeptTenants} from '../../cluster/standby/kept-tenants.ts';
import {Standbys} from '../../cluster/standby/standbys.ts';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {type Host, hostOf, newTenant, type Rig} from './harness/rig.ts';
import {ABOUT} from './harness/test-member.ts';

/** Of the entry of a tenant. */
const NEW = {createdMs: 1, dueMs: null, isDeleted: false};

const WAITS_MAX = 2_000;
const OWNER = {host: 'owner', incarnation: 1};

const ended: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

class StandbyProcess {
  readonly root = makeMemoryDirectory('svc-standbys-');
  readonly standbys: Standbys;
  readonly reports: string[] = [];
  readonly orders: FileOrder[] = [];
  /** Names of live hosts. */
  live = ['owner', 'standby'];
  /** Resolves when the order begins. */
  before: (order: FileOrder) => Promise<void> | void = () => undefined;
  fault: (order: FileOrder) => FileAnswer | null = () => null;
  readonly #end = new AbortController();
  readonly #rig: Rig;
  readonly #run: Promise<void>;

  constructor(
    rig: Rig,
    {replicated}: Host,
    {standbys = 1, rate = null}: {standbys?: number; rate?: number | null} = {},
  ) {
    this.#rig = rig;
    mkdirSync(join(this.root, 'scratch'));
    const time = rig.timing as Rig['timing'] & {nowMs: number};
    const serving: Members['serving'] = () =>
      this.live.map(host => ({
        host,
        record: {format: 1, incarnation: 1, start: '0'.repeat(32), counter: 1, state: 'live', ...ABOUT},
      }));
    this.standbys = new Standbys({
      replicated,
      members: {serving},
      clock: {
        after: time.after.bind(time),
        get nowMs() {
          return time.nowMs;
        },
      },
      host: 'standby',
      standbys,
      files: {
        run: async order => {
          this.orders.push(order);
          await this.before(order);
          return this.fault(order) ?? runOrder(order, 0);
        },
      },
      fileOf: ({id}) => ({path: this.pathOf(id), owner: null}),
      scratch: join(this.root, 'scratch'),
      copyBytesPerSecond: rate,
      baseLogBytes: 20_000,
      report: sentence => this.reports.push(sentence),
    });
    this.#run = this.standbys.run(this.#end.signal);
    ended.push(() => rmSync(this.root, {recursive: true}));
  }

  pathOf(id: string): string {
    return join(this.root, id, 'tenant.sqlite');
  }

  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (let left = WAITS_MAX; left > 0; left--) {
      if (await isSo()) return;
      await delay(this.#rig.timing, 50);
    }
    throw new Error(`${what} does not come`);
  }

  /** The file has as many commits as the owner's, and nothing is behind. */
  async follows(id: string, owner: ReplicatedHost): Promise<void> {
    await this.until('the newest commit', () => {
      const {at} = this.standbys.stateOf(id) ?? {};
      return at?.commit === owner.commit && this.standbys.lag().get(id)?.records === 0;
    });
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#run;
  }
}

function scenario(work: (rig: Rig, connection: Host) => Promise<void>): () => Promise<void> {
  return async () => {
    const rig = memoryRig();
    await rig.run(async () => work(rig, await hostOf(rig)));
  };
}

async function ownerOf(rig: Rig, connection: Host, tenant: ReturnType<typeof newTenant>, pin: string | null = 'owner') {
  const entry = encodeTenant({generation: tenant.generation, epoch: 1, owner: OWNER, pin, ...NEW});
  await connection.replicated.records.set(tenantKey(tenant.id), entry, 0);
  const owner = new ReplicatedHost(rig, connection, tenant);
  ended.push(() => owner.end());
  await owner.serve((await owner.bring(1))!, () => 0);
  return owner;
}

async function write(owner: ReplicatedHost, n: number, bytes = 100): Promise<void> {
  expect(await new Promise(resolve => owner.owner!.write(n, bytes, resolve))).toBe('acknowledged');
}

test(
  'files of all tenants follow; a worker gets a closed file, and afterwards it follows again',
  scenario(async (rig, connection) => {
    const [one, other] = [newTenant(), newTenant()];
    const owners = [await ownerOf(rig, connection, one), await ownerOf(rig, connection, other)] as const;
    await write(owners[0], 1);
    const host = new StandbyProcess(rig, connection);
    await host.follows(one.id, owners[0]);
    await host.follows(other.id, owners[1]);
    for (let n = 2; n < 20; n++) await Promise.all(owners.map(owner => write(owner, n)));
    await host.follows(one.id, owners[0]);
    await owners[0].close();
    await host.standbys.hold(one.id);
    const before = host.orders.length;
    const worker = new ReplicatedHost(rig, connection, one, host.pathOf(one.id));
    ended.push(() => worker.end());
    await worker.serve((await worker.bring(2))!, () => 0);
    await write(worker, 20);
    await worker.close();
    expect(host.orders.slice(before).filter(({path}) => path === host.pathOf(one.id))).toEqual([]);
    expect([...host.standbys.lag().keys()]).toEqual([other.id]);
    host.standbys.release(one.id);
    await owners[0].serve((await owners[0].bring(3))!, () => 0);
    await write(owners[0], 21);
    await host.follows(one.id, owners[0]);
    await owners[0].close();
    await host.stop();
    const last = new ReplicatedHost(rig, connection, one, host.pathOf(one.id));
    ended.push(() => last.end());
    await last.bring(4);
    await owners[0].bring(5);
    expect(snapshotOf(last.path)).toEqual(snapshotOf(owners[0].path));
    expect(host.reports).toEqual([]);
  }),
);

test(
  'when a host joins or an entry changes, it follows more or fewer tenants, and keeps the files',
  scenario(async (rig, connection) => {
    const tenant = newTenant();
    const owner = await ownerOf(rig, connection, tenant);
    const host = new StandbyProcess(rig, connection);
    host.live = ['owner'];
    await host.until('no standby', () => host.standbys.stateOf(tenant.id) === null);
    host.live = ['owner', 'standby'];
    await host.follows(tenant.id, owner);
    const record = await connection.replicated.records.get(tenantKey(tenant.id));
    await connection.replicated.records.set(tenantKey(tenant.id), null, record!.revision);
    await host.until('its end', () => !host.standbys.lag().has(tenant.id));
    expect(existsSync(host.pathOf(tenant.id))).toBe(true);
    await host.stop();
  }),
);

test(
  'a base is made when the log since the last one exceeds half of the file, and the log below the older of two is removed',
  scenario(async (rig, connection) => {
    const tenant = newTenant();
    const owner = await ownerOf(rig, connection, tenant);
    const host = new StandbyProcess(rig, connection);
    const bases = () => connection.replicated.bases.list(tenant);
    let n = 0;
    for (const count of [1, 2]) {
      // Small writes change the same pages again and again, so the log grows faster than the file.
      for (const to = n + 200; n < to; n++) await write(owner, n);
      await host.until(`base ${count}`, async () => (await bases()).length === count);
    }
    const [older] = await bases();
    await host.until('the trim', async () => {
      const first = await connection.log(tenant).recordAt({...older!.position, sequence: 1});
      return first === 'trimmed';
    });
    await write(owner, n);
    await host.follows(tenant.id, owner);
    await host.stop();
    const later = new StandbyProcess(rig, connection);
    await later.follows(tenant.id, owner);
    expect(later.orders.map(({kind}) => kind)).toContain('seed');
    await later.stop();
    await owner.close();
    const worker = new ReplicatedHost(rig, connection, tenant, later.pathOf(tenant.id));
    ended.push(() => worker.end());
    await worker.bring(2);
    expect(documentsOf(worker.path).length).toBe(n + 1);
  }),
);

test(
  'a failure is tried again with a growing pause and reported once',
  scenario(async (rig, connection) => {
    const tenant = newTenant();
    const owner = await ownerOf(rig, connection, tenant);
    const host = new StandbyProcess(rig, connection);
    host.fault = () => ({kind: 'no_space'});
    await write(owner, 1);
    await host.until('a report', () => host.reports.length > 0);
    await delay(rig.timing, 60_000);
    expect(host.reports).toEqual([`the standby of ${tenant.id} does not follow its log: the disk is full`]);
    expect(host.orders.length).toBeLessThan(20);
    expect(host.standbys.lag().get(tenant.id)!.records).toBeGreaterThanOrEqual(0);
    host.fault = () => null;
    await host.follows(tenant.id, owner);
    await host.stop();
  }),
);

test(
  'a worker gets the file of a tenant that was just dropped when its order has ended',
  scenario(async (rig, connection) => {
    const tenant = newTenant();
    const owner = await ownerOf(rig, connection, tenant);
    const host = new StandbyProcess(rig, connection);
    await host.follows(tenant.id, owner);
    const seen: string[] = [];
    let begin = () => {};
    const begun = new Promise<void>(resolve => {
      host.before = async () => {
        resolve();
        await new Promise<void>(go => {
          begin = go;
        });
        seen.push('applied');
      };
    });
    await write(owner, 1);
    await begun;
    host.live = ['owner'];
    await host.until('its end', () => !host.standbys.lag().has(tenant.id));
    const held = host.standbys.hold(tenant.id).then(() => seen.push('held'));
    await delay(rig.timing, 10_000);
    expect(seen).toEqual([]);
    host.before = () => undefined;
    begin();
    await held;
    expect(seen).toEqual(['applied', 'held']);
    await host.stop();
  }),
);

test('of any members, each tenant is kept by its owner and the hosts that would follow it, and one makes its bases', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(
      fc.uniqueArray(name, {minLength: 1, maxLength: 6}),
      fc.nat(3),
      fc.stringMatching(/^[a-z]{1,10}$/),
      fc.nat(5),
      (names, standbys, id, at) => {
        const hosts = names.map(host => ({name: host, capacity: 1, storage: 1}));
        const owner = {host: names[at % names.length]!, incarnation: 1};
        const keeping = names.map(host => {
          const kept = new KeptTenants(host, standbys);
          kept.set(hosts);
          return {host, ...kept.of(id, {owner, pin: null})};
        });
        const kept = keeping.filter(({isKept}) => isKept).map(({host}) => host);
        expect(kept).toContain(owner.host);
        // One more while the owner is not the one that is placed.
        expect(kept.length).toBeGreaterThanOrEqual(Math.min(names.length, 1 + standbys));
        expect(kept.length).toBeLessThanOrEqual(standbys === 0 ? 1 : Math.min(names.length, 2 + standbys));
        const makers = keeping.filter(({makesBases}) => makesBases);
        expect(makers.length).toBe(1);
        expect(kept).toContain(makers[0]!.host);
      },
    ),
  );
});
