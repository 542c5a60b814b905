/** Standbys on real NATS servers, with their threads, while an owner writes as fast as it can. */
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {MONOTONIC_CLOCK} from '../../cluster/members/clock.ts';
import {encodeTenant, tenantKey} from '../../cluster/ownership/tenant-record.ts';
import {FileThreads} from '../../cluster/standby/file-threads.ts';
import {Standbys} from '../../cluster/standby/standbys.ts';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {until} from '../harness/until.ts';
import {natsRig} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {ReplicatedHost} from './harness/replicated-host.ts';
import {hostOf, newTenant, type Rig} from './harness/rig.ts';
import {ABOUT} from './harness/test-member.ts';

/** Of the entry of a tenant. */
const NEW = {createdMs: 1, dueMs: null, isDeleted: false};

const THREAD = pathToFileURL(fileURLToPath(new URL('../../dist/files.thread.js', import.meta.url)));
const WRITES = 400;
const AT_ONCE = 16;

let servers: NatsServers;
let rig: Rig;
const root = mkdtempSync(join(tmpdir(), 'svc-standbys-'));

beforeAll(async () => {
  servers = await NatsServers.start();
  rig = await natsRig(servers);
});

afterAll(async () => {
  await servers?.stop();
  rmSync(root, {recursive: true});
});

async function write(owner: ReplicatedHost, from: number, to: number): Promise<void> {
  let n = from;
  const next = async () => {
    while (n < to) {
      const at = n++;
      const known = await new Promise(resolve => owner.owner!.write(at, at % 100 === 0 ? 700_000 : 300, resolve));
      expect(known).toBe('acknowledged');
    }
  };
  await Promise.all(Array.from({length: AT_ONCE}, next));
}

test('a standby follows, a leader of NATS is killed, and the file becomes that of the next owner', async () => {
  const tenant = newTenant();
  const [mine, others] = [await hostOf(rig), await hostOf(rig)];
  const entry = {generation: 1, epoch: 1, owner: {host: 'owner', incarnation: 1}, pin: 'owner', ...NEW};
  await others.replicated.records.set(tenantKey(tenant.id), encodeTenant(entry), 0);
  const owner = new ReplicatedHost(rig, others, tenant);
  const path = join(root, tenant.id, 'tenant.sqlite');
  const reports: string[] = [];
  const files = new FileThreads({thread: THREAD});
  mkdirSync(join(root, 'scratch'));
  const standbys = new Standbys({
    replicated: mine.replicated,
    members: {
      serving: () =>
        ['owner', 'standby'].map(host => ({
          host,
          record: {format: 1, incarnation: 1, start: '0'.repeat(32), counter: 1, state: 'live', ...ABOUT},
        })),
    },
    clock: MONOTONIC_CLOCK,
    host: 'standby',
    standbys: 1,
    files,
    fileOf: () => ({path, owner: null}),
    scratch: join(root, 'scratch'),
    copyBytesPerSecond: null,
    baseLogBytes: 100_000,
    report: sentence => reports.push(sentence),
  });
  const end = new AbortController();
  const running = standbys.run(end.signal);
  const follows = () => until('the newest commit', () => standbys.stateOf(tenant.id)?.at?.commit === owner.commit);
  try {
    await owner.serve((await owner.bring(1))!, () => 0);
    await write(owner, 0, WRITES);
    await follows();
    const leader = await servers.leaderOf({kind: 'log', shard: 7});
    await leader.kill();
    await write(owner, WRITES, 2 * WRITES);
    await follows();
    await leader.start();
    await until('a base', async () => (await mine.replicated.bases.list(tenant)).length > 0);
    await owner.close();
    await standbys.hold(tenant.id);
    const next = new ReplicatedHost(rig, mine, tenant, path);
    await next.bring(2);
    await owner.bring(3);
    expect(snapshotOf(path)).toEqual(snapshotOf(owner.path));
    // An election on a busy machine can last longer than what is reported.
    expect(reports.filter(sentence => !sentence.endsWith(': timeout'))).toEqual([]);
    await next.end();
  } finally {
    end.abort();
    await running;
    await files.close();
    await owner.end();
  }
}, 120_000);
