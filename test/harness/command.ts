/** The `svc` command as an operator runs it: to its end, with what it wrote. */
import {spawn} from 'node:child_process';
import {tmpdir} from 'node:os';
import {fileURLToPath} from 'node:url';

export const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** A command that does not end is killed: its exit code is null then. */
const GIVE_UP_MS = 45_000;

export type Outcome = {code: number | null; stdout: string; stderr: string};

export function svc(args: string[], env: Record<string, string> = {}, cwd = process.cwd()): Promise<Outcome> {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: GIVE_UP_MS,
    killSignal: 'SIGKILL',
    env: {PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', TMPDIR: tmpdir(), ...env},
  });
  const outcome = {stdout: '', stderr: ''};
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      outcome[name] += text;
    });
  }
  return new Promise(resolve => child.once('close', code => resolve({code, ...outcome})));
}
