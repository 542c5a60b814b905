/**
 * A stored row in the form that clients see. The usual path joins texts and parses nothing: system fields first, then
 * the stored fields.
 *
 * Functions can store NaN, Infinity, -Infinity and -0, stored as `{"$float": base64 of the double}` with a flag on the
 * row. Native responses show null, null, null and 0; journal and bootstrap keep the stored form.
 */
import {Buffer} from 'node:buffer';
import {quotedText} from '../../shared/values/quoted-text.ts';
import type {Value} from '../../shared/values/value.ts';
import type {DocumentRow} from '../storage/rows.ts';

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
