/**
 * A note beside a tenant's file: it can have commits that were acknowledged and that the log lacks (`--ack local`). Such
 * commits are never cut off before a copy of the file is set aside. The file without the note has none.
 */
import {existsSync} from 'node:fs';
import {dirname} from 'node:path';
import {DISK} from '../copies/disk.ts';
import {replaceFile} from '../copies/position-file.ts';

export function localNotePath(path: string): string {
  return `${path}.local`;
}

/** Before a commit is acknowledged that the log lacks. @param path of the tenant's file */
export function noteLocal(path: string): void {
  if (!hasLocalNote(path)) replaceFile(DISK, localNotePath(path), Buffer.alloc(0));
}

export function hasLocalNote(path: string): boolean {
  return existsSync(localNotePath(path));
}

/** The log has every commit of the file. */
export function removeLocalNote(path: string): void {
  if (!hasLocalNote(path)) return;
  DISK.remove(localNotePath(path));
  DISK.syncDirectory(dirname(path));
}
