/**
 * Hosts that own a tenant one after the other, with real files, the log in memory and everything that can go wrong with
 * it. A naive model has what each client knows of its write.
 */
import {expect, test} from 'vitest';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {type Course, makeFaulty, untrueAnswers, writeSome} from './harness/owner-course.ts';
import {documentsOf, ReplicatedHost} from './harness/replicated-host.ts';
import {hostOf, newTenant, type Rig} from './harness/rig.ts';

const BEGIN = Number(process.env.SVC_CLUSTER_SEED ?? 777);
const SEEDS = Array.from({length: rounds({commit: 5, nightly: 100})}, (_, i) => BEGIN + i);
const OWNERS = 8;
const TIMEOUT_MS = 300_000;

/** The owner before ends in some way, or goes on beside the next one. */
async function endOwner(host: ReplicatedHost, {random}: Course): Promise<void> {
  const way = random();
  if (way < 0.5) host.kill(random() < 0.5);
  else if (way < 0.75) await host.close();
}

async function randomOwners(rig: Rig, seed: number): Promise<string[]> {
  const random = seededRandom(seed);
  const tenant = newTenant();
  const course: Course = {rig, random, known: new Map()};
  const connections = await Promise.all([0, 1, 2].map(() => hostOf(rig)));
  const endFaults = makeFaulty(connections, course, {share: 0.15, outages: 0.003});
  const [a, b, last] = connections.map(one => new ReplicatedHost(rig, one, tenant)) as [
    ReplicatedHost,
    ReplicatedHost,
    ReplicatedHost,
  ];
  let epoch = 0;
  try {
    for (let i = 0; i < OWNERS; i++) {
      const host = random() < 0.5 ? a : b;
      for (const one of [a, b]) if (one.owner !== null) await endOwner(one, course);
      if (host.owner !== null) host.kill(random() < 0.5);
      const opened = await host.bring(++epoch);
      if (opened !== null && (await host.serve(opened, random))) await writeSome(host, course);
      else host.kill();
    }
    endFaults();
    for (const host of [a, b]) host.kill();
    await Promise.all(connections.map(one => one.engine.settled()));
    for (const host of [last, a, b]) await host.bring(++epoch);

    const [expected, ...others] = [last, a, b].map(host => snapshotOf(host.path));
    for (const snapshot of others) expect(snapshot, `seed ${seed}`).toEqual(expected);
    return untrueAnswers(course, documentsOf(last.path));
  } finally {
    for (const host of [a, b, last]) await host.end();
  }
}

test(
  `each acknowledged write is in every file once, from seed ${BEGIN}`,
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
