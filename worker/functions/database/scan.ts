/**
 * Rows of a query in its order, read in pieces and one at a time. A piece begins behind the last row given, wherever that is
 * by then: a scan goes on at the right place whatever was written in between, also by the mutation that reads.
 */
import {Buffer} from 'node:buffer';
import {SCAN_PIECE_CHARS, SCAN_PIECE_ROWS, SCAN_PIECE_ROWS_FIRST} from '../../../shared/limits.ts';
import {compareUtf8} from '../../../shared/values/order.ts';
import type {FunctionReader} from '../../storage/function-reader.ts';
import type {DocumentRow} from '../../storage/rows.ts';
import {type Position, positionOf} from './position.ts';
import {afterId, type Segment} from './segments.ts';

/** Rows read at once at least where a filter may leave some out. */
const ROWS_FILTERED = 16;

export class Scan {
  readonly #reader: FunctionReader;
  readonly #segments: readonly Segment[];
  readonly #reverse: boolean;
  readonly #isFiltered: boolean;
  #segment = 0;
  #rows: readonly DocumentRow[] = [];
  /** The segment that `#rows` are of. */
  #rowsSegment = 0;
  #at = 0;
  #pieceRows = SCAN_PIECE_ROWS_FIRST;
  /** Where the next piece begins: behind `#last`, if rows were given. */
  #after: Position | null;
  #last: DocumentRow | null = null;

  /** @param segments in the order in which they are read, @param after rows up to here are left out */
  constructor(
    reader: FunctionReader,
    segments: readonly Segment[],
    reverse: boolean,
    after: Position | null,
    isFiltered: boolean,
  ) {
    this.#reader = reader;
    this.#segments = segments;
    this.#reverse = reverse;
    this.#after = after;
    this.#isFiltered = isFiltered;
  }

  /** @param wanted how many more the caller would take at most */
  next(wanted: number): DocumentRow | null {
    while (this.#at >= this.#rows.length) {
      const segment = this.#segments[this.#segment];
      if (segment === undefined) return null;
      const limit = Math.min(this.#pieceRows, this.#isFiltered ? Math.max(wanted, ROWS_FILTERED) : wanted);
      this.#rowsSegment = this.#segment;
      this.#rows = this.#piece(segment, limit);
      this.#at = 0;
      if (this.#rows.length < limit) this.#segment++;
      this.#pieceRows = nextPieceRows(this.#rows, this.#pieceRows);
    }
    this.#last = this.#rows[this.#at++]!;
    return this.#last;
  }

  /** Lets go of rows that were read and not given. */
  release(): void {
    if (this.#at >= this.#rows.length) return;
    this.#segment = this.#rowsSegment;
    this.#rows = [];
    this.#at = 0;
  }

  #piece(segment: Segment, limit: number): readonly DocumentRow[] {
    if (this.#last !== null) {
      this.#after = positionOf(segment, this.#last);
      this.#last = null;
    }
    switch (segment.kind) {
      case 'table':
        return this.#tableRows(segment.low, segment.high, limit);
      case 'index':
        return this.#indexRows(segment, limit);
      case 'ids':
        return this.#idRows(segment, limit);
    }
  }

  #tableRows(low: number, high: number, limit: number): readonly DocumentRow[] {
    const from = this.#after === null || this.#reverse ? low : Math.max(low, this.#after.doc + 1);
    const to = this.#after === null || !this.#reverse ? high : Math.min(high, this.#after.doc - 1);
    return from > to ? [] : this.#reader.documents(from, to, this.#reverse, limit);
  }

  #idRows({from, to, low, high}: Segment & {kind: 'ids'}, limit: number): readonly DocumentRow[] {
    const start = this.#after === null || this.#reverse ? from : later(from, afterId(this.#after.id));
    const end = this.#after === null || !this.#reverse ? to : earlier(to, this.#after.id);
    return this.#reader.documentsByIds(start, end, low, high, this.#reverse, limit);
  }

  #indexRows(segment: Segment & {kind: 'index'}, limit: number): readonly DocumentRow[] {
    const {index, lower, upper, low, high} = segment;
    if (Buffer.compare(lower, upper) >= 0 || (low !== null && high !== null && low > high)) return [];
    const rows = this.#reader.indexEntries(index.number, lower, upper, this.#reverse, this.#indexStart(segment), limit);
    if (low === null || high === null) return rows;
    // Number order within the one key: the first row outside ends the segment.
    const end = rows.findIndex(row => (this.#reverse ? row.doc < low : row.doc > high));
    return end === -1 ? rows : rows.slice(0, end);
  }

  #indexStart({lower, low, high}: Segment & {kind: 'index'}): {key: Buffer; doc: number} | null {
    if (low === null || high === null) return this.#after;
    const edge = this.#reverse ? {key: lower, doc: high + 1} : {key: lower, doc: low - 1};
    if (this.#after === null) return edge;
    const isBeyond = this.#reverse ? this.#after.doc < edge.doc : this.#after.doc > edge.doc;
    return isBeyond ? this.#after : edge;
  }
}

/** More rows each time, as long as they are small: a piece of large ones must not fill the memory. */
function nextPieceRows(rows: readonly DocumentRow[], before: number): number {
  let chars = 0;
  for (const row of rows) chars += row.body.length;
  const fitting = Math.floor((SCAN_PIECE_CHARS * rows.length) / (chars + 1));
  return rows.length === 0 ? before : Math.max(1, Math.min(before * 4, SCAN_PIECE_ROWS, fitting));
}

function later(a: string, b: string): string {
  return compareUtf8(a, b) >= 0 ? a : b;
}
function earlier(a: string, b: string): string {
  return compareUtf8(a, b) <= 0 ? a : b;
}
