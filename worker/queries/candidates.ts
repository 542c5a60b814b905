/**
 * The rows a plan reads that pass its residual filters, one at a time. They are read in pieces that grow while rows are
 * small, so that a query for a few documents reads few, and that end with the row that makes them SCAN_ROWS_CHARS long, so that
 * large ones do not fill the memory.
 */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {
  SCAN_CHARS_MAX,
  SCAN_DOCUMENTS_MAX,
  SCAN_ROWS_BETWEEN_LOOKS,
  SCAN_ROWS_CHARS,
  SCAN_ROWS_FIRST,
  SCAN_ROWS_FIRST_FILTERED,
  SCAN_ROWS_LEAST,
  SCAN_ROWS_MOST,
} from '../../shared/limits.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {compilePath, valueAt} from '../../shared/values/paths.ts';
import type {Value} from '../../shared/values/value.ts';
import {parseDocument, parseFields} from '../documents/document.ts';
import type {DocumentRow, IndexInfo, QueryReader, TableInfo} from '../storage/rows.ts';
import type {Position} from './cursor.ts';
import {matches} from './filter.ts';
import type {Pace} from './pace.ts';
import type {Plan} from './plan.ts';

export const NO_KEY = Buffer.alloc(0);

export class Candidates {
  readonly #reader: QueryReader;
  readonly #table: TableInfo;
  readonly #plan: Plan;
  readonly #passes: ReturnType<typeof matches> | null;
  readonly #pace: Pace;
  #rows: DocumentRow[] = [];
  #at = 0;
  #size: number;
  #rowsRead = 0;
  #charsRead = 0;
  #ended = false;
  /** Where the next piece begins. */
  #after: Position | null;
  /** The row given last, if a filter had to parse it. */
  #parsed: Record<string, Value> | null = null;

  constructor(reader: QueryReader, table: TableInfo, plan: Plan, after: Position | null, pace: Pace) {
    this.#pace = pace;
    this.#reader = reader;
    this.#table = table;
    this.#plan = plan;
    this.#passes = plan.residual.length === 0 ? null : matches(plan.residual);
    this.#size = this.#passes === null ? SCAN_ROWS_FIRST : SCAN_ROWS_FIRST_FILTERED;
    this.#after = startOf(plan, after);
  }

  /** @param wanted how many more the caller would take at most: no more are read at once when nothing filters them */
  next(wanted: number): DocumentRow | null {
    for (;;) {
      while (this.#at < this.#rows.length) {
        const row = this.#rows[this.#at++]!;
        if (this.#passes === null) return row;
        if (this.#at % SCAN_ROWS_BETWEEN_LOOKS === 0) this.#pace.hasRead(0, 0);
        this.#parsed = parseDocument(row);
        if (this.#passes(this.#parsed)) return row;
      }
      if (this.#ended) return null;
      this.#readPiece(this.#passes === null ? Math.min(wanted, this.#size) : this.#size);
    }
  }

  /** The row that `next` gave last, parsed. */
  parsed(row: DocumentRow): Record<string, Value> {
    return this.#parsed ?? parseDocument(row);
  }

  /** @throws op.too_large 413 */
  #readPiece(size: number): void {
    const rows = this.#piece(size);
    let chars = 0;
    for (const row of rows) chars += row.body.length;
    this.#rows = rows;
    this.#at = 0;
    this.#rowsRead += rows.length;
    this.#charsRead += chars;
    // A piece that is shorter ended with the table, or with as much text as one may hold.
    if (rows.length < size && chars < SCAN_ROWS_CHARS) this.#ended = true;
    if (this.#rowsRead > SCAN_DOCUMENTS_MAX) throw scanTooLarge(`${SCAN_DOCUMENTS_MAX} documents`);
    if (this.#charsRead > SCAN_CHARS_MAX) throw scanTooLarge(`${SCAN_CHARS_MAX} characters of documents`);
    this.#pace.hasRead(rows.length, chars);
    const fitting = Math.floor((SCAN_ROWS_CHARS * rows.length) / (chars + 1));
    this.#size = Math.max(SCAN_ROWS_LEAST, Math.min(this.#size * 2, SCAN_ROWS_MOST, fitting));
  }

  #piece(size: number): DocumentRow[] {
    const plan = this.#plan;
    switch (plan.kind) {
      case 'id': {
        this.#ended = true;
        const row = this.#reader.documentById(plan.id);
        return row !== undefined && row.doc >= this.#table.lowDoc && row.doc <= this.#table.highDoc ? [row] : [];
      }
      case 'index': {
        if (Buffer.compare(plan.lower, plan.upper) >= 0) return [];
        const {index, lower, upper, reverse} = plan;
        const last = this.#rows.at(-1);
        if (last !== undefined) this.#after = {key: entryKey(index, last), doc: last.doc};
        return this.#reader.indexEntries(index.number, lower, upper, reverse, this.#after, size, SCAN_ROWS_CHARS);
      }
      case 'table': {
        const from = this.#after?.doc;
        const low = from !== undefined && !plan.reverse ? Math.max(plan.low, from + 1) : plan.low;
        const high = from !== undefined && plan.reverse ? Math.min(plan.high, from - 1) : plan.high;
        if (low > high) return [];
        const rows = this.#reader.documents(low, high, plan.reverse, size, SCAN_ROWS_CHARS);
        const last = rows.at(-1);
        if (last !== undefined) this.#after = {key: NO_KEY, doc: last.doc};
        return rows;
      }
    }
  }
}

function entryKey(index: IndexInfo, row: DocumentRow): Buffer {
  const fields = parseFields(row);
  return encodeKey(index.fields.map(field => valueAt(fields, compilePath(field))));
}

/** Where a plan that gives the order resumes; a plan that does not reads everything and lets the heap skip. */
function startOf(plan: Plan, after: Position | null): Position | null {
  if (after === null || plan.kind === 'id' || !plan.ordered) return null;
  if (plan.kind === 'table') return after;
  // An index whose fields are all fixed holds the order field among them: its entries differ in the number alone.
  const allFixed = plan.fixedFields === plan.index.fields.length;
  return {key: allFixed ? plan.prefix : Buffer.concat([plan.prefix, after.key]), doc: after.doc};
}

function scanTooLarge(what: string): ServiceError {
  return new ServiceError(
    'op.too_large',
    `the query would read more than ${what}; add an index for its filters and order`,
  );
}
