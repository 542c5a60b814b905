import {defineConfig} from 'vitest/config';
import {LongestFirst} from './test/harness/longest-first.ts';
import {nightlySample, tiersOf} from './test/harness/tiers.ts';

/**
 * The projects are the tiers: `pure` needs no build and no service and is what `npm run check` runs; `service` starts the
 * built files; `served` is the part of it whose files share one service for each worker of vitest; `isolated` has the files
 * that replace modules; `nightly` has what takes too long for each commit. SVC_TESTS=nightly runs all in full,
 * SVC_NIGHTLY_SAMPLE adds the nightly files that it chooses to the others.
 * Files share the processes of vitest's workers, because a process for each of them costs a second of processor time.
 */
const {VITEST_JSON: report, SVC_TESTS: tests, SVC_NIGHTLY_SAMPLE: seed} = process.env;
const {pure, served, service, isolated, nightly} = tiersOf(import.meta.dirname);
const chosen = tests === 'nightly' ? nightly : seed === undefined ? [] : nightlySample(import.meta.dirname, seed);
const rest = (files: string[]) => files.filter(file => !chosen.includes(file));

export default defineConfig({
  test: {
    // CI reads the counts from a file.
    reporters: report === undefined ? ['default'] : ['default', ['json', {outputFile: report}]],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    sequence: {sequencer: LongestFirst},
    projects: [
      {extends: true, test: {name: 'pure', include: rest(pure), isolate: false}},
      {
        extends: true,
        test: {name: 'served', include: rest(served), isolate: false, globalSetup: './test/harness/shared-service.ts'},
      },
      {extends: true, test: {name: 'service', include: rest(service), isolate: false}},
      {extends: true, test: {name: 'isolated', include: rest(isolated)}},
      {extends: true, test: {name: 'nightly', include: chosen, env: {SVC_TESTS: 'nightly'}}},
    ],
  },
});
