/**
 * What a read has looked at, so that a commit can be asked whether it may have changed the result: stretches of indexes, each
 * as far as it was really read. Rows that a filter left out belong to it, and so does the room between rows: whatever is
 * written there would have been looked at. A result stays what it is until a commit touches its read set. Plain data: it
 * crosses threads when it is packed.
 *
 * Every document stands at one place in each index of its table. A place is bytes, and places compare as memcmp does:
 *
 *   index                            place of a document
 *   declared, by its number (≥ 1)    `entryPlace`: encodeKey(values of the index's fields) ++ document number, 8 bytes big-endian
 *   BY_CREATION (0)                  `creationPlace`: document number, 8 bytes big-endian
 *   BY_ID (-1)                       `idPlace`: the id in UTF-8
 *
 * A written document touches an interval {table, index, lower, upper} when its place in that index of that table, before or
 * after the write, is ≥ lower and < upper. Bounds need not be places themselves: a prefix of values is below everything that
 * goes on from it, `prefix ++ ff` above all of that, and a document number begins with 00, below every value. A read by id that
 * names no table (a function's `db.get`) and finds none is in table ANY_TABLE: so a write stands at (its table, BY_ID) and at (ANY_TABLE, BY_ID).
 * A table that was never written has no number: reads of it are `absentTables`, touched by the first write to a table of that name.
 *
 * Not in it: filters that are left for each document (a native query's residual ones are its owner's to apply), and the
 * tables' lists of indexes. When an index is dropped its intervals say nothing any more: who keeps read sets of a table
 * reads again when its indexes change.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import type {Change, Side} from '../commit/commit.ts';

/** Index numbers beside the declared ones, which begin at 1. */
export const BY_CREATION = 0;
export const BY_ID = -1;
/** Table numbers begin at 1. */
export const ANY_TABLE = 0;

/** Half open: lower ≤ place < upper. Never empty. */
export type ReadInterval = {table: number; index: number; lower: Uint8Array; upper: Uint8Array};

export type ReadSet = {intervals: ReadInterval[]; absentTables: string[]};

/** Where a document with this entry key stands in a declared index. */
export function entryPlace(key: Uint8Array, doc: number): Buffer {
  const place = Buffer.allocUnsafe(key.length + 8);
  place.set(key);
  // Document numbers are below 2^53, so the first byte is 0.
  place.writeUInt32BE(Math.floor(doc / 2 ** 32), key.length);
  place.writeUInt32BE(doc % 2 ** 32, key.length + 4);
  return place;
}

const NO_KEY = Buffer.alloc(0);

export function creationPlace(doc: number): Buffer {
  return entryPlace(NO_KEY, doc);
}

export function idPlace(id: string): Buffer {
  return Buffer.from(id);
}

/** What says where a written document stands. `before` and `after`: null where it was not, or is not there. */
export type WrittenPlaces = Pick<Change, 'doc' | 'id' | 'indexes'> & {
  readonly before: Pick<Side, 'keys'> | null;
  readonly after: Pick<Side, 'keys'> | null;
};

/** Where it stood and stands in this index of its table, each place once. None in an index that has no entry of it. */
export function placesIn(index: number, {doc, id, indexes, before, after}: WrittenPlaces): string[] {
  if (index === BY_ID) return [oneByte(idPlace(id))];
  if (index === BY_CREATION) return [oneByte(creationPlace(doc))];
  const at = indexes.findIndex(({number}) => number === index);
  if (at === -1) return [];
  const places: string[] = [];
  for (const side of [before, after]) {
    if (side === null) continue;
    const key = side.keys[at];
    assert(key !== undefined, 'a sound document has a key in each index of its table');
    const place = oneByte(entryPlace(key, doc));
    if (place !== places[0]) places.push(place);
  }
  return places;
}

/** As it is kept, and crosses threads: a Buffer would take all of its slab along. */
export type PackedReadSet = {
  intervals: {table: number; index: number; lower: string; upper: string}[];
  absentTables: string[];
};

export function packed({intervals, absentTables}: ReadSet): PackedReadSet {
  return {
    intervals: intervals.map(({table, index, lower, upper}) => ({
      table,
      index,
      lower: oneByte(lower),
      upper: oneByte(upper),
    })),
    absentTables,
  };
}

/** Bytes as a string that compares as they do, of one byte a character. */
export function oneByte(bytes: Uint8Array): string {
  return (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString('latin1');
}
