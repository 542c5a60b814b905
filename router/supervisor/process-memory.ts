/** The memory of another process, from /proc. Other systems than Linux tell nothing here: null. */
import {readFileSync} from 'node:fs';

/** On every Linux that Node runs on with 4 KiB pages; elsewhere the figure is too small, never too large. */
const PAGE_BYTES = 4096;

/** Bytes that are the process's own: resident, without mapped files, which the kernel takes back when it wants. */
export function ownBytes(pid: number): number | null {
  let statm: string;
  try {
    statm = readFileSync(`/proc/${pid}/statm`, 'utf8');
  } catch {
    return null; // It has ended, or there is no /proc.
  }
  const [, resident = 0, shared = 0] = statm.split(' ').map(Number);
  return (resident - shared) * PAGE_BYTES;
}
