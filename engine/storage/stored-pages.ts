/**
 * Reads rows of a closed SQLite file without SQLite, which would change the log of a file that this svc must not touch.
 * Pages come from the commits in the log, and otherwise from the file. Only tables of a few small rows are read.
 */
import {closeSync, fstatSync, openSync, readSync, statSync} from 'node:fs';
import {
  FRAME_HEADER_BYTES,
  parseSqliteHeader,
  type SqliteHeader,
  WAL_HEADER_BYTES,
} from '../../shared/sqlite-header.ts';
import {STORED_PAGES_MAX} from '../limits.ts';
import {frameOffset, isSameSums, readFrame, readWalHeader} from './wal-frames.ts';

type Value = string | number | null;

/** Kinds of pages of a B-tree. */
const INDEX_INTERIOR = 2;
const TABLE_INTERIOR = 5;
const INDEX_LEAF = 10;
const TABLE_LEAF = 13;

export class StoredPages {
  readonly header: SqliteHeader;
  readonly #path: string;
  /** Where the newest commit in the log has a page. */
  readonly #logged: ReadonlyMap<number, number>;
  #visits = 0;

  /** Null: it is not a file of SQLite. */
  static of(path: string): StoredPages | null {
    const logged = loggedPages(`${path}-wal`);
    const at = logged.get(1);
    const first = at === undefined ? bytesOf(path, 0, 100) : bytesOf(`${path}-wal`, at, 100);
    const header = first === null ? null : parseSqliteHeader(first);
    return header === null ? null : new StoredPages(path, header, logged);
  }

  private constructor(path: string, header: SqliteHeader, logged: ReadonlyMap<number, number>) {
    this.#path = path;
    this.header = header;
    this.#logged = logged;
  }

  /** The first columns of the rows of a table. @throws RangeError if the pages are not those of such a table */
  rows(table: string): Value[][] {
    const [root] = this.#walk(1).flatMap(([type, name, , page]) => (type === 'table' && name === table ? [page] : []));
    return typeof root === 'number' ? this.#walk(root) : [];
  }

  #walk(number: number): Value[][] {
    if (++this.#visits > STORED_PAGES_MAX) throw new RangeError('the table has more pages than this reads');
    const page = this.#page(number);
    const at = number === 1 ? 100 : 0;
    const kind = page.readUInt8(at);
    const isInterior = kind === INDEX_INTERIOR || kind === TABLE_INTERIOR;
    if (!isInterior && kind !== INDEX_LEAF && kind !== TABLE_LEAF) throw new RangeError(`page ${number} is no B-tree`);
    const cells = Array.from({length: page.readUInt16BE(at + 3)}, (_, n) =>
      page.readUInt16BE(at + (isInterior ? 12 : 8) + 2 * n),
    );
    const rows = cells.flatMap(cell => {
      const below = isInterior ? this.#walk(page.readUInt32BE(cell)) : [];
      return kind === TABLE_INTERIOR ? below : [...below, recordIn(page, isInterior ? cell + 4 : cell, kind)];
    });
    return isInterior ? [...rows, ...this.#walk(page.readUInt32BE(at + 8))] : rows;
  }

  #page(number: number): Buffer {
    const {pageBytes} = this.header;
    const at = this.#logged.get(number);
    const page =
      at === undefined
        ? bytesOf(this.#path, (number - 1) * pageBytes, pageBytes)
        : bytesOf(`${this.#path}-wal`, at, pageBytes);
    if (page === null) throw new RangeError(`page ${number} is missing`);
    return page;
  }
}

/** Null: the file does not have so many bytes. */
function bytesOf(path: string, at: number, length: number): Buffer | null {
  if ((statSync(path, {throwIfNoEntry: false})?.size ?? 0) < at + length) return null;
  const fd = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    readSync(fd, bytes, 0, length, at);
    return bytes;
  } finally {
    closeSync(fd);
  }
}

/** Offsets of the pages that the commits in the log changed last. */
function loggedPages(path: string): Map<number, number> {
  const committed = new Map<number, number>();
  if ((statSync(path, {throwIfNoEntry: false})?.size ?? 0) < WAL_HEADER_BYTES) return committed;
  const fd = openSync(path, 'r');
  try {
    const header = readWalHeader(fd);
    if (header === null) return committed;
    const frames = Math.floor((fstatSync(fd).size - WAL_HEADER_BYTES) / (FRAME_HEADER_BYTES + header.pageBytes));
    let {sums} = header;
    let pending: [page: number, at: number][] = [];
    for (let number = 1; number <= frames; number++) {
      const frame = readFrame(fd, header, number);
      if (frame?.hasSalts !== true || !isSameSums(frame.sumFrom(sums), frame.stored)) break;
      sums = frame.stored;
      pending.push([frame.pageNumber, frameOffset(header, number) + FRAME_HEADER_BYTES]);
      if (frame.pagesAfter === 0) continue;
      for (const [page, at] of pending) committed.set(page, at);
      pending = [];
    }
    return committed;
  } finally {
    closeSync(fd);
  }
}

/** The columns that are in the cell itself: long rows continue on other pages. */
function recordIn(page: Buffer, cell: number, kind: number): Value[] {
  let at = varint(page, cell).next;
  if (kind === TABLE_LEAF) at = varint(page, at).next;
  const {value: headerBytes, next} = varint(page, at);
  let body = at + headerBytes;
  const values: Value[] = [];
  for (let type = next; type < at + headerBytes && body <= page.length; ) {
    const serial = varint(page, type);
    type = serial.next;
    const {value, bytes} = valueAt(page, body, serial.value);
    values.push(value);
    body += bytes;
  }
  return values;
}

function valueAt(page: Buffer, at: number, type: number): {value: Value; bytes: number} {
  if (type >= 12) {
    const bytes = (type - (type % 2 === 0 ? 12 : 13)) / 2;
    return {value: page.toString('utf8', at, Math.min(at + bytes, page.length)), bytes};
  }
  const bytes = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type] ?? 0;
  if (type === 8 || type === 9) return {value: type - 8, bytes};
  if (bytes === 0) return {value: null, bytes};
  if (type === 7) return {value: page.readDoubleBE(at), bytes};
  return {value: bytes === 8 ? Number(page.readBigInt64BE(at)) : page.readIntBE(at, bytes), bytes};
}

function varint(page: Buffer, at: number): {value: number; next: number} {
  let value = 0;
  for (let n = 0; n < 8; n++) {
    const byte = page.readUInt8(at + n);
    value = value * 128 + (byte & 127);
    if (byte < 128) return {value, next: at + n + 1};
  }
  return {value: value * 256 + page.readUInt8(at + 8), next: at + 9};
}
