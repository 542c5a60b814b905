/** Reads how much private memory a process uses, and sets its OOM-kill preference. */
import {readFileSync, writeFileSync} from 'node:fs';

/**
 * The page size on every Linux that Node runs on with 4 KiB pages; elsewhere the result is too small, never too large.
 */
export const PAGE_BYTES = 4096;

/**
 * The process's own bytes: resident, without mapped files, which the kernel can reclaim. Null: it has exited, or the
 * system has no /proc.
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

/** Makes this process the first that the kernel kills when the machine runs out of memory. */
export function firstToGo(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, not permitted, or it has exited: its memory is checked separately anyway.
  }
}
