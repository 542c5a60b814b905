/**
 * Randomized histories on real hosts. SVC_CLUSTER_SEED repeats the faults of one, SVC_CLUSTER_RUNS and SVC_CLUSTER_RUN_MS say
 * how many and how long.
 */
import {randomInt} from 'node:crypto';
import {appendFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import {rounds} from '../harness/nightly.ts';
import {randomHistory} from './history/run.ts';

const {SVC_CLUSTER_SEED: seed, SVC_CLUSTER_RUNS: runs, SVC_CLUSTER_RUN_MS: runMs} = process.env;
const BEGIN = seed === undefined ? randomInt(2 ** 30) : Number(seed);
const RUNS = runs === undefined ? rounds({commit: 1, nightly: 5}) : Number(runs);
const RUN_MS = runMs === undefined ? rounds({commit: 20_000, nightly: 60_000}) : Number(runMs);
const TIMEOUT_MS = RUN_MS + 300_000;
const SEEDS = Array.from({length: RUNS}, (_, i) => BEGIN + i);

test.each(SEEDS)(
  'a random history keeps every acknowledged write, and every read agrees with it: seed %i',
  {timeout: TIMEOUT_MS},
  async one => {
    const {violations, faults, logs, writes, acknowledged, calls, reads, results} = await randomHistory({
      ...{seed: one, durationMs: RUN_MS, wanted: process.env.SVC_CLUSTER_FAULTS ?? ''},
    });
    const report = process.env.SVC_CLUSTER_REPORT;
    if (report !== undefined) {
      const lines = [
        `seed ${one}: ${acknowledged} of ${writes} writes, ${calls} by functions, ${reads} reads, ${results} live results`,
        ...faults,
        ...violations,
      ];
      appendFileSync(report, `${lines.join('\n  ')}\n`);
      if (violations.length > 0) appendFileSync(`${report}.${one}`, logs);
    }
    expect(violations, `seed ${one}:\n${faults.join('\n')}`).toEqual([]);
    expect(calls).toBeGreaterThan(0);
    expect(acknowledged).toBeGreaterThan(calls);
    expect(reads).toBeGreaterThan(0);
    expect(results).toBeGreaterThan(0);
  },
);
