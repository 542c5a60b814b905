/**
 * How a process is started so that it ends with this one, whatever way this one ends and whatever it does then: util-linux's
 * `setpriv` asks the kernel for it, in the place of which the process then runs. Where that is not there, a process ends
 * itself when the pipe to its worker closes, unless its code computes without end.
 */
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import {readingOnly} from '../../../shared/landlock.ts';

export type Lifeline = {
  /** What stands before the executable. */
  command: readonly string[];
  /** The kernel can hold what it does with files in addition (shared/landlock.ts). */
  confinesFiles?: boolean;
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

let confining: Promise<boolean> | null = null;

/** As `lifeline`, for processes whose files are confined where the machine can. Slower to find out: isolates do not wait for it. */
export async function confiningLifeline(): Promise<Lifeline> {
  const {command} = await lifeline();
  const [program, ...args] = [...command, ...readingOnly(process.execPath, []), process.execPath, '--version'];
  confining ??= promisify(execFile)(program!, args, {cwd: '/'}).then(
    () => true,
    () => false, // The supervisor's own attempt reports why.
  );
  return {command, confinesFiles: await confining};
}

/** What stands before an executable of Node that reads these paths only, and writes nothing. */
export function confined(
  {command, confinesFiles}: Lifeline,
  binary: string,
  reads: readonly string[],
): readonly string[] {
  return confinesFiles === true ? [...command, ...readingOnly(binary, reads)] : command;
}

/** Whether limits of so many bytes can be set. */
const limits = new Map<number, Promise<boolean>>();

/**
 * What stands before the executable, so that the kernel refuses it more writable memory; nothing where `prlimit` is not there. This
 * very limit is tried: a worker has one itself (supervisor/confinement/confinement.ts), which it can lower for a child and never raise.
 */
export async function dataLimit(bytes: number): Promise<readonly string[]> {
  const [program, ...args] = ['prlimit', `--data=${bytes}`, '--'] as const;
  const known = limits.get(bytes);
  const isSet =
    known ??
    promisify(execFile)(program, [...args, 'true']).then(
      () => true,
      () => false,
    );
  limits.set(bytes, isSet);
  return (await isSet) ? [program, ...args] : [];
}
