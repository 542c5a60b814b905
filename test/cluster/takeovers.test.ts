import {randomInt} from 'node:crypto';
import {expect, test} from 'vitest';
import type {LogEngine} from '../../cluster/log/log-engine.ts';
import {rounds} from '../harness/nightly.ts';
import {rivals, SCENARIOS} from './harness/conformance.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {withoutExpectation, withTrustedIds} from './harness/mutants.ts';
import {opensNothing, randomHistory} from './harness/random-history.ts';

const BEGIN = process.env.SVC_CLUSTER_SEED === undefined ? randomInt(2 ** 30) : Number(process.env.SVC_CLUSTER_SEED);
const SEEDS = Array.from({length: rounds({commit: 40, nightly: 300})}, (_, i) => BEGIN + i);
/** Of the nightly seeds, beside other tests. */
const TIMEOUT_MS = 300_000;

async function failedSeeds(wrap: (engine: LogEngine) => LogEngine, options = {}): Promise<string[]> {
  const failures: string[] = [];
  for (const seed of SEEDS) {
    const rig = memoryRig(wrap);
    await rig.run(() => randomHistory(rig, seed, options)).catch((error: Error) => failures.push(error.message));
  }
  return failures;
}

test(
  `random takeovers with faults keep every acknowledged record, from seed ${BEGIN}`,
  async () => {
    expect(await failedSeeds(engine => engine)).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'without expectation, rivals and random takeovers fail',
  async () => {
    const rig = memoryRig(withoutExpectation);
    await expect(rig.run(() => rivals(3)(rig))).rejects.toThrow('winners of round 0');
    expect(await failedSeeds(withoutExpectation)).not.toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'with trusted message ids, a refused record counts as stored',
  async () => {
    const rig = memoryRig(withTrustedIds);
    const scenario = SCENARIOS['a refused record, then a retry: refused']!;
    await expect(rig.run(() => scenario(rig))).rejects.toThrow();
    expect(await failedSeeds(withTrustedIds)).not.toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'without a record that opens the epoch, the owner before goes on',
  async () => {
    expect(await failedSeeds(engine => engine, {opens: opensNothing})).not.toEqual([]);
  },
  TIMEOUT_MS,
);
