/**
 * Encodes values as bytes whose memcmp order is the order of the values (`order.ts`). Each value is self-delimiting, so
 * the encoding of a list is the concatenation of its values' encodings. Indexes, and cursors of ordered queries, store
 * it.
 *
 *   missing 01 · null 02 · false 04 · true 05
 *   number  03, then the 8 bytes of the double, big-endian: sign bit set for positives, all bits inverted for negatives
 *   string  06, then its UTF-8 bytes with 00 written as 00 ff, then 00
 *   array   07, its elements, then 00
 *   object  08, its entries sorted by key, each the key as a string and the value, then 00
 *
 * A complete value is followed by a tag (01 to 08), 00, or the end; never by ff. So `prefix ++ ff` is above every key
 * that continues `prefix` with another value, and below every longer string that merely shares its bytes.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../assert.ts';
import {compareUtf8, Rank, rankOf} from './order.ts';
import type {Value} from './value.ts';

const AFTER = Buffer.from([0xff]);

/** Grows to the largest key ever encoded: below the size of a document. */
let scratch = Buffer.allocUnsafeSlow(4096);
let end = 0;

export function encodeKey(values: readonly (Value | undefined)[]): Buffer {
  end = 0;
  for (const value of values) write(value);
  return Buffer.from(scratch.subarray(0, end));
}

/** A key above all keys that continue `prefix` with further values, and below all other keys above `prefix`. */
export function keySuccessor(prefix: Buffer): Buffer {
  return Buffer.concat([prefix, AFTER]);
}

function write(value: Value | undefined): void {
  const rank = rankOf(value);
  reserve(16);
  scratch[end++] = rank;
  switch (rank) {
    case Rank.number:
      writeNumber(value as number);
      return;
    case Rank.string:
      writeString(value as string);
      return;
    case Rank.array:
      for (const element of value as Value[]) write(element);
      writeEnd();
      return;
    case Rank.object: {
      const object = value as Record<string, Value>;
      for (const key of Object.keys(object).sort(compareUtf8)) {
        write(key);
        write(object[key]);
      }
      writeEnd();
      return;
    }
  }
}

function writeNumber(value: number): void {
  // Every NaN is written the same way: V8 can keep other payloads.
  scratch.writeDoubleBE(Number.isNaN(value) ? Number.NaN : value, end);
  if ((scratch[end]! & 0x80) === 0 || Number.isNaN(value)) {
    scratch[end] = scratch[end]! | 0x80;
  } else {
    for (let i = end; i < end + 8; i++) scratch[i] = ~scratch[i]! & 0xff;
  }
  end += 8;
}

function writeString(value: string): void {
  const start = end;
  reserve(value.length * 3 + 1);
  end += scratch.write(value, start, 'utf8');
  if (value.includes('\0')) escapeZeros(start);
  writeEnd();
}

function escapeZeros(start: number): void {
  const plain = Buffer.from(scratch.subarray(start, end));
  reserve(plain.length + 1);
  end = start;
  for (const byte of plain) {
    scratch[end++] = byte;
    if (byte === 0) scratch[end++] = 0xff;
  }
}

function writeEnd(): void {
  reserve(1);
  scratch[end++] = 0;
}

function reserve(bytes: number): void {
  if (end + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, end + bytes));
  scratch.copy(larger, 0, 0, end);
  scratch = larger;
}

/** A bound of a key range: complete values, then perhaps the beginning of a text. */
export type KeyBound = {
  readonly values: readonly (Value | undefined)[];
  /** It is above every key that continues it. */
  readonly isAfter: boolean;
  readonly prefix: string | null;
};

/**
 * What a bound of key ranges says: a key, a part of one, either followed by ff or by a document number. Objects have a
 * null prototype.
 */
export function decodeBound(bound: Buffer): KeyBound {
  const values: (Value | undefined)[] = [];
  const cursor: KeyCursor = {key: bound, at: 0};
  for (;;) {
    const tag = bound[cursor.at];
    if (tag === undefined || tag === 0 || tag === AFTER[0]) return {values, isAfter: tag === AFTER[0], prefix: null};
    const end = tag === Rank.string ? endOfText(bound, cursor.at) : bound.length;
    if (end === -1) break;
    if (tag !== Rank.string) values.push(read(cursor));
    else {
      values.push(read({key: bound.subarray(0, end), at: cursor.at}));
      cursor.at = end;
    }
  }
  const isAfter = bound.at(-1) === AFTER[0]; // no byte of UTF-8
  const text = bound.subarray(cursor.at + 1, isAfter ? -1 : undefined);
  return {values, isAfter, prefix: text.toString('utf8')};
}

/** Behind the 00 that ends the text at `start`; -1: it does not end. A last ff belongs to the bound. */
function endOfText(bound: Buffer, start: number): number {
  let at = bound.indexOf(0, start);
  while (at !== -1 && bound[at + 1] === AFTER[0] && at + 2 < bound.length) at = bound.indexOf(0, at + 2);
  return at === -1 ? -1 : at + 1;
}

type KeyCursor = {readonly key: Buffer; at: number};

function read(cursor: KeyCursor): Value | undefined {
  const rank = cursor.key[cursor.at++];
  switch (rank) {
    case Rank.missing:
      return undefined;
    case Rank.null:
      return null;
    case Rank.false:
    case Rank.true:
      return rank === Rank.true;
    case Rank.number:
      return readNumber(cursor);
    case Rank.string:
      return readString(cursor);
    case Rank.array: {
      const array: Value[] = [];
      while (!atEnd(cursor)) array.push(read(cursor) as Value);
      return array;
    }
    default:
      assert(rank === Rank.object, `key tag ${rank}`);
      return readObject(cursor);
  }
}

function readNumber(cursor: KeyCursor): number {
  const bytes = Buffer.from(cursor.key.subarray(cursor.at, cursor.at + 8));
  assert(bytes.length === 8, 'a key ends inside a number');
  cursor.at += 8;
  if ((bytes[0]! & 0x80) !== 0) bytes[0] = bytes[0]! & 0x7f;
  else for (let i = 0; i < 8; i++) bytes[i] = ~bytes[i]! & 0xff;
  return bytes.readDoubleBE(0);
}

function readString(cursor: KeyCursor): string {
  const {key} = cursor;
  const bytes: number[] = [];
  for (;;) {
    const byte = key[cursor.at++];
    assert(byte !== undefined, 'a key ends inside a string');
    if (byte === 0) {
      if (key[cursor.at] !== 0xff) break;
      cursor.at++;
    }
    bytes.push(byte);
  }
  return Buffer.from(bytes).toString('utf8');
}

function readObject(cursor: KeyCursor): Value {
  const object = Object.create(null) as Record<string, Value>;
  while (!atEnd(cursor)) {
    const name = read(cursor) as string;
    object[name] = read(cursor) as Value;
  }
  return object;
}

/** Skips the 00 after the last element of an array or object, if it is there. */
function atEnd(cursor: KeyCursor): boolean {
  assert(cursor.at < cursor.key.length, 'a key ends inside an array or object');
  if (cursor.key[cursor.at] !== 0) return false;
  cursor.at++;
  return true;
}
