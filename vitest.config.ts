import {defineConfig} from 'vitest/config';

/** Most tests start real services: two files at a time suit a machine with two cores. */
const report = process.env.VITEST_JSON;

export default defineConfig({
  test: {
    // CI reads the counts from a file.
    reporters: report === undefined ? ['default'] : ['default', ['json', {outputFile: report}]],
    include: ['test/**/*.test.ts'],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
