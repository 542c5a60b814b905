/** A command on a terminal of its own (util-linux's `script`), until the test has finished. */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {onTestFailed, onTestFinished} from 'vitest';
import {STATE} from './service.ts';

/** @param command of a shell. @returns what it has shown so far; Ctrl-C ends it, then `cleanUp` runs */
export function inTerminal(command: string, env: Record<string, string>, cleanUp: () => void = () => {}): () => string {
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TMPDIR: tmpdir(),
      ...STATE,
      SHELL: '/bin/sh',
      SVC_SPARE_WORKERS: '0',
      ...env,
    },
  });
  const ended = once(terminal, 'close');
  let shown = '';
  terminal.stdout.on('data', text => {
    shown += String(text);
  });
  onTestFailed(() => void process.stderr.write(shown));
  onTestFinished(async () => {
    terminal.stdin.end('\x03'); // Ctrl-C
    await ended;
    cleanUp();
  });
  return () => shown;
}
