/**
 * Returns the rows of a query one at a time in the order of its path; they are read in batches. A batch begins after
 * the last returned row, wherever that is by then. So a scan continues at the right position whatever is written in
 * between, including writes of the mutation that reads.
 *
 * Batches grow while rows are small, so that a query for a few documents reads few. A batch ends with the row that
 * makes it SCAN_ROWS_CHARS long, so that large rows do not fill the memory.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {compareUtf8} from '../../shared/values/order.ts';
import {
  SCAN_CHARS_MAX,
  SCAN_DOCUMENTS_MAX,
  SCAN_ROWS_CHARS,
  SCAN_ROWS_FIRST,
  SCAN_ROWS_FIRST_FILTERED,
  SCAN_ROWS_LEAST,
  SCAN_ROWS_MOST,
} from '../limits.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import type {Position} from './position.ts';
import {afterId, type RangeScan} from './range-scans.ts';
import {type ReadBudget, UNHURRIED} from './read-budget.ts';
import {positionOn, type ReadPath, readOf} from './read-path.ts';
import type {ReadSet} from './read-set.ts';

export type ScanOptions = {
  /** Rows up to this position are left out. */
  after: Position | null;
  /** The caller filters rows: more rows may have to be read than it needs. */
  isFiltered: boolean;
  readBudget?: ReadBudget;
  /** Shared by scans that are read in parallel. */
  spent?: Spent;
  /** Characters of rows that it holds at once, approximately. */
  batchChars?: number;
};

/** Total reads of a query. */
export class Spent {
  documents = 0;
  chars = 0;

  /** @throws op.too_large 413 */
  add(documents: number, chars: number): void {
    this.documents += documents;
    this.chars += chars;
    if (this.documents > SCAN_DOCUMENTS_MAX) throw tooLarge(`${SCAN_DOCUMENTS_MAX} documents`);
    if (this.chars > SCAN_CHARS_MAX) throw tooLarge(`${SCAN_CHARS_MAX} characters of documents`);
  }
}

type Batch = {rows: readonly DocumentRow[]; endsScan: boolean};

export class Scan {
  readonly #reader: QueryReader;
  readonly #path: ReadPath;
  readonly #start: Position | null;
  readonly #isFiltered: boolean;
  readonly #readBudget: ReadBudget;
  #rangeScan = 0;
  #rows: readonly DocumentRow[] = [];
  /** The range scan of `#rows`. */
  #rowsScan = 0;
  #at = 0;
  #size: number;
  readonly #spent: Spent;
  readonly #batchChars: number;
  /** The last returned row. */
  #last: DocumentRow | null = null;
  #isDone = false;

  constructor(reader: QueryReader, path: ReadPath, options: ScanOptions) {
    const {after, isFiltered, readBudget = UNHURRIED, spent = new Spent(), batchChars = SCAN_ROWS_CHARS} = options;
    this.#reader = reader;
    this.#path = path;
    this.#start = after;
    this.#isFiltered = isFiltered;
    this.#readBudget = readBudget;
    this.#spent = spent;
    this.#batchChars = batchChars;
    this.#size = isFiltered ? SCAN_ROWS_FIRST_FILTERED : SCAN_ROWS_FIRST;
  }

  /** @param wanted how many more rows the caller takes at most. @throws op.too_large 413, and the errors of its read budget */
  next(wanted: number): DocumentRow | null {
    while (this.#at >= this.#rows.length) {
      const rangeScan = this.#path.rangeScans[this.#rangeScan];
      if (rangeScan === undefined) {
        this.#isDone = true;
        return null;
      }
      this.#read(rangeScan, this.#isFiltered ? this.#size : Math.min(wanted, this.#size));
    }
    this.#last = this.#rows[this.#at++]!;
    return this.#last;
  }

  /** Drops rows that were read and not returned. */
  release(): void {
    if (this.#at >= this.#rows.length) return;
    assert(this.#rowsScan <= this.#rangeScan, 'a scan only moves forward');
    this.#rangeScan = this.#rowsScan;
    this.#rows = [];
    this.#at = 0;
  }

  /** The part read: up to the last returned row, or the whole path once the scan has reached its end. */
  readSet(): ReadSet {
    const last = this.#last === null ? null : positionOn(this.#path, this.#last);
    return readOf(this.#path, this.#start, this.#isDone ? 'end' : last);
  }

  /** Reads one more batch. */
  #read(rangeScan: RangeScan, size: number): void {
    const after = this.#last === null ? this.#start : positionOn(this.#path, this.#last);
    const {rows, endsScan} = this.#batch(rangeScan, after, size);
    assert(rows.length <= Math.max(size, 1), `a batch of ${size} rows has ${rows.length}`);
    let chars = 0;
    for (const row of rows) chars += row.body.length;
    this.#rows = rows;
    this.#at = 0;
    this.#rowsScan = this.#rangeScan;
    // A shorter batch ended with the range scan, or with as much text as a batch can hold.
    if (endsScan || (rows.length < size && chars < this.#batchChars)) this.#rangeScan++;
    this.#spent.add(rows.length, chars);
    this.#readBudget.hasRead(rows.length, chars);
    const fitting = Math.floor((this.#batchChars * rows.length) / (chars + 1));
    if (rows.length > 0) this.#size = Math.max(SCAN_ROWS_LEAST, Math.min(this.#size * 2, SCAN_ROWS_MOST, fitting));
  }

  #batch(rangeScan: RangeScan, after: Position | null, size: number): Batch {
    switch (rangeScan.kind) {
      case 'table':
        return this.#tableRows(rangeScan, after, size);
      case 'index':
        return this.#indexRows(rangeScan, after, size);
      case 'ids':
        return this.#idRows(rangeScan, after, size);
      case 'id':
        return this.#oneRow(rangeScan, after);
    }
  }

  #tableRows({low, high}: RangeScan & {kind: 'table'}, after: Position | null, size: number): Batch {
    const {reverse} = this.#path;
    const from = after === null || reverse ? low : Math.max(low, after.doc + 1);
    const to = after === null || !reverse ? high : Math.min(high, after.doc - 1);
    if (from > to) return NOTHING;
    return {rows: this.#reader.documents(from, to, reverse, size, this.#batchChars), endsScan: false};
  }

  #idRows({from, to, low, high}: RangeScan & {kind: 'ids'}, after: Position | null, size: number): Batch {
    const {reverse} = this.#path;
    const start = after === null || reverse ? from : later(from, afterId(after.id));
    const end = after === null || !reverse ? to : earlier(to, after.id);
    return {
      rows: this.#reader.documentsByIds(start, end, low, high, reverse, size, this.#batchChars),
      endsScan: false,
    };
  }

  #oneRow({id, low, high}: RangeScan & {kind: 'id'}, after: Position | null): Batch {
    const order = after === null ? 1 : compareUtf8(id, after.id);
    if (this.#path.reverse ? after !== null && order >= 0 : order <= 0) return NOTHING;
    const row = this.#reader.documentById(id);
    const isThere = row !== undefined && row.doc >= low && row.doc <= high;
    return {rows: isThere ? [row] : [], endsScan: true};
  }

  #indexRows(rangeScan: RangeScan & {kind: 'index'}, after: Position | null, size: number): Batch {
    const {reverse} = this.#path;
    const {index, lower, upper, low, high} = rangeScan;
    if (Buffer.compare(lower, upper) >= 0 || (low !== null && high !== null && low > high)) return NOTHING;
    const start = this.#indexStart(rangeScan, after);
    const rows = this.#reader.indexEntries(index.number, lower, upper, reverse, start, size, this.#batchChars);
    if (low === null || high === null) return {rows, endsScan: false};
    // Rows with the same key are in number order: the first row outside ends the range scan.
    const end = rows.findIndex(row => (reverse ? row.doc < low : row.doc > high));
    return end === -1 ? {rows, endsScan: false} : {rows: rows.slice(0, end), endsScan: true};
  }

  #indexStart({lower, low, high}: RangeScan & {kind: 'index'}, after: Position | null) {
    if (low === null || high === null) return after;
    const {reverse} = this.#path;
    const edge = reverse ? {key: lower, doc: high + 1} : {key: lower, doc: low - 1};
    if (after === null) return edge;
    const isBeyond = reverse ? after.doc < edge.doc : after.doc > edge.doc;
    return isBeyond ? after : edge;
  }
}

const NOTHING: Batch = {rows: [], endsScan: true};

function later(a: string, b: string): string {
  return compareUtf8(a, b) >= 0 ? a : b;
}
function earlier(a: string, b: string): string {
  return compareUtf8(a, b) <= 0 ? a : b;
}

function tooLarge(what: string): ServiceError {
  return new ServiceError(
    'op.too_large',
    `the query would read more than ${what}; add an index for its filters and order`,
  );
}
