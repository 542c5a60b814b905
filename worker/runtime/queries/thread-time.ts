/** CPU time of a thread of this process, read by another thread. Only Linux reports it. */
import {readFileSync, readlinkSync} from 'node:fs';

/** The kernel's id of the calling thread; 0: unknown. */
export function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}

/** CPU time so far, in milliseconds; null: unknown. */
export function cpuMsOf(thread: number): number | null {
  if (thread === 0) return null;
  try {
    return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
  } catch {
    return null; // it has ended
  }
}
