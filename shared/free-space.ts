/** Whether a disk has space for a large file, beside a reserve that is left for the tenants whose files are on it. */
import {type StatsFs, statfsSync} from 'node:fs';
import {DISK_RESERVE_BYTES, DISK_RESERVE_DIVISOR} from './limits.ts';

const MIB = 1024 * 1024;

/** @param directory that exists. @returns a sentence with the numbers; null: there is space */
export function spaceFinding(directory: string, bytes: number): string | null {
  return spaceFindingOf(statfsSync(directory), bytes);
}

/** As `spaceFinding`. */
export function spaceFindingOf({bavail, blocks, bsize}: StatsFs, bytes: number): string | null {
  const reserve = Math.min(DISK_RESERVE_BYTES, (blocks * bsize) / DISK_RESERVE_DIVISOR);
  const free = bavail * bsize;
  if (free - bytes >= reserve) return null;
  const [has, needed, left] = [Math.floor(free / MIB), Math.ceil(bytes / MIB), Math.ceil(reserve / MIB)];
  return `the disk has ${has} MiB free: ${needed} MiB are needed, and ${left} MiB have to stay free`;
}
