/**
 * A note beside a tenant's file: it was made of the log, and no worker of this host has begun with it. So it does not have
 * what an earlier file of this host had acknowledged before the log had it (`storage/journal-timeline.ts`).
 */
import {existsSync, renameSync, rmSync} from 'node:fs';
import {positionPath} from '../copies/position-file.ts';

export function madeNotePath(path: string): string {
  return `${path}.made`;
}

/** The position of the copy becomes the note. @param path of the tenant's file */
export function noteMade(path: string): void {
  renameSync(positionPath(path), madeNotePath(path));
}

export function isMade(path: string): boolean {
  return existsSync(madeNotePath(path));
}

/** The log has all that the worker's open has written. */
export function removeMadeNote(path: string): void {
  rmSync(madeNotePath(path), {force: true});
}
