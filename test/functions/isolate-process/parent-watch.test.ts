/** What a worker finds out about its machine before it starts processes. */
import {chmodSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {parentWatch} from '../../../worker/runtime/process/parent-watch.ts';

test('a probe that was killed is repeated, and a result is kept', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(directory, {recursive: true});
  });
  vi.stubEnv('PATH', directory);
  const program = join(directory, 'setpriv');
  const becomes = (script: string) => {
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
  };
  becomes('kill -9 $$');
  expect((await parentWatch()).command).toEqual([]);
  becomes('exit 0');
  expect((await parentWatch()).command[0]).toBe('setpriv');
  becomes('exit 1');
  expect((await parentWatch()).command[0]).toBe('setpriv');
});
