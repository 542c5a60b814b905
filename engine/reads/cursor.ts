/**
 * Page cursors of query objects and of functions: the row after which a page begins. A cursor is bound to its query and
 * to the tenant's timeline, because document numbers mean nothing in another tenant, or in one created again under the
 * same name. It contains the row's position in the order, so it stays valid when the row is deleted, whatever path
 * reads the next page.
 *
 *   base64url of JSON [binding, isEnd, key as base64url, document number, id, delivered]
 *     key "" and number -1: before the first row; delivered: rows returned so far, omitted where not needed (functions)
 *
 * Query objects had their own format, which is still accepted:
 *   base64url of: 02, 8 bytes of the binding, f64 delivered, f64 document number, key bytes
 */
import {Buffer} from 'node:buffer';
import {hash} from 'node:crypto';
import {CURSOR_CHARS_MAX} from '../limits.ts';
import {NO_KEY, type Position} from './position.ts';

/** `isEnd`: made at the end of a scan; the next page has the documents added behind it. */
export type Cursor = {position: Position | null; isEnd: boolean; delivered: number};

const BINDING_CHARS = 16;
const OLD_VERSION = 2;
const OLD_BINDING_BYTES = 8;
const OLD_HEAD_BYTES = 1 + OLD_BINDING_BYTES + 8 + 8;

/** Distinguishes a query of this timeline from every other one. @param shape equal for equal queries alone */
export function bindingOf(timeline: string, shape: string): string {
  return hash('sha256', `${timeline}\n${shape}`, 'base64url').slice(0, BINDING_CHARS);
}

export function encodeCursor(binding: string, {position, isEnd, delivered}: Cursor): string {
  const {key, doc, id} = position ?? {key: NO_KEY, doc: -1, id: ''};
  const fields: unknown[] = [binding, isEnd ? 1 : 0, key.toString('base64url'), doc, id];
  if (delivered > 0) fields.push(delivered);
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** The decoded cursor, or the reason why `text` is none. */
export function decodeCursor(binding: string, text: unknown): Cursor | 'malformed' | 'of another query' {
  if (typeof text !== 'string' || text.length > CURSOR_CHARS_MAX) return 'malformed';
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) return 'malformed';
  return bytes[0] === OLD_VERSION ? decodeOld(binding, bytes) : decodeJson(binding, bytes);
}

function decodeJson(binding: string, bytes: Buffer): ReturnType<typeof decodeCursor> {
  let fields: unknown;
  try {
    fields = JSON.parse(bytes.toString('utf8'));
  } catch {
    return 'malformed';
  }
  const [made, isEnd, key, doc, id, delivered = 0] = (Array.isArray(fields) ? fields : []) as unknown[];
  if (typeof key !== 'string' || !isNumber(doc, -1) || typeof id !== 'string' || !isNumber(delivered, 0))
    return 'malformed';
  if (made !== binding) return 'of another query';
  const position = doc === -1 ? null : {key: Buffer.from(key, 'base64url'), doc, id};
  return {position, isEnd: isEnd === 1, delivered};
}

function decodeOld(binding: string, bytes: Buffer): ReturnType<typeof decodeCursor> {
  if (bytes.length < OLD_HEAD_BYTES) return 'malformed';
  const bound = Buffer.from(binding, 'base64url').subarray(0, OLD_BINDING_BYTES);
  if (!bytes.subarray(1, 1 + OLD_BINDING_BYTES).equals(bound)) return 'of another query';
  const delivered = bytes.readDoubleBE(1 + OLD_BINDING_BYTES);
  const doc = bytes.readDoubleBE(1 + OLD_BINDING_BYTES + 8);
  if (!isNumber(delivered, 1) || !isNumber(doc, 0)) return 'malformed';
  return {position: {key: bytes.subarray(OLD_HEAD_BYTES), doc, id: ''}, isEnd: false, delivered};
}

function isNumber(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least;
}
