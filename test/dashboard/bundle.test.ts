/** The size of the dashboard: what its first screen loads, and all of its files. */
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {type DashboardManifest, dashboard} from '../../build/dashboard.ts';

const KB = 1_000;
const FIRST_SCREEN_BYTES_MAX = 200 * KB;
const ALL_BYTES_MAX = 450 * KB;

test('the first screen is at most 200 kB, and all chunks 450 kB, compressed', async () => {
  const files = new Map(await dashboard(fileURLToPath(new URL('../..', import.meta.url))));
  const {entry, files: listed} = JSON.parse(String(files.get('dashboard/manifest.json'))) as DashboardManifest;
  const sizes = new Map(listed.map(({path, gzip}) => [path, gzip]));
  const sum = (paths: Iterable<string>) => [...paths].reduce((total, path) => total + sizes.get(path)!, 0);
  expect(sum([entry.js, ...entry.imports, entry.css])).toBeLessThanOrEqual(FIRST_SCREEN_BYTES_MAX);
  expect(sum(sizes.keys())).toBeLessThanOrEqual(ALL_BYTES_MAX);
  // Each page is a chunk of its own.
  expect(listed.filter(({path}) => path.endsWith('.js')).length).toBeGreaterThan(entry.imports.length + 10);
});
