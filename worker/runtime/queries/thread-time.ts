/** CPU time of a thread of this process, asked for by another. Other systems than Linux tell nothing here. */
import {readFileSync, readlinkSync} from 'node:fs';

/** The kernel's number of the thread that asks; 0: it has none that is known. */
export function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}

/** Milliseconds so far; null: nobody knows. */
export function cpuMsOf(thread: number): number | null {
  if (thread === 0) return null;
  try {
    return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
  } catch {
    return null; // it has ended
  }
}
