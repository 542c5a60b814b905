/**
 * Rows of a query in its order, read in pieces and one at a time. A position is what the order says of a row, so a scan goes
 * on at the right place whatever was written in between, also by the mutation that reads.
 */
import {Buffer} from 'node:buffer';
import {encodeKey} from '../../../shared/values/key-encoding.ts';
import {compareUtf8} from '../../../shared/values/order.ts';
import {parseFields} from '../../documents/document.ts';
import {compilePath, valueAt} from '../../queries/paths.ts';
import type {DocumentRow, IndexInfo, QueryReader} from '../../queries/reader.ts';
import type {Segment} from './segments.ts';

/** `key`: the encoded values of the index, empty elsewhere; `id` where rows are in id order. */
export type Position = {key: Buffer; doc: number; id: string};

const NO_KEY = Buffer.alloc(0);
const PIECE_ROWS_MAX = 256;

export class Scan {
  readonly #reader: QueryReader;
  readonly #segments: readonly Segment[];
  readonly #reverse: boolean;
  #segment = 0;
  #rows: readonly DocumentRow[] = [];
  #at = 0;
  #pieceSize: number;
  /** Where the next piece begins, in the current segment. */
  #after: Position | null;

  /** @param segments in the order in which they are read, @param after rows up to here are left out */
  constructor(
    reader: QueryReader,
    segments: readonly Segment[],
    reverse: boolean,
    after: Position | null,
    firstPiece: number,
  ) {
    this.#reader = reader;
    this.#segments = segments;
    this.#reverse = reverse;
    this.#after = after;
    this.#pieceSize = Math.max(1, Math.min(firstPiece, PIECE_ROWS_MAX));
  }

  next(): DocumentRow | null {
    while (this.#at >= this.#rows.length) {
      const segment = this.#segments[this.#segment];
      if (segment === undefined) return null;
      const size = this.#pieceSize;
      this.#rows = this.#piece(segment, size);
      this.#at = 0;
      const last = this.#rows.at(-1);
      if (last !== undefined) this.#after = positionOf(segment, last);
      if (this.#rows.length < size) this.#segment++;
      this.#pieceSize = Math.min(size * 2, PIECE_ROWS_MAX);
    }
    return this.#rows[this.#at++]!;
  }

  /** Where a row that `next` gave lies. */
  position(row: DocumentRow): Position {
    return positionOf(this.#segments[0]!, row);
  }

  #piece(segment: Segment, size: number): readonly DocumentRow[] {
    switch (segment.kind) {
      case 'table':
        return this.#tableRows(segment.low, segment.high, size);
      case 'index':
        return this.#indexRows(segment, size);
      case 'rows':
        return this.#collectedRows(segment.rows, size);
    }
  }

  #tableRows(low: number, high: number, size: number): readonly DocumentRow[] {
    const from = this.#after === null || this.#reverse ? low : Math.max(low, this.#after.doc + 1);
    const to = this.#after === null || !this.#reverse ? high : Math.min(high, this.#after.doc - 1);
    return from > to ? [] : this.#reader.documents(from, to, this.#reverse, size);
  }

  #indexRows(segment: Segment & {kind: 'index'}, size: number): readonly DocumentRow[] {
    const {index, lower, upper, low, high} = segment;
    if (Buffer.compare(lower, upper) >= 0 || (low !== null && high !== null && low > high)) return [];
    const rows = this.#reader.indexEntries(index.number, lower, upper, this.#reverse, this.#indexStart(segment), size);
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

  #collectedRows(rows: readonly DocumentRow[], size: number): readonly DocumentRow[] {
    const ordered = this.#reverse ? [...rows].reverse() : rows;
    const after = this.#after;
    const start =
      after === null
        ? 0
        : ordered.findIndex(row =>
            this.#reverse ? compareUtf8(row.id, after.id) < 0 : compareUtf8(row.id, after.id) > 0,
          );
    return start === -1 ? [] : ordered.slice(start, start + size);
  }
}

function positionOf(segment: Segment, row: DocumentRow): Position {
  const key = segment.kind === 'index' ? entryKey(segment.index, row) : NO_KEY;
  return {key, doc: row.doc, id: row.id};
}

function entryKey(index: IndexInfo, row: DocumentRow): Buffer {
  const fields = parseFields(row);
  return encodeKey(index.fields.map(field => valueAt(fields, compilePath(field))));
}

/** In ascending order. @param byId rows are in id order */
export function comparePositions(a: Position, b: Position, byId: boolean): number {
  if (byId) return compareUtf8(a.id, b.id);
  return Buffer.compare(a.key, b.key) || a.doc - b.doc;
}
