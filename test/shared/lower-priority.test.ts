import {spawnSync} from 'node:child_process';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const MODULE = join(import.meta.dirname, '../../shared/lower-priority.ts');
const PRINT = `
  import os from 'node:os';
  import {lowerPriority} from ${JSON.stringify(MODULE)};
  lowerPriority(0, 5);
  console.log(os.getPriority());`;

test.each([
  ['a server of usual priority', 0, 5],
  // As user that is not root a process cannot raise its priority: an absolute value would be refused.
  ['a server that was started with `nice`', 10, 15],
  ['the lowest priority there is', 17, 19],
])('background work goes after the rest of %s', (_, nice, expected) => {
  const own = Number(spawnSync('nice', {encoding: 'utf8'}).stdout);
  const node = [process.execPath, '--experimental-strip-types', '--no-warnings', '--input-type=module', '-e', PRINT];
  const {stdout, stderr} = spawnSync('nice', ['-n', String(nice), ...node], {encoding: 'utf8'});
  expect(stdout.trim(), stderr).toBe(String(Math.min(19, own + expected)));
});
