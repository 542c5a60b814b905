import {defineConfig} from 'vitest/config';
import {LongestFirst} from './test/harness/longest-first.ts';
import {tiersOf} from './test/harness/tiers.ts';

/**
 * The projects are the tiers: `pure` needs no build and no service and is what `npm run check` runs; `service` starts the
 * built files; `served` is the part of it whose files share one service for each worker of vitest; `isolated` has the files
 * that replace modules; `nightly` has what takes too long for each commit. SVC_TESTS=nightly runs all in full.
 * Files share the processes of vitest's workers, because a process for each of them costs a second of processor time.
 */
const {VITEST_JSON: report, SVC_TESTS: tests} = process.env;
const {pure, served, service, isolated, nightly} = tiersOf(import.meta.dirname);

export default defineConfig({
  test: {
    // CI reads the counts from a file.
    reporters: report === undefined ? ['default'] : ['default', ['json', {outputFile: report}]],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    sequence: {sequencer: LongestFirst},
    runner: './test/harness/timed-runner.ts',
    projects: [
      {extends: true, test: {name: 'pure', include: pure, isolate: false}},
      {
        extends: true,
        test: {name: 'served', include: served, isolate: false, globalSetup: './test/harness/shared-service.ts'},
      },
      {extends: true, test: {name: 'service', include: service, isolate: false}},
      {extends: true, test: {name: 'isolated', include: isolated}},
      {extends: true, test: {name: 'nightly', include: tests === 'nightly' ? nightly : []}},
    ],
  },
});
