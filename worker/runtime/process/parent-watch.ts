/**
 * Starts processes so that they end with this one, however it ends. util-linux's `setpriv` requests a parent-death
 * signal from the kernel and then executes the process. Without `setpriv`, a process exits when the pipe to its worker
 * closes, unless its code runs an endless loop.
 */
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import {readingOnly} from '../../../shared/landlock.ts';

export type ParentWatch = {
  /** Command prefix of the executable. */
  command: readonly string[];
  /** The kernel can restrict its file access in addition (shared/landlock.ts). */
  confinesFiles?: boolean;
};

const SETPRIV = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'];
let found: Promise<ParentWatch> | null = null;

/** What this machine supports; probed once. */
export function parentWatch(): Promise<ParentWatch> {
  found ??= promisify(execFile)(SETPRIV[0]!, [...SETPRIV.slice(1), 'true']).then(
    () => ({command: SETPRIV}),
    () => ({command: []}),
  );
  return found;
}

let confining: Promise<boolean> | null = null;

/**
 * Same as `parentWatch`, for processes whose file access is restricted where the machine can. Slower to probe, so isolates
 * do not wait for it.
 */
export async function confiningParentWatch(): Promise<ParentWatch> {
  const {command} = await parentWatch();
  const [program, ...args] = [...command, ...readingOnly(process.execPath, []), process.execPath, '--version'];
  confining ??= promisify(execFile)(program!, args, {cwd: '/'}).then(
    () => true,
    () => false, // The supervisor's own attempt logs the reason.
  );
  return {command, confinesFiles: await confining};
}

/** Command prefix for an executable of Node that can read only these paths, and write nothing. */
export function confined(
  {command, confinesFiles}: ParentWatch,
  binary: string,
  reads: readonly string[],
): readonly string[] {
  return confinesFiles === true ? [...command, ...readingOnly(binary, reads)] : command;
}

/** Whether a limit of this many bytes can be set. */
const limits = new Map<number, Promise<boolean>>();

/**
 * Command prefix that makes the kernel refuse the process more writable memory; empty without `prlimit`. This exact
 * limit is probed, because a worker has a limit itself (supervisor/confinement/confinement.ts), which it can lower for
 * a child but never raise.
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
