/**
 * Cursors of paginated queries: the position of the last document delivered, bound to the query's shape and to the tenant's
 * timeline: document numbers mean nothing in another tenant, or in one that was made again under the same name. A position
 * is what the order says of a document (the encoded value of the order field, and the document number), so it holds whatever
 * plan reads the next page, and when its document is deleted.
 *
 *   base64url of: u8 version, 8 bytes of the SHA-256 of timeline and shape, f64 delivered so far, f64 document number, key bytes
 */
import {Buffer} from 'node:buffer';
import {hash} from 'node:crypto';
import {ServiceError} from '../../shared/errors.ts';
import {CURSOR_CHARS_MAX} from '../../shared/limits.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {shapeText} from './shape.ts';

/** Just after this document in the query's order. `key` is empty when the order is that of creation. */
export type Position = {key: Buffer; doc: number};
export type Cursor = {position: Position; delivered: number};

/** 1 was bound to the shape alone. */
const VERSION = 2;
const SHAPE_BYTES = 8;
const HEAD_BYTES = 1 + SHAPE_BYTES + 8 + 8;

export function encodeCursor(timeline: string, query: QueryObject, {position, delivered}: Cursor): string {
  const head = Buffer.alloc(HEAD_BYTES);
  head[0] = VERSION;
  boundTo(timeline, query).copy(head, 1);
  head.writeDoubleBE(delivered, 1 + SHAPE_BYTES);
  head.writeDoubleBE(position.doc, 1 + SHAPE_BYTES + 8);
  return Buffer.concat([head, position.key]).toString('base64url');
}

/** @throws op.invalid_input 400 for what is not a cursor of this query in this timeline */
export function decodeCursor(timeline: string, query: QueryObject, text: string): Cursor {
  const bytes = text.length <= CURSOR_CHARS_MAX ? Buffer.from(text, 'base64url') : Buffer.alloc(0);
  if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION || bytes.toString('base64url') !== text) throw notACursor();
  if (!bytes.subarray(1, 1 + SHAPE_BYTES).equals(boundTo(timeline, query))) {
    throw new ServiceError(
      'op.invalid_input',
      'after is a cursor of another query or another tenant; a walk keeps its query unchanged',
    );
  }
  const delivered = bytes.readDoubleBE(1 + SHAPE_BYTES);
  const doc = bytes.readDoubleBE(1 + SHAPE_BYTES + 8);
  if (!Number.isSafeInteger(delivered) || delivered < 1 || !Number.isSafeInteger(doc) || doc < 0) throw notACursor();
  return {position: {key: bytes.subarray(HEAD_BYTES), doc}, delivered};
}

function boundTo(timeline: string, query: QueryObject): Buffer {
  return hash('sha256', `${timeline}\n${shapeText(query)}`, 'buffer').subarray(0, SHAPE_BYTES);
}

function notACursor(): ServiceError {
  return new ServiceError('op.invalid_input', "after is not a cursor: pass a previous page's next_cursor as it is");
}
