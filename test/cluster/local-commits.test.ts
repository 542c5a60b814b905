/**
 * Owners with `--ack local`, with real files and the log in memory: what was acknowledged is in the log, or in a file that
 * was set aside.
 */
import {expect, test} from 'vitest';
import {delay} from '../../cluster/log/timing.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {isMade} from '../../engine/replication/made-note.ts';
import {rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {type Course, makeFaulty, untrueAnswers, writeSome} from './harness/owner-course.ts';
import {documentsOf, type Known, ReplicatedHost} from './harness/replicated-host.ts';
import {type Host, hostOf, newTenant, type Rig} from './harness/rig.ts';

const BEGIN = Number(process.env.SVC_CLUSTER_SEED ?? 4_100);
const SEEDS = Array.from({length: rounds({commit: 5, nightly: 100})}, (_, i) => BEGIN + i);
const OWNERS = 8;
const LAG_MS = 5_000;
const TIMEOUT_MS = 300_000;
const {random} = Math;

type Pair = {rig: Rig; connections: [Host, Host]; a: ReplicatedHost; b: ReplicatedHost};

async function withHosts(use: (pair: Pair) => Promise<void>): Promise<void> {
  const rig = memoryRig();
  await rig.run(async () => {
    const tenant = newTenant();
    const connections: [Host, Host] = [await hostOf(rig), await hostOf(rig)];
    const [a, b] = connections.map(one => new ReplicatedHost(rig, one, tenant)) as [ReplicatedHost, ReplicatedHost];
    try {
      await use({rig, connections, a, b});
    } finally {
      for (const host of [a, b]) await host.end();
    }
  });
}

async function served(host: ReplicatedHost, epoch: number): Promise<void> {
  const opened = await host.bring(epoch);
  expect(opened).not.toBeNull();
  expect(await host.serve(opened!, random, LAG_MS)).toBe(true);
}

const write = (host: ReplicatedHost, n: number, bytes = 10) =>
  new Promise<Known>(resolve => host.owner!.write(n, bytes, resolve));

/** Requests of the host reach the log, or not. */
function cut(connection: Host, isCut: boolean): void {
  connection.choose(() => (isCut ? 'lost' : 'none'));
}

async function until(rig: Rig, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await delay(rig.timing, 10);
}

test('writes are acknowledged without the log up to the lag limit, and then wait for it', () =>
  withHosts(async ({rig, connections, a, b}) => {
    await served(a, 1);
    cut(connections[0], true);
    for (let n = 0; n < 5; n++) expect(await write(a, n)).toBe('acknowledged');
    await delay(rig.timing, LAG_MS + 1);
    expect(a.lagMs).toBeGreaterThan(LAG_MS);
    let known: Known | null = null;
    void write(a, 5).then(outcome => {
      known = outcome;
    });
    await delay(rig.timing, LAG_MS);
    expect(known).toBeNull();
    cut(connections[0], false);
    await until(rig, () => known !== null && a.lagMs === 0);
    expect(known).toBe('acknowledged');
    expect(await a.close()).toBe(true);
    await b.bring(2);
    expect(documentsOf(b.path)).toEqual([0, 1, 2, 3, 4, 5]);
  }));

test('what a killed worker had acknowledged is appended when its host opens the tenant again', () =>
  withHosts(async ({rig, connections, a, b}) => {
    await served(a, 1);
    cut(connections[0], true);
    for (let n = 0; n < 3; n++) expect(await write(a, n)).toBe('acknowledged');
    a.kill(true);
    await connections[0].engine.settled();
    cut(connections[0], false);
    await served(a, 2);
    await a.close();
    await b.bring(3);
    expect(documentsOf(b.path)).toEqual([0, 1, 2]);
    expect(rig).toBeDefined();
  }));

test('also if its host has closed the log behind it', () =>
  withHosts(async ({connections, a, b}) => {
    const [connection] = connections;
    await served(a, 1);
    cut(connection, true);
    for (let n = 0; n < 3; n++) expect(await write(a, n)).toBe('acknowledged');
    a.kill(true);
    await connection.engine.settled();
    cut(connection, false);
    const log = connection.log(a.tenant);
    const note = sourceOf(Buffer.from('epoch 1'));
    await log.append((await log.tail())!, {kind: 'close', epoch: 1, body: note});
    await served(a, 2);
    await a.close();
    await b.bring(3);
    expect(documentsOf(b.path)).toEqual([0, 1, 2]);
    expect([...a.aside]).toEqual([]);
  }));

test('also if the log was opened elsewhere, and nothing was committed there', () =>
  withHosts(async ({connections, a, b}) => {
    await served(a, 1);
    expect(await write(a, 0)).toBe('acknowledged');
    cut(connections[0], true);
    expect(await write(a, 1)).toBe('acknowledged');
    a.kill(true);
    await connections[0].engine.settled();
    cut(connections[0], false);
    await b.bring(2);
    b.kill();
    // A worker that ends before it serves leaves a file that is not its own yet.
    expect([isMade(a.path), isMade(b.path)]).toEqual([false, true]);
    await served(a, 3);
    await a.close();
    await served(b, 4);
    expect(isMade(b.path)).toBe(false);
    expect(documentsOf(b.path)).toEqual([0, 1]);
    expect([...a.aside]).toEqual([]);
  }));

test('once another host has committed, it is set aside, and reported', () =>
  withHosts(async ({connections, a, b}) => {
    await served(a, 1);
    expect(await write(a, 0)).toBe('acknowledged');
    cut(connections[0], true);
    expect(await write(a, 1)).toBe('acknowledged');
    a.kill(true);
    await connections[0].engine.settled();
    cut(connections[0], false);
    await served(b, 2);
    expect(await write(b, 2)).toBe('acknowledged');
    await b.close();
    await a.bring(3);
    expect(documentsOf(a.path)).toEqual(documentsOf(b.path));
    expect(documentsOf(a.path)).not.toContain(1);
    expect([...a.aside]).toContain(1);
    expect(a.reports).toEqual([expect.stringMatching(/acknowledged commits of .* did not reach the log in time/)]);
  }));

test('a checkpoint waits for the log, so that the WAL has all that is to be appended', () =>
  withHosts(async ({rig, connections, a, b}) => {
    await served(a, 1);
    cut(connections[0], true);
    const all = Array.from({length: 40}, (_, n) => n);
    for (const n of all) expect(await write(a, n, 300_000)).toBe('acknowledged');
    a.kill();
    await connections[0].engine.settled();
    cut(connections[0], false);
    await served(a, 2);
    expect(await write(a, 40)).toBe('acknowledged');
    await until(rig, () => a.lagMs === 0);
    await a.close();
    await b.bring(3);
    expect(documentsOf(b.path)).toEqual([...all, 40]);
  }));

async function randomOwners(rig: Rig, seed: number): Promise<string[]> {
  const random = seededRandom(seed);
  const tenant = newTenant();
  const course: Course = {rig, random, known: new Map()};
  const connections = await Promise.all([0, 1, 2].map(() => hostOf(rig)));
  const endFaults = makeFaulty(connections, course, {share: 0.15, outages: 0.01});
  const hosts = connections.map(one => new ReplicatedHost(rig, one, tenant));
  const [a, b, last] = hosts as [ReplicatedHost, ReplicatedHost, ReplicatedHost];
  let epoch = 0;
  try {
    for (let i = 0; i < OWNERS; i++) {
      const host = random() < 0.5 ? a : b;
      for (const one of [a, b]) {
        const way = random();
        if (one.owner !== null && way < 0.5) one.kill(random() < 0.5);
        else if (one.owner !== null && way < 0.75) await one.close();
      }
      if (host.owner !== null) host.kill(random() < 0.5);
      const opened = await host.bring(++epoch);
      const lagMs = random() < 0.7 ? 200 : null;
      if (opened !== null && (await host.serve(opened, random, lagMs))) await writeSome(host, course);
      else host.kill();
    }
    endFaults();
    for (const host of [a, b]) host.kill();
    await Promise.all(connections.map(one => one.engine.settled()));
    // What only one of them has is appended, or set aside.
    for (const host of [a, b]) {
      await served(host, ++epoch);
      await host.close();
    }
    for (const host of [last, a, b]) await host.bring(++epoch);
    const documents = documentsOf(last.path);
    for (const host of [a, b]) expect(documentsOf(host.path), `seed ${seed}`).toEqual(documents);
    return untrueAnswers(course, documents, [...a.aside, ...b.aside]);
  } finally {
    for (const host of hosts) await host.end();
  }
}

test(
  `each acknowledged write is in every file or was set aside, from seed ${BEGIN}`,
  async () => {
    for (const seed of SEEDS) {
      const rig = memoryRig();
      await rig.run(async () => {
        expect(await randomOwners(rig, seed), `seed ${seed}`).toEqual([]);
      });
    }
  },
  TIMEOUT_MS,
);
