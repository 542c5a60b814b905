import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {syncDirectory} from '../storage/file-guard.ts';

/** The names in a spool that the worker and the copier agree on; `spool-view.ts` says what each is. */
export const POSITION_FILE = 'position';
export const BASE_FILE = 'base.set';
export const WANT_BASE_FILE = 'want-base';
export const CONFIRMED_FILE = 'confirmed';
/** Of a page set: its last commit. */
export const SET_NAME = /^(\d{16})\.set$/;

export function setName(last: number): string {
  return `${String(last).padStart(16, '0')}.set`;
}

/**
 * Commits follow that no page set will have. Without its position a spool is nothing: the receiver notices, and requests
 * a base.
 */
export function dropPosition(spool: string): void {
  const path = join(spool, POSITION_FILE);
  if (!existsSync(path)) return;
  rmSync(path, {force: true});
  syncDirectory(spool);
}

/** There is no receiver any more, and commits follow. Whatever is removed before the process ends, no set is taken again. */
export function removeSpool(spool: string): void {
  dropPosition(spool);
  rmSync(spool, {recursive: true, force: true});
}
