/** How much memory a process has of its own, and which goes when the machine has none left. */
import {readFileSync, writeFileSync} from 'node:fs';

/** On every Linux that Node runs on with 4 KiB pages; elsewhere the figure is too small, never too large. */
export const PAGE_BYTES = 4096;

/**
 * Bytes that are the process's own: resident, without mapped files, which the kernel takes back when it wants. Null: it has
 * ended, or the system has no /proc.
 * @param pid or `self`
 */
export function ownBytes(pid: number | 'self'): number | null {
  let statm: string;
  try {
    statm = readFileSync(`/proc/${pid}/statm`, 'latin1');
  } catch {
    return null;
  }
  const [, resident = 0, shared = 0] = statm.split(' ').map(Number);
  return (resident - shared) * PAGE_BYTES;
}

/** This process is the first to go when the machine runs out of memory. */
export function firstToGo(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, not allowed, or it has ended: its memory is looked at besides.
  }
}
