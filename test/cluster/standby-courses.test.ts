/**
 * Owners that follow one another, and standbys that follow them, make bases and trim the log, while everything goes wrong
 * between them and the log. In the end all files are equal, and have each acknowledged write once.
 */
import {expect, test} from 'vitest';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import {delay} from '../../cluster/log/timing.ts';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {type MemoryRig, memoryRig} from './harness/memory-rig.ts';
import {type Course, makeFaulty, untrueAnswers, writeSome} from './harness/owner-course.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {hostOf, newTenant} from './harness/rig.ts';
import {StandbyHost} from './harness/standby-host.ts';

const BEGIN = Number(process.env.SVC_CLUSTER_SEED ?? Math.floor(Math.random() * 2 ** 32));
const SEEDS = Array.from({length: rounds({commit: 3, nightly: 60})}, (_, i) => BEGIN + i);
const OWNERS = 8;

/** Now and then a step, a base, or the loss of the file. What does not answer is tried later. */
async function standBy(standby: StandbyHost, {rig, random}: Course, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    try {
      const step = await standby.standby.step();
      if (step === 'base_needed') await standby.standby.seed();
      if (step === 'current' && random() < 0.3) await standby.storeBase();
    } catch (error) {
      const isTemporary = error instanceof EngineError || (error instanceof LogError && error.code === 'behind');
      if (!isTemporary) throw error;
    }
    await delay(rig.timing, random() * 100);
  }
}

async function courseOf(rig: MemoryRig, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const tenant = newTenant();
  const course: Course = {rig, random, known: new Map()};
  const connections = await Promise.all([0, 1, 2, 3, 4].map(() => hostOf(rig)));
  const endFaults = makeFaulty(connections, course, {share: 0.1});
  const [a, b, last] = connections.slice(0, 3).map(one => new ReplicatedHost(rig, one, tenant)) as [
    ReplicatedHost,
    ReplicatedHost,
    ReplicatedHost,
  ];
  const standbys = connections.slice(3).map(one => new StandbyHost(rig, one, tenant));
  let isOver = false;
  const standing = standbys.map(standby => standBy(standby, course, () => isOver));
  let epoch = 0;
  try {
    for (let i = 0; i < OWNERS; i++) {
      const host = random() < 0.5 ? a : b;
      for (const one of [a, b]) {
        if (one.owner === null) continue;
        if (random() < 0.5) one.kill(random() < 0.5);
        // Another owner can have opened the log: then there is nothing to close.
        else if (!(await one.close()) && one.owner !== null) one.kill();
      }
      if (host.owner !== null) host.kill(random() < 0.5);
      const opened = await host.bring(++epoch);
      if (opened !== null && (await host.serve(opened, random))) await writeSome(host, course);
      else host.kill();
    }
    endFaults();
    for (const host of [a, b]) host.kill();
    await Promise.all(connections.map(one => one.engine.settled()));
    for (const host of [last, a, b]) await host.bring(++epoch);
    isOver = true;
    await Promise.all(standing);
    const expected = snapshotOf(last.path);
    for (const host of [a, b]) expect(snapshotOf(host.path), `seed ${seed}`).toEqual(expected);
    for (const standby of standbys) {
      await standby.follow();
      await standby.standby.stop();
      const worker = new ReplicatedHost(rig, connections[0]!, tenant, standby.path);
      await worker.bring(++epoch);
      expect(snapshotOf(standby.path), `seed ${seed}`).toEqual(expected);
      expect(
        standby.reports.filter(sentence => !sentence.includes('cannot be used')),
        `seed ${seed}`,
      ).toEqual([]);
      await worker.end();
    }
    expect(untrueAnswers(course, documentsOf(last.path)), `seed ${seed}`).toEqual([]);
  } finally {
    isOver = true;
    await Promise.allSettled(standing);
    for (const host of [a, b, last]) {
      await host.end();
      await delay(rig.timing, 1);
    }
    for (const standby of standbys) standby.end();
  }
}

test(`files of owners and standbys, and those made of a base and the log, are equal, from seed ${BEGIN}`, async () => {
  console.info(`seed ${BEGIN}`);
  for (const seed of SEEDS) {
    const rig = memoryRig();
    await rig.run(() => courseOf(rig, seed));
  }
}, 600_000);
