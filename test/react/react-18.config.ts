/** Runs the tests of hooks with the React of another directory, `SVC_TEST_REACT`: `react-18.nightly.test.ts` starts it. */
import {join} from 'node:path';
import {defineConfig} from 'vitest/config';

const packages = join(process.env.SVC_TEST_REACT!, 'node_modules');

export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  resolve: {
    alias: [
      {find: /^react$/, replacement: join(packages, 'react/index.js')},
      {find: /^react-dom\/(client|server)$/, replacement: join(packages, 'react-dom/$1.js')},
    ],
  },
  test: {
    include: ['hooks', 'consistency', 'auth', 'paginated', 'pages-model', 'rendered-on-server'].map(
      name => `test/react/${name}.test.ts`,
    ),
    maxWorkers: 1,
    isolate: false,
    testTimeout: 60_000,
    retry: 0,
  },
});
