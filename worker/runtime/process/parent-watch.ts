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
const probes = new Map<string, Promise<boolean>>();

/**
 * Whether this command succeeds; probed once, unless it could not be run: a machine that is out of processes or memory
 * may have both later.
 */
function succeeds(command: readonly string[]): Promise<boolean> {
  const key = command.join(' ');
  const [program, ...args] = command;
  const probe =
    probes.get(key) ??
    promisify(execFile)(program!, args, {cwd: '/'}).then(
      () => true,
      ({code}: {code?: unknown}) => {
        // An exit code, or no such program.
        if (typeof code !== 'number' && code !== 'ENOENT') probes.delete(key);
        return false;
      },
    );
  probes.set(key, probe);
  return probe;
}

/** What this machine supports. */
export async function parentWatch(): Promise<ParentWatch> {
  return {command: (await succeeds([...SETPRIV, 'true'])) ? SETPRIV : []};
}

/**
 * Same as `parentWatch`, for processes whose file access is restricted where the machine can. Slower to probe, so isolates
 * do not wait for it.
 */
export async function confiningParentWatch(): Promise<ParentWatch> {
  const {command} = await parentWatch();
  const probe = [...command, ...readingOnly(process.execPath, []), process.execPath, '--version'];
  // The supervisor's own attempt logs the reason.
  return {command, confinesFiles: await succeeds(probe)};
}

/** Command prefix for an executable of Node that can read only these paths, and write nothing. */
export function confined(
  {command, confinesFiles}: ParentWatch,
  binary: string,
  reads: readonly string[],
): readonly string[] {
  return confinesFiles === true ? [...command, ...readingOnly(binary, reads)] : command;
}

/**
 * Command prefix that makes the kernel refuse the process more writable memory; empty without `prlimit`. This exact
 * limit is probed, because a worker has a limit itself (supervisor/confinement/confinement.ts), which it can lower for
 * a child but never raise.
 */
export async function dataLimit(bytes: number): Promise<readonly string[]> {
  const command = ['prlimit', `--data=${bytes}`, '--'];
  return (await succeeds([...command, 'true'])) ? command : [];
}
