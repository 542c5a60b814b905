/**
 * Lowers the CPU priority of a process that runs code of a tenant below its worker, so that the tenant's own calls run
 * first.
 */
import {constants, setPriority} from 'node:os';

/** @param niceness how much lower (`nice`) */
export function behindOthers(pid: number | undefined, niceness: number): void {
  try {
    if (pid !== undefined) setPriority(pid, Math.min(niceness, constants.priority.PRIORITY_LOW));
  } catch {
    // It has ended, or this system has no priorities.
  }
}
