import {defineConfig} from 'vitest/config';

/** Most tests start real services: two files at a time suit a machine with two cores. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
