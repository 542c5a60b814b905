/**
 * Cursors of `paginate`: after which row a page begins, bound to the query they were made by. They hold what the order says of
 * a row, so they stay valid when it is deleted. One that was made at the end of the scan says so, and goes on from there when
 * documents are added behind it.
 *
 *   base64url of JSON [fingerprint, isEnd, key as base64url, document number, id]; key "" and number -1: before the first row
 */
import {Buffer} from 'node:buffer';
import {CURSOR_CHARS_MAX} from '../../../shared/limits.ts';
import {DatabaseFault} from './database-fault.ts';
import {NO_KEY, type Position} from './position.ts';

export type PageCursor = {position: Position | null; isEnd: boolean};

export function encodeCursor(fingerprint: string, {position, isEnd}: PageCursor): string {
  const {key, doc, id} = position ?? {key: NO_KEY, doc: -1, id: ''};
  const fields = [fingerprint, isEnd ? 1 : 0, key.toString('base64url'), doc, id];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** @throws DatabaseFault that contains `InvalidCursor`, by which clients know to start again */
export function decodeCursor(fingerprint: string, text: unknown): PageCursor {
  if (typeof text !== 'string' || text.length > CURSOR_CHARS_MAX) throw invalid('it is not a cursor');
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    throw invalid('it is not a cursor');
  }
  const [made, isEnd, key, doc, id] = (Array.isArray(fields) ? fields : []) as unknown[];
  if (typeof key !== 'string' || !Number.isSafeInteger(doc) || typeof id !== 'string')
    throw invalid('it is not a cursor');
  if (made !== fingerprint)
    throw invalid('it was made by another query or for another tenant; begin with a cursor of null');
  const position = doc === -1 ? null : {key: Buffer.from(key, 'base64url'), doc: doc as number, id};
  return {position, isEnd: isEnd === 1};
}

function invalid(why: string): DatabaseFault {
  return new DatabaseFault(`InvalidCursor: the cursor cannot be used here: ${why}`);
}
