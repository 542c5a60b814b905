/**
 * The checksum of a stored document: over its number, id, times, flags and body, stored in its row and verified
 * whenever the row is read from the file. It protects against damage, not against attacks.
 *
 * The body, which can be long, goes through zlib's CRC-32. The short other values are mixed in JavaScript, because a
 * call into zlib costs more. Every step of the mix is a bijection of the state, and so is the CRC of its seed. So a
 * single changed bit is always found, and any other change of one part is missed once in four billion times.
 */
import {crc32} from 'node:zlib';
import type {Catalog} from './catalog.ts';
import {type Damage, storageDamaged} from './damage.ts';
import type {DocumentRow} from './rows.ts';
import {DOCS_PER_TABLE} from './tables.sql.ts';

/** A row as it is read. `checksum` null: last written before there were checksums. */
export type StoredRow = DocumentRow & {checksum: number | null};

/** Odd, so that multiplying by it loses nothing. */
const FACTOR = 0x01000193;
const START = 0x811c9dc5;

const numbers = new Float64Array(3);
const words = new Int32Array(numbers.buffer);

/** A signed 32-bit number, which SQLite stores in four bytes. */
export function documentChecksum({doc, id, created, updated, body, flags}: DocumentRow): number {
  numbers[0] = doc;
  numbers[1] = created;
  numbers[2] = updated;
  let state = mixed(START, flags);
  for (let i = 0; i < words.length; i++) state = mixed(state, words[i]!);
  const stored = id.isWellFormed() ? id : id.toWellFormed(); // the form that SQLite stores
  for (let i = 0; i < stored.length; i++) state = mixed(state, stored.charCodeAt(i));
  return crc32(body, state >>> 0) | 0;
}

function mixed(state: number, word: number): number {
  const next = Math.imul(state ^ word, FACTOR);
  return next ^ (next >>> 15);
}

export function isSound(row: StoredRow): boolean {
  // A value in a damaged row can have another type than its column.
  if (typeof row.id !== 'string' || typeof row.body !== 'string') return false;
  return row.checksum === null || row.checksum === documentChecksum(row);
}

/** Identifies the document, since its number may be the damaged part. */
export function damagedDocument(row: StoredRow, catalog: Catalog): Damage {
  const table = catalog.tableByNumber(Math.floor(row.doc / DOCS_PER_TABLE));
  const damage: Damage = {check: 'checksum', document: row.doc};
  if (table !== undefined) damage.table = table.name;
  if (typeof row.id === 'string') damage.id = row.id;
  return damage;
}

/** @throws op.storage_damaged 503 */
export function checkedRow<Row extends StoredRow | undefined>(row: Row, catalog: Catalog): Row {
  if (row !== undefined && !isSound(row)) throw storageDamaged(damagedDocument(row, catalog));
  return row;
}
