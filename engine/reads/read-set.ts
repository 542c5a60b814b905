/**
 * The read set of a read: ranges of indexes, each as far as it was really read. It shows whether a commit can have
 * changed the result. Rows that a filter left out belong to the read set, and so do the gaps between rows, because a
 * document written there would have been read. A result stays valid until a commit touches its read set. It is plain
 * data: in its packed form it crosses threads.
 *
 * Every document has one position in each index of its table. A position is bytes, and positions compare as memcmp
 * does:
 *
 *   index                            position of a document
 *   declared, by its number (≥ 1)    `entryPlace`: encodeKey(values of the index's fields) ++ document number, 8 bytes big-endian
 *   BY_CREATION (0)                  `creationPlace`: document number, 8 bytes big-endian
 *   BY_ID (-1)                       `idPlace`: the id in UTF-8
 *
 * A written document touches an interval {table, index, lower, upper} when its position in that index of that table,
 * before or after the write, is ≥ lower and < upper. Bounds need not be positions: a prefix of values is below all its
 * continuations, `prefix ++ ff` is above all of them, and a document number begins with 00, below every value. A read
 * by id that names no table (a function's `db.get`) and finds no document is in table ANY_TABLE. So a write has
 * positions at (its table, BY_ID) and at (ANY_TABLE, BY_ID). A table that was never written has no number: reads of it
 * are `absentTables`, touched by the first write to a table of that name.
 *
 * Not included: filters that are evaluated on each document (the owner of a native query applies them), and the tables'
 * lists of indexes. When an index is dropped its intervals lose their meaning: the holder of a read set of the table
 * must read again when the table's indexes change.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import type {Change, Side} from '../commit/commit.ts';

/** Index numbers of the built-in orders; declared indexes begin at 1. */
export const BY_CREATION = 0;
export const BY_ID = -1;
/** Table numbers begin at 1. */
export const ANY_TABLE = 0;

/** Half open: lower ≤ position < upper. Never empty. */
export type ReadInterval = {table: number; index: number; lower: Uint8Array; upper: Uint8Array};

export type ReadSet = {intervals: ReadInterval[]; absentTables: string[]};

/** Position of a document with this entry key in a declared index. */
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

/**
 * The data that determines a written document's positions. `before` and `after`: null where the document does not
 * exist.
 */
export type WrittenPlaces = Pick<Change, 'doc' | 'id' | 'indexes'> & {
  readonly before: Pick<Side, 'keys'> | null;
  readonly after: Pick<Side, 'keys'> | null;
};

/**
 * Its old and new position in this index of its table, without duplicates. None in an index that has no entry of it.
 */
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

/** The stored form, which crosses threads: a Buffer would keep its whole slab alive. */
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

/** A change, as far as it shows what it touches. */
export type WrittenChange = WrittenPlaces & Pick<Change, 'table' | 'isDamaged'>;

/** Whether what was read may be different after the change. */
export function touches(change: WrittenChange, {intervals, absentTables}: PackedReadSet): boolean {
  if (absentTables.includes(change.table.name)) return true;
  return intervals.some(({table, index, lower, upper}) => {
    if (table !== change.table.number && table !== ANY_TABLE) return false;
    if (change.isDamaged && index !== BY_ID) return true;
    return placesIn(index, change).some(place => lower <= place && place < upper);
  });
}

/** Bytes as a string with one character per byte, which compares as they do. */
export function oneByte(bytes: Uint8Array): string {
  return (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString('latin1');
}
