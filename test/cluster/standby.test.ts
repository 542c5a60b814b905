/** A standby: its file is at the tail of the log, whatever has happened to the file and the log. */
import {readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';
import {STANDBY_RECORDS} from '../../cluster/limits.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import {delay} from '../../cluster/log/timing.ts';
import {StandbyError} from '../../cluster/standby/standby.ts';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {type Parts, scenario, untilEnd} from './harness/file-scenario.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {allOf, SUBJECTS} from './harness/rig.ts';
import {StandbyHost} from './harness/standby-host.ts';

async function serve(host: ReplicatedHost, epoch: number): Promise<void> {
  expect(await host.serve((await host.bring(epoch))!, () => 0)).toBe(true);
}

async function write(host: ReplicatedHost, n: number, bytes = 100): Promise<void> {
  expect(await new Promise(resolve => host.owner!.write(n, bytes, resolve))).toBe('acknowledged');
}

/** What the file has once a worker of its host has opened it. */
async function takenOver({rig, connection, tenant}: Parts, {standby, path}: StandbyHost, epoch: number) {
  await standby.stop();
  const host = untilEnd(new ReplicatedHost(rig, connection, tenant, path));
  await host.bring(epoch);
  standby.resume();
  return host;
}

test(
  'it follows small and large commits of one owner after another, and a worker of its host opens the file at once',
  scenario(async parts => {
    const {owner, standby} = parts;
    await serve(owner, 1);
    await write(owner, 1);
    await standby.standby.step();
    for (let n = 2; n < 80; n++) await write(owner, n);
    await write(owner, 80, 900_000);
    await standby.follow();
    await owner.close();
    const second = await takenOver(parts, standby, 2);
    expect(documentsOf(standby.path)).toEqual(Array.from({length: 80}, (_, i) => i + 1));
    await serve(second, 3);
    await write(second, 81);
    await second.close();
    await serve(owner, 4);
    await write(owner, 82);
    await owner.close();
    // The file of the worker becomes a copy again.
    await standby.follow();
    const last = await takenOver(parts, standby, 5);
    await owner.bring(6);
    expect(snapshotOf(last.path)).toEqual(snapshotOf(owner.path));
    expect(readdirSync(join(standby.root, 'scratch'))).toEqual([]);
    expect(standby.reports).toEqual([]);
  }),
);

test(
  'bases are made of its file, the log is trimmed below the older one, and a new standby begins with the newer one',
  scenario(async parts => {
    const {owner, standby, rig, connection, tenant} = parts;
    await serve(owner, 1);
    for (const n of [1, 2, 3]) {
      await write(owner, n);
      await standby.follow();
      expect(await standby.storeBase()).toBe('stored');
    }
    await write(owner, 4, 600_000);
    await expect(allOf(connection.log(tenant))).rejects.toMatchObject({code: 'trimmed'});
    const [older, newer] = await connection.replicated.bases.list(tenant);
    expect((await connection.engine.next(SUBJECTS.log(tenant), 1))!.sequence).toBe(older!.position.sequence);
    const other = untilEnd(new StandbyHost(rig, connection, tenant));
    expect(await other.standby.step()).toBe('base_needed');
    expect(await other.standby.seed()).toBe(true);
    expect(other.standby.state!.at!.commit).toBeGreaterThan(1);
    expect(JSON.parse(other.standby.state!.place!)).toMatchObject({n: newer!.position.n});
    await other.follow();
    await owner.close();
    const worker = await takenOver(parts, other, 2);
    expect(documentsOf(worker.path)).toEqual([1, 2, 3, 4]);
  }),
);

test(
  'a file with another history than the log is set aside once, reported, and made again',
  scenario(async parts => {
    const {owner, standby, rig, connection, tenant} = parts;
    await serve(owner, 1);
    await write(owner, 1);
    await write(owner, 2);
    await standby.follow();
    await owner.close();
    // The log loses its newest records, and another host, which does not have them, goes on.
    rig.loseAfter(SUBJECTS.log(tenant).stream, (await connection.log(tenant).tail())!.sequence - 2);
    const other = untilEnd(new ReplicatedHost(rig, connection, tenant));
    await expect(standby.standby.step()).rejects.toBeInstanceOf(LogError);
    await serve(other, 2);
    for (const n of [3, 4, 5]) await write(other, n);
    await other.close();
    await standby.follow();
    expect(standby.reports).toEqual([expect.stringMatching(/has other commits than its log. .*diverged-1/)]);
    const worker = await takenOver(parts, standby, 3);
    expect(documentsOf(worker.path)).toEqual([1, 3, 4, 5]);
    expect(readdirSync(join(dirname(standby.path), 'diverged-1'))).toContain('tenant.sqlite');
  }),
);

test.each<[string, (path: string) => void]>([
  ['pages that are others', path => writeFileSync(path, readFileSync(path).fill(7, 4096 * 3))],
  ['a file that is shorter', path => truncateSync(path, 4096)],
  ['a position that is damaged', path => writeFileSync(`${path}.position`, 'x')],
  ['a place that is damaged', path => writeFileSync(`${path}.place`, 'x')],
])('%s: the file is set aside, reported, and made again', async (_, damage) => {
  await scenario(async parts => {
    const {owner, standby} = parts;
    await serve(owner, 1);
    await write(owner, 1, 20_000);
    await standby.follow();
    await standby.standby.stop();
    damage(standby.path);
    standby.standby.resume();
    await write(owner, 2);
    await standby.follow();
    await owner.close();
    const worker = await takenOver(parts, standby, 2);
    expect(documentsOf(worker.path)).toEqual([1, 2]);
    expect(standby.reports).toEqual([expect.stringContaining('diverged-')]);
  })();
});

test(
  'a record that no file can apply costs one file, and the standby waits',
  scenario(async ({owner, standby, connection, tenant}) => {
    await serve(owner, 1);
    await write(owner, 1);
    await standby.follow();
    await write(owner, 2);
    const {n} = (await connection.log(tenant).tail())!;
    standby.fault = order => {
      const last = order.kind === 'apply' ? order.records.at(-1)!.place : '{}';
      return JSON.parse(last).n === n ? {kind: 'unusable', sentence: 'the pages do not match'} : null;
    };
    await expect(standby.follow()).rejects.toBeInstanceOf(StandbyError);
    await expect(standby.follow()).rejects.toBeInstanceOf(StandbyError);
    expect(readdirSync(dirname(standby.path)).filter(name => name.startsWith('diverged'))).toEqual(['diverged-1']);
    standby.fault = () => null;
    await standby.follow();
  }),
);

test(
  'with a full disk it waits, and goes on when there is space',
  scenario(async parts => {
    const {owner, standby} = parts;
    await serve(owner, 1);
    await write(owner, 1);
    standby.fault = () => ({kind: 'no_space'});
    await expect(standby.standby.step()).rejects.toThrow('the disk is full');
    standby.fault = () => null;
    await standby.follow();
    await owner.close();
    expect(documentsOf((await takenOver(parts, standby, 2)).path)).toEqual([1]);
  }),
);

test(
  'a link that a process of the tenant left is not followed',
  scenario(async ({owner, standby}) => {
    await serve(owner, 1);
    await write(owner, 1);
    await standby.follow();
    const victim = join(standby.root, 'victim');
    writeFileSync(victim, 'whole');
    symlinkSync(victim, `${standby.path}.applying.new`);
    await write(owner, 2);
    await expect(standby.standby.step()).rejects.toThrow('applying.new is not a file');
    expect(readFileSync(victim, 'utf8')).toBe('whole');
  }),
);

test(
  'a step whose reading fails ends when its order has ended, and no worker gets the file before',
  scenario(async parts => {
    const {rig, owner, standby, connection} = parts;
    await serve(owner, 1);
    for (let n = 0; n < STANDBY_RECORDS + 40; n++) await write(owner, n);
    const seen: string[] = [];
    let begin = () => {};
    const begun = new Promise<void>(resolve => {
      standby.before = async ({kind}) => {
        if (kind !== 'apply') return;
        resolve();
        await new Promise<void>(go => {
          begin = go;
        });
        seen.push('applied');
      };
    });
    connection.script('read', [...Array(STANDBY_RECORDS + 20).fill('none'), 'lost']);
    const step = standby.standby.step().catch((error: Error) => seen.push(error.message));
    await begun;
    await delay(rig.timing, 10_000); // the reading has failed
    const stopped = standby.standby.stop().then(() => seen.push('stopped'));
    await delay(rig.timing, 10_000);
    expect(seen).toEqual([]);
    begin();
    await Promise.all([step, stopped]);
    expect(seen).toEqual(['applied', 'no answer', 'stopped']);
  }),
);
