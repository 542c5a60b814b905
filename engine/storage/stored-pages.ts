/**
 * Reads rows of a closed SQLite file without SQLite, which would change the log of a file that this svc must not touch, and
 * would run what a hostile worker has put into the schema (decision 0133). Pages come from the commits in the log, and
 * otherwise from the file. Only tables of a few small rows are read, and the last row of a table.
 */
import {closeSync, fstatSync, openSync, readSync, statSync} from 'node:fs';
import {
  FRAME_HEADER_BYTES,
  parseSqliteHeader,
  SQLITE_HEADER_BYTES,
  type SqliteHeader,
  WAL_HEADER_BYTES,
} from '../../shared/sqlite-header.ts';
import {SQLITE_DEPTH_MAX, SQLITE_ROW_BYTES_MAX, STORED_COLUMNS, STORED_PAGES_MAX, STORED_ROWS_MAX} from '../limits.ts';
import {frameOffset, isSameSums, readFrame, readWalHeader} from './wal-frames.ts';

type Value = string | number | null;

/** Kinds of pages of a B-tree. */
const INDEX_INTERIOR = 2;
const TABLE_INTERIOR = 5;
const INDEX_LEAF = 10;
const TABLE_LEAF = 13;

type Logged = {
  /** Where the newest commit has a page. */
  readonly pages: ReadonlyMap<number, number>;
  readonly commits: number;
  /** Pages of the database after the newest commit; null: there is none. */
  readonly pagesAfter: number | null;
};

/** The last row of a table. `value`: of the column that was wanted; null if the row does not have it. */
type LastRow = {readonly number: number; readonly value: Value};

export class StoredPages {
  readonly header: SqliteHeader;
  readonly #path: string;
  readonly #logged: Logged;
  /** Of the file, if the log has no commit. */
  readonly #pagesOfFile: number;
  #visits = 0;
  #rows = 0;

  /** Null: it is not a file of SQLite. */
  static of(path: string): StoredPages | null {
    const logged = loggedPages(`${path}-wal`);
    const at = logged.pages.get(1);
    const first =
      at === undefined ? bytesOf(path, 0, SQLITE_HEADER_BYTES) : bytesOf(`${path}-wal`, at, SQLITE_HEADER_BYTES);
    const header = first === null ? null : parseSqliteHeader(first);
    if (first === null || header === null) return null;
    const inFile = Math.floor((statSync(path, {throwIfNoEntry: false})?.size ?? 0) / header.pageBytes);
    // The header has the number, if the svc that wrote it also wrote this.
    const isStated = first.subarray(24, 28).equals(first.subarray(92, 96));
    const stated = isStated ? first.readUInt32BE(28) : 0;
    return new StoredPages(path, header, {logged, pagesOfFile: stated === 0 ? inFile : Math.min(stated, inFile)});
  }

  private constructor(path: string, header: SqliteHeader, of: {logged: Logged; pagesOfFile: number}) {
    this.#path = path;
    this.header = header;
    this.#logged = of.logged;
    this.#pagesOfFile = of.pagesOfFile;
  }

  /** Of the database after its newest commit. */
  get pageCount(): number {
    return this.#logged.pagesAfter ?? this.#pagesOfFile;
  }

  /** In the log. */
  get commits(): number {
    return this.#logged.commits;
  }

  /** The first columns of the rows of a table. @throws RangeError if the pages are not those of such a table */
  rows(table: string): Value[][] {
    const root = this.#rootOf(table);
    return root === null ? [] : this.#walk(root);
  }

  /**
   * The row with the highest number, of a table with numbered rows. It can be long: only what the column needs is read.
   * Null: there is none. @throws RangeError as `rows`
   */
  last(table: string, column: number): LastRow | null {
    let root = this.#rootOf(table);
    if (root === null) throw new RangeError(`it has no table ${table}`);
    for (let depth = 0; depth < SQLITE_DEPTH_MAX; depth++) {
      const page = this.#page(root);
      const [kind, cells] = [page.readUInt8(0), page.readUInt16BE(3)];
      if (kind === TABLE_LEAF)
        return cells === 0 ? null : this.#lastIn(page, page.readUInt16BE(8 + 2 * (cells - 1)), column);
      if (kind !== TABLE_INTERIOR) throw new RangeError(`page ${root} is of no table with numbered rows`);
      root = page.readUInt32BE(8);
    }
    throw new RangeError('the table is deeper than SQLite makes one');
  }

  #lastIn(page: Buffer, cell: number, column: number): LastRow {
    const payload = varint(page, cell);
    const {value: number, next: begin} = varint(page, payload.next);
    if (payload.value > SQLITE_ROW_BYTES_MAX) throw new RangeError(`a row has ${payload.value} bytes`);
    const header = varint(page, begin);
    let [type, at] = [header.next, header.value];
    for (let n = 0; type < begin + header.value; n++) {
      const serial = varint(page, type);
      if (n === column)
        return {number, value: valueAt(this.#payload(page, begin, payload.value, at), 0, serial.value).value};
      type = serial.next;
      at += bytesOfType(serial.value);
    }
    return {number, value: null};
  }

  /** Up to 8 bytes of a row, which continues on other pages when it is long. */
  #payload(page: Buffer, begin: number, length: number, at: number): Buffer {
    const usable = this.header.pageBytes - this.header.reservedBytes;
    const here = bytesInCell(length, TABLE_LEAF, usable);
    const bytes = [page.subarray(begin + Math.min(at, here), begin + here)];
    let next = length === here ? 0 : page.readUInt32BE(begin + here);
    for (let from = here; next !== 0 && from < Math.min(at + 8, length); from += usable - 4) {
      const more = this.#page(next);
      next = more.readUInt32BE(0);
      if (from + usable - 4 > at) bytes.push(more.subarray(4 + Math.max(0, at - from), usable));
    }
    return Buffer.concat(bytes);
  }

  #rootOf(table: string): number | null {
    const [root] = this.#walk(1).flatMap(([type, name, , page]) => (type === 'table' && name === table ? [page] : []));
    return typeof root === 'number' ? root : null;
  }

  #walk(number: number): Value[][] {
    if (++this.#visits > STORED_PAGES_MAX) throw new RangeError('the table has more pages than this reads');
    const page = this.#page(number);
    const usable = this.header.pageBytes - this.header.reservedBytes;
    const at = number === 1 ? 100 : 0;
    const kind = page.readUInt8(at);
    const isInterior = kind === INDEX_INTERIOR || kind === TABLE_INTERIOR;
    if (!isInterior && kind !== INDEX_LEAF && kind !== TABLE_LEAF) throw new RangeError(`page ${number} is no B-tree`);
    const cells = Array.from({length: page.readUInt16BE(at + 3)}, (_, n) =>
      page.readUInt16BE(at + (isInterior ? 12 : 8) + 2 * n),
    );
    this.#rows += cells.length;
    if (this.#rows > STORED_ROWS_MAX) throw new RangeError('the table has more rows than this reads');
    const rows = cells.flatMap(cell => {
      const below = isInterior ? this.#walk(page.readUInt32BE(cell)) : [];
      return kind === TABLE_INTERIOR ? below : [...below, recordIn(page, isInterior ? cell + 4 : cell, kind, usable)];
    });
    return isInterior ? [...rows, ...this.#walk(page.readUInt32BE(at + 8))] : rows;
  }

  #page(number: number): Buffer {
    const {pageBytes} = this.header;
    const at = this.#logged.pages.get(number);
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

function loggedPages(path: string): Logged {
  const pages = new Map<number, number>();
  let [commits, pagesAfter]: [number, number | null] = [0, null];
  const found = () => ({pages, commits, pagesAfter});
  if ((statSync(path, {throwIfNoEntry: false})?.size ?? 0) < WAL_HEADER_BYTES) return found();
  const fd = openSync(path, 'r');
  try {
    const header = readWalHeader(fd);
    if (header === null) return found();
    const frames = Math.floor((fstatSync(fd).size - WAL_HEADER_BYTES) / (FRAME_HEADER_BYTES + header.pageBytes));
    let {sums} = header;
    let pending: [page: number, at: number][] = [];
    for (let number = 1; number <= frames; number++) {
      const frame = readFrame(fd, header, number);
      if (frame?.hasSalts !== true || !isSameSums(frame.sumFrom(sums), frame.stored)) break;
      sums = frame.stored;
      pending.push([frame.pageNumber, frameOffset(header, number) + FRAME_HEADER_BYTES]);
      if (frame.pagesAfter === 0) continue;
      for (const [page, at] of pending) pages.set(page, at);
      pending = [];
      commits++;
      pagesAfter = frame.pagesAfter;
    }
    return found();
  } finally {
    closeSync(fd);
  }
}

/** Of a row, in its cell: the rest of a long one is on other pages, as SQLite's file format says. */
function bytesInCell(length: number, kind: number, usable: number): number {
  const most = kind === TABLE_LEAF ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  if (length <= most) return length;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const fitting = least + ((length - least) % (usable - 4));
  return fitting <= most ? fitting : least;
}

/** The first columns, up to one that is not in the cell as a whole. */
function recordIn(page: Buffer, cell: number, kind: number, usable: number): Value[] {
  const {value: length, next: begin} = varint(page, cell);
  const at = kind === TABLE_LEAF ? varint(page, begin).next : begin;
  const end = Math.min(at + bytesInCell(length, kind, usable), page.length);
  const {value: headerBytes, next} = varint(page, at);
  let body = at + headerBytes;
  const values: Value[] = [];
  for (let type = next; type < at + headerBytes && values.length < STORED_COLUMNS; ) {
    const serial = varint(page, type);
    type = serial.next;
    if (body + bytesOfType(serial.value) > end) break;
    const {value, bytes} = valueAt(page, body, serial.value);
    values.push(value);
    body += bytes;
  }
  return values;
}

function bytesOfType(type: number): number {
  return type >= 12 ? (type - (type % 2 === 0 ? 12 : 13)) / 2 : ([0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type] ?? 0);
}

function valueAt(page: Buffer, at: number, type: number): {value: Value; bytes: number} {
  const bytes = bytesOfType(type);
  if (type >= 12) return {value: page.toString('utf8', at, Math.min(at + bytes, page.length)), bytes};
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
