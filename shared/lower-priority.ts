/** Lets other work go first: a process that runs code of a tenant after its worker, a background thread after the one that serves. */
import {constants, getPriority, setPriority} from 'node:os';

/**
 * Does nothing where it cannot be done: on systems without priorities, or for a process that has ended.
 * @param pid 0: this process, and on Linux this thread alone
 * @param by how much the `nice` value rises above what it is, up to 19
 */
export function lowerPriority(pid: number, by: number): void {
  try {
    setPriority(pid, Math.min(getPriority(pid) + by, constants.priority.PRIORITY_LOW));
  } catch {
    // Its work is done all the same, only not after other work.
  }
}
