/**
 * The version of a document: its creation time and its update time. Creation times of a table never repeat, and each
 * change increases a document's update time. So the two identify one state of one document, even one that was deleted
 * and created again under its id. Both are stored in its row and shown in journal and bootstrap, so a version survives
 * restarts and repairs, and a follower has it too.
 *
 * On the wire it is an entity tag: `ETag: "<version>"`. Conditions follow RFC 9110: `If-Match` compares strongly, so a
 * tag that a proxy has weakened (`W/"…"`) never matches; `If-None-Match` compares weakly.
 */
import {ServiceError} from '../../shared/errors.ts';
import {CONDITION_TAGS_MAX} from '../limits.ts';
import type {DocumentRow} from '../storage/rows.ts';

type Tag = {readonly version: string; readonly isWeak: boolean};
/** `*`: any existing document. */
export type Tags = '*' | readonly Tag[];

/** A condition on the document for the write to be made. Null: there is no condition. */
export type Condition = {readonly ifMatch: Tags | null; readonly ifNoneMatch: Tags | null};

export const NO_CONDITION: Condition = {ifMatch: null, ifNoneMatch: null};

/**
 * Creation times in a table and update times of a document are clock milliseconds, or a fraction above the newest one:
 * 1,024 values fit in a millisecond. So no two are equal.
 */
export function timeAfter(newest: number, nowMs: number): number {
  return nowMs > newest ? nowMs : newest + 2 ** -10;
}

export function versionOf({created, updated}: DocumentRow): string {
  return `${created}-${updated}`;
}

export function entityTag(row: DocumentRow): string {
  return `"${versionOf(row)}"`;
}

/** @param document its name is used in the message; undefined: it does not exist. @throws op.precondition_failed 412 */
export function checkCondition({ifMatch, ifNoneMatch}: Condition, id: string, row: DocumentRow | undefined): void {
  if (ifMatch !== null && !(row !== undefined && isAmong(ifMatch, row, false))) {
    throw row === undefined
      ? failed(`document ${JSON.stringify(id)} is not there`, id, row)
      : failed(`document ${JSON.stringify(id)} is of another version than If-Match says`, id, row);
  }
  if (ifNoneMatch !== null && row !== undefined && isAmong(ifNoneMatch, row, true)) {
    throw failed(`document ${JSON.stringify(id)} is there, and If-None-Match wants it not to be`, id, row);
  }
}

/** Whether a reader has this version already. */
export function isKnown(ifNoneMatch: Tags, row: DocumentRow): boolean {
  return isAmong(ifNoneMatch, row, true);
}

function isAmong(tags: Tags, row: DocumentRow, isWeakly: boolean): boolean {
  if (tags === '*') return true;
  const version = versionOf(row);
  return tags.some(tag => tag.version === version && (isWeakly || !tag.isWeak));
}

function failed(why: string, id: string, row: DocumentRow | undefined): ServiceError {
  return new ServiceError('op.precondition_failed', `${why}; detail.version is the present one`, {
    id,
    version: row === undefined ? null : versionOf(row),
  });
}

/** Opaque characters of RFC 9110 between quotes. */
const TAG = /^(W\/)?"([\x21\x23-\x7e]*)"$/;

/** Parses a header's value; null: it was not sent. @throws op.invalid_input 400 */
export function parseTags(name: 'If-Match' | 'If-None-Match', value: string | null): Tags | null {
  if (value === null) return null;
  if (value.trim() === '*') return '*';
  const parts = value.split(',', CONDITION_TAGS_MAX + 1);
  if (parts.length > CONDITION_TAGS_MAX) {
    throw new ServiceError('op.invalid_input', `${name} names more than ${CONDITION_TAGS_MAX} entity tags`);
  }
  return parts.map(part => {
    const [, weak, version] = TAG.exec(part.trim()) ?? [];
    if (version !== undefined) return {version, isWeak: weak !== undefined};
    throw new ServiceError('op.invalid_input', `${name} is * or entity tags in quotes, as ETag shows them, like "…"`);
  });
}

/** `if_match` of a transaction's operation: `*`, or a version with or without the quotes of its ETag. */
export function versionTags(text: string): Tags {
  if (text === '*') return '*';
  return [{version: /^"(.*)"$/.exec(text)?.[1] ?? text, isWeak: false}];
}
