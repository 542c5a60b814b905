/**
 * Up to where the log is known to have a tenant's file, beside the file. It can be older than the file: then more records
 * are read at the next open. A damaged one is refused, because nothing else says where in the log the file is.
 */
import {CopyError} from '../copies/copy-error.ts';
import {DISK} from '../copies/disk.ts';
import type {Position} from '../copies/page-set.ts';
import {contentOf, decodePosition, encodePosition, replaceFile, summed, textIn} from '../copies/position-file.ts';
import {PLACE_BYTES_MAX} from '../limits.ts';
import type {LogPlace} from './appender.ts';

/** The file at a commit, and the record of that commit. */
export type FilePlace = {readonly at: Position; readonly log: LogPlace};

export function placePath(path: string): string {
  return `${path}.place`;
}

/** @param path of the tenant's file */
export function savePlace(path: string, {at, log}: FilePlace): void {
  replaceFile(DISK, placePath(path), summed(JSON.stringify({at: encodePosition(at).toString(), log})));
}

/** Null: the log has nothing of the file. @throws CopyError */
export function readPlace(path: string): FilePlace | null {
  const from = placePath(path);
  const content = contentOf(from, PLACE_BYTES_MAX);
  if (content === null) return null;
  const stored = JSON.parse(textIn(content, from)) as {at?: unknown; log?: unknown};
  if (typeof stored?.at !== 'string' || typeof stored.log !== 'string') throw new CopyError(`${from} is not a place`);
  return {at: decodePosition(stored.at, from), log: stored.log};
}
