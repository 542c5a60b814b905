/** A process whose code has less of a busy processor than its tenant's worker: the tenant's own calls go first. */
import {constants, setPriority} from 'node:os';

/** @param niceness how much less (`nice`) */
export function behindOthers(pid: number | undefined, niceness: number): void {
  try {
    if (pid !== undefined) setPriority(pid, Math.min(niceness, constants.priority.PRIORITY_LOW));
  } catch {
    // It has ended, or this system has no such thing.
  }
}
