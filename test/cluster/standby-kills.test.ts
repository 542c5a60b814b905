/** A process that is killed at any change of the disk leaves a file from which its standby goes on. */
import {spawnSync} from 'node:child_process';
import {copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {serialize} from 'node:v8';
import {afterEach, expect, test} from 'vitest';
import type {FileOrder} from '../../cluster/standby/file-order.ts';
import {killedSteps} from './harness/killed-steps.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {type Host, hostOf, newTenant, type Rig} from './harness/rig.ts';
import {StandbyHost} from './harness/standby-host.ts';

const PROCESS = fileURLToPath(new URL('./harness/order-process.ts', import.meta.url));

const ended: {end(): Promise<void> | void}[] = [];
afterEach(async () => {
  for (const host of ended.splice(0)) await host.end();
});

type Course = {rig: Rig; connection: Host; tenant: ReturnType<typeof newTenant>; owner: ReplicatedHost};

async function writes({owner}: Course, epoch: number, numbers: number[]): Promise<void> {
  await owner.serve((await owner.bring(epoch))!, () => 0);
  for (const n of numbers) {
    expect(await new Promise(resolve => owner.owner!.write(n, n % 5 === 0 ? 700_000 : 100, resolve))).toBe(
      'acknowledged',
    );
  }
  await owner.close();
}

/** @returns what a process does with the file that a standby brings to the tail, and where that is */
async function ordersOf(standby: StandbyHost, kept: string): Promise<Omit<FileOrder, 'end'>[]> {
  const orders: Omit<FileOrder, 'end'>[] = [];
  const keep = (path: string) => {
    const copy = join(kept, String(orders.length));
    copyFileSync(path, copy);
    return copy;
  };
  standby.fault = ({end: _, ...order}) => {
    if (order.kind === 'seed') orders.push({...order, base: keep(order.base)} as typeof order);
    else if (order.kind === 'apply') {
      const records = order.records.map(record =>
        record.kind === 'pages' && typeof record.pages === 'string' ? {...record, pages: keep(record.pages)} : record,
      );
      orders.push({...order, records} as typeof order);
    } else orders.push(order);
    return null;
  };
  await standby.follow();
  return orders;
}

/** A worker of the standby's host has written the file, and then another host was the owner. */
async function formerOwner(course: Course, path: string): Promise<void> {
  const {rig, connection, tenant} = course;
  const worker = new ReplicatedHost(rig, connection, tenant, path);
  ended.push(worker);
  await worker.serve((await worker.bring(1))!, () => 0);
  for (const n of [1, 2]) await new Promise(resolve => worker.owner!.write(n, 100, resolve));
  await worker.close();
  await writes(course, 2, [3, 4, 5, 6]);
  await writes(course, 3, [7]);
}

function copyFiles(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) copyFileSync(join(from, name), join(to, name));
}

async function trimmed({rig, connection, tenant}: Course): Promise<void> {
  const other = new StandbyHost(rig, connection, tenant);
  ended.push(other);
  await other.follow();
  for (let i = 0; i < 2; i++) expect(await other.storeBase()).toBe('stored');
}

test.each<[string, boolean]>([
  ['while a file of a worker becomes a copy and records are applied', false],
  ['while a file of a worker is set aside and begins again with a base', true],
])(
  '%s',
  async (_, isTrimmed) => {
    const rig = memoryRig();
    await rig.run(async () => {
      const connection = await hostOf(rig);
      const tenant = newTenant();
      const course: Course = {rig, connection, tenant, owner: new ReplicatedHost(rig, connection, tenant)};
      const first = new StandbyHost(rig, connection, tenant);
      ended.push(course.owner, first);
      const directory = dirname(first.path);
      mkdirSync(directory);
      await formerOwner(course, first.path);
      if (isTrimmed) await trimmed(course);
      const [before, kept] = [join(first.root, 'before'), join(first.root, 'kept')];
      mkdirSync(kept);
      copyFiles(directory, before);
      const orders = await ordersOf(first, kept);
      const expected = first.standby.state!.at;
      const ordersPath = join(kept, 'orders');
      writeFileSync(ordersPath, serialize(orders));
      const run = (endAt: number) => {
        rmSync(directory, {recursive: true});
        copyFiles(before, directory);
        return spawnSync(process.execPath, ['--no-warnings', PROCESS, ordersPath, String(endAt)], {encoding: 'utf8'});
      };
      const whole = run(-1);
      expect(whole.stderr).toBe('');
      for (const step of killedSteps(Number(whole.stdout))) {
        expect(run(step).signal, `change ${step}`).toBe('SIGKILL');
        const next = new StandbyHost(rig, connection, tenant, first.path);
        await next.follow();
        expect(next.standby.state!.at, `change ${step}`).toEqual(expected);
        // All pages are compared with their digest.
        expect(await next.standby.writeBase(join(next.root, 'scratch', 'base'))).not.toBeNull();
        const aside = readdirSync(directory).filter(name => /^(diverged|replaced)/.test(name));
        expect(aside, `change ${step}`).toEqual(isTrimmed ? ['replaced-1'] : []);
        if (isTrimmed) expect(documentsOf(join(directory, 'replaced-1', 'tenant.sqlite'))).toEqual([1, 2]);
        next.end();
      }
    });
  },
  600_000,
);
