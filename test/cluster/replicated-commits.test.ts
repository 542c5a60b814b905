/**
 * Hosts that own a tenant one after the other, with real files, the log in memory and everything that can go wrong with
 * it. A naive model has what each client knows of its write.
 */
import {expect, test} from 'vitest';
import {delay} from '../../cluster/log/timing.ts';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {randomFault} from './harness/random-history.ts';
import {documentsOf, type Known, ReplicatedHost} from './harness/replicated-host.ts';
import {hostOf, newTenant, type Rig} from './harness/rig.ts';

const BEGIN = Number(process.env.SVC_CLUSTER_SEED ?? 777);
const SEEDS = Array.from({length: rounds({commit: 5, nightly: 100})}, (_, i) => BEGIN + i);
const OWNERS = 8;
const TIMEOUT_MS = 300_000;

type Course = {rig: Rig; random: () => number; known: Map<number, Known | 'open'>; violations: string[]};

async function writeSome(host: ReplicatedHost, {rig, random, known}: Course): Promise<void> {
  const {owner} = host;
  if (owner === null) return;
  owner.onLost = () => host.owner === owner && host.kill(random() < 0.5);
  for (let left = Math.floor(random() * 25); left > 0 && host.owner === owner; left--) {
    const n = known.size;
    known.set(n, 'open');
    owner.write(n, random() < 0.1 ? 300_000 : 10, outcome => known.set(n, outcome));
    if (random() < 0.5) await delay(rig.timing, random() * 40);
  }
}

/** The owner before ends in some way, or goes on beside the next one. */
async function endOwner(host: ReplicatedHost, {random}: Course): Promise<void> {
  const way = random();
  if (way < 0.5) host.kill(random() < 0.5);
  else if (way < 0.75) await host.close();
}

async function randomOwners(rig: Rig, seed: number): Promise<string[]> {
  const random = seededRandom(seed);
  const tenant = newTenant();
  const course: Course = {rig, random, known: new Map(), violations: []};
  let outageLeft = 0;
  let areFaults = true;
  const connections = await Promise.all([0, 1, 2].map(() => hostOf(rig)));
  for (const one of connections) {
    one.choose(request => {
      if (!areFaults) return 'none';
      if (outageLeft > 0) {
        outageLeft--;
        return 'lost';
      }
      if (random() < 0.003) outageLeft = 80;
      return random() < 0.15 ? randomFault(request, random) : 'none';
    });
  }
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
    areFaults = false;
    for (const host of [a, b]) host.kill();
    await Promise.all(connections.map(one => one.engine.settled()));
    for (const host of [last, a, b]) await host.bring(++epoch);

    const [expected, ...others] = [last, a, b].map(host => snapshotOf(host.path));
    for (const snapshot of others) expect(snapshot, `seed ${seed}`).toEqual(expected);
    const documents = documentsOf(last.path);
    expect(new Set(documents).size, `seed ${seed}: each write once`).toBe(documents.length);
    const stored = new Set(documents);
    for (const [n, known] of course.known) {
      if (known === 'acknowledged' && !stored.has(n)) course.violations.push(`seed ${seed}: ${n} was lost`);
      if (known === 'refused' && stored.has(n)) course.violations.push(`seed ${seed}: ${n} was refused`);
    }
    return course.violations;
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
        expect(await randomOwners(rig, seed)).toEqual([]);
      });
    }
  },
  TIMEOUT_MS,
);
