/**
 * How a process is started so that it ends with this one, whatever way this one ends and whatever it does then: util-linux's
 * `setpriv` asks the kernel for it, in the place of which the process then runs. Where that is not there, a process ends
 * itself when the pipe to its worker closes, unless its code computes without end.
 */
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';

export type Lifeline = {
  /** What stands before the executable. */
  command: readonly string[];
};

const SETPRIV = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'];
let found: Promise<Lifeline> | null = null;

/** What this machine has; looked for once. */
export function lifeline(): Promise<Lifeline> {
  found ??= promisify(execFile)(SETPRIV[0]!, [...SETPRIV.slice(1), 'true']).then(
    () => ({command: SETPRIV}),
    () => ({command: []}),
  );
  return found;
}

let limiting: Promise<boolean> | null = null;

/** What stands before the executable, so that the kernel refuses it more writable memory; nothing where `prlimit` is not there. */
export async function dataLimit(bytes: number): Promise<readonly string[]> {
  limiting ??= promisify(execFile)('prlimit', ['--data=unlimited', '--', 'true']).then(
    () => true,
    () => false,
  );
  return (await limiting) ? ['prlimit', `--data=${bytes}`, '--'] : [];
}
