/**
 * A document as clients see it: its text, its version, and the name of its table. The usual path from a stored row to
 * the text joins strings and parses nothing: system fields first, then the stored fields.
 *
 * Functions can store NaN, Infinity, -Infinity and -0, stored as `{"$float": base64 of the double}` with a flag on the
 * row. Native responses show null, null, null and 0; journal and bootstrap keep the stored form.
 */
import {Buffer} from 'node:buffer';
import {invalid, ServiceError} from '../../shared/errors.ts';
import {TABLE_NAME_CHARS_MAX} from '../../shared/limits.ts';
import {quotedText} from '../../shared/values/canonical-json.ts';
import type {Value} from '../../shared/values/value.ts';
import {CONDITION_TAGS_MAX} from '../limits.ts';
import type {DocumentRow} from './rows.ts';

export const FLAG_FLOATS = 1;

/** A document with its system fields, parsed. */
export type ParsedDocument = Readonly<Record<string, Value>>;

/** In the form of native responses. */
export function documentText(row: DocumentRow): string {
  if ((row.flags & FLAG_FLOATS) === 0) return storedDocumentText(row);
  return storedDocumentText({...row, body: JSON.stringify(JSON.parse(row.body, reviveFloat))});
}

/** In the stored form. */
export function storedDocumentText(row: DocumentRow): string {
  const rest = row.body.length === 2 ? '}' : `,${row.body.slice(1)}`;
  const created = String(row.created);
  // Most documents were never updated, and formatting a time with a fraction takes half a microsecond.
  const updated = row.updated === row.created ? created : String(row.updated);
  return `{"_id":${quotedText(row.id)},"_creationTime":${created},"_updateTime":${updated}${rest}`;
}

/** All its fields with the system fields, for filters and order. Stored top-level keys never begin with `_`. */
export function parseDocument(row: DocumentRow): Record<string, Value> {
  const document = parseFields(row);
  document._id = row.id;
  document._creationTime = row.created;
  document._updateTime = row.updated;
  return document;
}

/** The same, for fields that have been parsed. */
export function withSystemFields(row: DocumentRow, fields: Readonly<Record<string, unknown>>): ParsedDocument {
  return {...fields, _id: row.id, _creationTime: row.created, _updateTime: row.updated} as ParsedDocument;
}

/** The user's own fields. */
export function parseFields(row: Pick<DocumentRow, 'body' | 'flags'>): Record<string, Value> {
  return JSON.parse(row.body, (row.flags & FLAG_FLOATS) === 0 ? undefined : reviveFloat) as Record<string, Value>;
}

function reviveFloat(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '$float')) return value;
  return Buffer.from((value as {$float: string}).$float, 'base64').readDoubleLE(0);
}

/* ── version ──
 * A version is a document's creation time and its update time. Creation times of a table never repeat, and each
 * change increases a document's update time. So the two identify one state of one document, even one that was deleted
 * and created again under its id. Both are stored in its row and shown in journal and bootstrap, so a version survives
 * restarts and repairs, and a follower has it too.
 *
 * On the wire it is an entity tag: `ETag: "<version>"`. Conditions follow RFC 9110: `If-Match` compares strongly, so a
 * tag that a proxy has weakened (`W/"…"`) never matches; `If-None-Match` compares weakly.
 */

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
  if (parts.length > CONDITION_TAGS_MAX) throw invalid(`${name} names more than ${CONDITION_TAGS_MAX} entity tags`);
  return parts.map(part => {
    const [, weak, version] = TAG.exec(part.trim()) ?? [];
    if (version !== undefined) return {version, isWeak: weak !== undefined};
    throw invalid(`${name} is * or entity tags in quotes, as ETag shows them, like "…"`);
  });
}

/** `if_match` of a transaction's operation: `*`, or a version with or without the quotes of its ETag. */
export function versionTags(text: string): Tags {
  if (text === '*') return '*';
  return [{version: /^"(.*)"$/.exec(text)?.[1] ?? text, isWeak: false}];
}

/* ── table names ── */

/** A letter, then letters, digits and underscores. */
const TABLE_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

export function isTableName(name: string): boolean {
  return name.length <= TABLE_NAME_CHARS_MAX && TABLE_NAME.test(name);
}

/** @throws op.invalid_input 400 */
export function checkTableName(name: string): void {
  if (isTableName(name)) return;
  const shown = JSON.stringify(name.length > TABLE_NAME_CHARS_MAX ? `${name.slice(0, TABLE_NAME_CHARS_MAX)}…` : name);
  throw invalid(
    `${shown} cannot be a table: a name is a letter, then letters, digits and _, at most ${TABLE_NAME_CHARS_MAX} characters`,
  );
}
