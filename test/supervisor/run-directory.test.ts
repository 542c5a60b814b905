/** What is in the directory of a worker's socket is its user's: it must not stop the supervisor, or its next start. */
import {mkdirSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {RunDirectory} from '../../supervisor/files/run-directory.ts';
import {makeDeepTree} from '../harness/deep-tree.ts';
import {until} from '../harness/until.ts';

const lines: string[] = [];
const log = createLogger({}, {write: line => void lines.push(line)});

let base: string;
let directory: RunDirectory;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'run-'));
  vi.stubEnv('XDG_RUNTIME_DIR', base);
  lines.length = 0;
  directory = new RunDirectory(log, null);
});
afterEach(() => {
  directory.remove();
  rmSync(base, {recursive: true});
  vi.unstubAllEnvs();
});

test('of a worker that has ended is removed, however deep it is', async () => {
  const path = directory.nextEndpointPath(null);
  makeDeepTree(join(dirname(path), 'deep'));
  directory.forget(path);
  await until('its end', () => readdirSync(directory.path).length === 0);
  expect(lines).toEqual([]);
});

test('of a supervisor that was killed is removed by the next one, however deep it is', async () => {
  const killed = join(base, `svc-${2 ** 30}-abcdef`);
  mkdirSync(killed);
  makeDeepTree(join(killed, 'w1'));
  const next = new RunDirectory(log, null);
  await next.removeStale();
  expect(readdirSync(base).sort()).toEqual([directory.path, next.path].map(path => path.slice(base.length + 1)).sort());
  next.remove();
});

test('of killed supervisors stay where they cannot be listed, which is said and fails nothing', async () => {
  rmSync(base, {recursive: true});
  await directory.removeStale();
  expect(lines.join()).toMatch(/cannot be listed.*ENOENT/);
  mkdirSync(base);
});

test('that cannot be removed at the exit is left to the next start', async () => {
  const path = directory.nextEndpointPath(null);
  makeDeepTree(join(dirname(path), 'deep'));
  directory.remove();
  expect(lines.join()).toContain('the next start removes the run directory');
  directory.forget(path);
  await until('its end', () => readdirSync(directory.path).length === 0);
});
