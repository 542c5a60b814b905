import {defineConfig} from 'vitest/config';
import {tiersOf} from './test/harness/tiers.ts';

/**
 * Two projects: `pure` needs no build and no service and is what `npm run check` runs; `service` starts the built files.
 * Most of the latter start real services: two files at a time suit a machine with two cores.
 */
const report = process.env.VITEST_JSON;
const {pure, service} = tiersOf(import.meta.dirname);

export default defineConfig({
  test: {
    // CI reads the counts from a file.
    reporters: report === undefined ? ['default'] : ['default', ['json', {outputFile: report}]],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    projects: [
      {extends: true, test: {name: 'pure', include: pure, isolate: false}},
      {extends: true, test: {name: 'service', include: service}},
    ],
  },
});
