/** What a worker finds out about its machine before it starts processes. */
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';

/** Its results are of this process, and files share one: this instance has none yet. */
const source = '../../../worker/runtime/process/parent-watch.ts';
const {parentWatch}: typeof import('../../../worker/runtime/process/parent-watch.ts') = await import(
  /* @vite-ignore */ `${source}?fresh`
);

test('a probe that was killed is repeated, and a result is kept', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(directory, {recursive: true});
  });
  vi.stubEnv('PATH', directory);
  // Written by a process of its own: a program that this process has open for writing, also in a child that is being
  // forked by another thread, can't be executed (ETXTBSY).
  const [program, script] = [join(directory, 'setpriv'), join(directory, 'script')];
  execFileSync('/bin/sh', ['-c', `echo '#!/bin/sh\n. ${script}' > ${program}; /bin/chmod 755 ${program}`]);
  const becomes = (line: string) => writeFileSync(script, `${line}\n`);
  becomes('kill -9 $$');
  expect((await parentWatch()).command).toEqual([]);
  becomes('exit 0');
  expect((await parentWatch()).command[0]).toBe('setpriv');
  becomes('exit 1');
  expect((await parentWatch()).command[0]).toBe('setpriv');
});
