/**
 * Runs a query or one page of it, and answers with JSON text: stored documents are joined, and parsed only when a filter or
 * the order has to look into them.
 *
 * Two ways through: when the plan gives the order asked for, reading stops at the last document wanted; otherwise all
 * candidates are looked at and the first ones in the order are kept in a heap of positions. Both count what they read
 * against SCAN_DOCUMENTS_MAX, and what they answer against RESULT_BYTES_MAX.
 */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {PAGE_DOCUMENTS_MAX, RESULT_BYTES_MAX, SCAN_DOCUMENTS_MAX} from '../../shared/limits.ts';
import type {PaginatedQueryBody, QueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {documentText, parseDocument, parseFields} from '../documents/document.ts';
import {checkTableName} from '../documents/table-name.ts';
import {decodeCursor, encodeCursor, type Position} from './cursor.ts';
import {compileFilters, matches} from './filter.ts';
import {compilePath, type FieldPath, valueAt} from './paths.ts';
import {type Order, orderOf, type Plan, planQuery} from './plan.ts';
import type {DocumentRow, IndexInfo, QueryReader, TableInfo} from './reader.ts';
import {FirstInOrder} from './top.ts';

const NO_KEY = Buffer.alloc(0);
/** Rows read in one go: few at first, for queries that stop early; fewer when they are large. */
const ROWS_FIRST = 16;
const ROWS_MOST = 256;
const ROWS_BYTES = 1024 * 1024;

/** POST …/query: `{"data": […]}`. @throws op.invalid_input 400, op.too_large 413 */
export function runQuery(reader: QueryReader, query: QueryObject): string {
  const {rows} = find(reader, query, query.limit ?? Number.POSITIVE_INFINITY, null);
  return `{"data":[${joinDocuments(rows)}]}`;
}

/** GET …/documents/{table}: `{"data": […]}` in creation order. @throws op.invalid_input 400, op.too_large 413 */
export function listTable(reader: QueryReader, table: string): string {
  return runQuery(reader, {table, filters: []});
}

/** POST …/query/paginated: `{"data", "next_cursor", "has_more"}`. @throws op.invalid_input 400, op.too_large 413 */
export function runPage(reader: QueryReader, {query, page_size, after}: PaginatedQueryBody): string {
  const cursor = after === undefined ? null : decodeCursor(query, after);
  const delivered = cursor?.delivered ?? 0;
  const left = query.limit === undefined ? Number.POSITIVE_INFINITY : query.limit - delivered;
  const wanted = Math.max(0, Math.min(page_size, PAGE_DOCUMENTS_MAX, left));
  // One document beyond the page answers has_more, unless the query's limit ends the walk with this page.
  const {rows, path} = find(reader, query, wanted < left ? wanted + 1 : wanted, cursor?.position ?? null);
  const page = rows.slice(0, wanted);
  const hasMore = rows.length > wanted;
  let next = 'null';
  if (hasMore) {
    const position = positionOf(page.at(-1)!, path);
    next = `"${encodeCursor(query, {position, delivered: delivered + page.length})}"`;
  }
  return `{"data":[${joinDocuments(page)}],"next_cursor":${next},"has_more":${hasMore}}`;
}

function joinDocuments(rows: DocumentRow[]): string {
  let text = '';
  let bytes = 0;
  for (const row of rows) {
    const document = documentText(row);
    bytes += Buffer.byteLength(document) + 1;
    if (bytes > RESULT_BYTES_MAX) throw resultTooLarge();
    text += text === '' ? document : `,${document}`;
  }
  return text;
}

/** The first `most` matching rows beyond `after`, in order; `path` is that of the order field, null for creation order. */
function find(
  reader: QueryReader,
  query: QueryObject,
  most: number,
  after: Position | null,
): {rows: DocumentRow[]; path: FieldPath | null} {
  checkTableName(query.table);
  const filters = compileFilters(query.filters);
  const order = orderOf(query);
  const path = order.by === null ? null : compilePath(order.by);
  const table = reader.table(query.table);
  if (table === undefined || most === 0) return {rows: [], path};
  const plan = planQuery(reader, table, filters, order);
  const rows = new Candidates(reader, table, plan, after);
  if (plan.kind !== 'id' && plan.ordered) return {rows: takeInOrder(rows, most), path};
  return {rows: pickFirst(reader, rows, order, path, most, after), path};
}

function takeInOrder(candidates: Candidates, most: number): DocumentRow[] {
  const rows: DocumentRow[] = [];
  let bytes = 0;
  for (let row = candidates.next(most); row !== null; row = candidates.next(most - rows.length)) {
    rows.push(row);
    bytes += row.body.length;
    if (bytes > RESULT_BYTES_MAX) throw resultTooLarge();
    if (rows.length === most) break;
  }
  return rows;
}

function pickFirst(
  reader: QueryReader,
  candidates: Candidates,
  order: Order,
  path: FieldPath | null,
  most: number,
  after: Position | null,
): DocumentRow[] {
  const first = new FirstInOrder(most, order.reverse, after);
  let bytes = 0;
  for (let row = candidates.next(most); row !== null; row = candidates.next(most)) {
    if (!first.offer(positionOf(row, path)) || Number.isFinite(most)) continue;
    // Without a limit whatever is kept is answered: stop as soon as that is too much.
    bytes += row.body.length;
    if (bytes > RESULT_BYTES_MAX) throw resultTooLarge();
  }
  return first.inOrder().map(({doc}) => reader.documents(doc, doc, false, 1)[0]!);
}

function positionOf(row: DocumentRow, path: FieldPath | null): Position {
  return {key: path === null ? NO_KEY : encodeKey([valueAt(parseDocument(row), path)]), doc: row.doc};
}

/** The rows a plan reads that pass its residual filters, one at a time, read in growing pieces. */
class Candidates {
  readonly #reader: QueryReader;
  readonly #table: TableInfo;
  readonly #plan: Plan;
  readonly #passes: ReturnType<typeof matches> | null;
  #rows: DocumentRow[] = [];
  #at = 0;
  #size = ROWS_FIRST;
  #read = 0;
  #ended = false;
  /** Where the next piece begins. */
  #after: Position | null;

  constructor(reader: QueryReader, table: TableInfo, plan: Plan, after: Position | null) {
    this.#reader = reader;
    this.#table = table;
    this.#plan = plan;
    this.#passes = plan.residual.length === 0 ? null : matches(plan.residual);
    this.#after = startOf(plan, after);
  }

  /** @param wanted how many more the caller would take at most: no more are read at once when nothing filters them */
  next(wanted: number): DocumentRow | null {
    for (;;) {
      while (this.#at < this.#rows.length) {
        const row = this.#rows[this.#at++]!;
        if (this.#passes === null || this.#passes(parseDocument(row))) return row;
      }
      if (this.#ended) return null;
      this.#readPiece(this.#passes === null ? Math.min(wanted, ROWS_MOST) : this.#size);
    }
  }

  #readPiece(size: number): void {
    const rows = this.#piece(size);
    this.#rows = rows;
    this.#at = 0;
    this.#read += rows.length;
    if (rows.length < size) this.#ended = true;
    if (this.#read > SCAN_DOCUMENTS_MAX) {
      throw new ServiceError(
        'op.too_large',
        `the query would read more than ${SCAN_DOCUMENTS_MAX} documents; add an index for its filters and order`,
      );
    }
    let bytes = 0;
    for (const row of rows) bytes += row.body.length;
    this.#size = bytes * 2 > ROWS_BYTES ? ROWS_FIRST : Math.min(this.#size * 2, ROWS_MOST);
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
        return this.#reader.indexEntries(index.number, lower, upper, reverse, this.#after, size);
      }
      case 'table': {
        const from = this.#after?.doc;
        const low = from !== undefined && !plan.reverse ? Math.max(plan.low, from + 1) : plan.low;
        const high = from !== undefined && plan.reverse ? Math.min(plan.high, from - 1) : plan.high;
        if (low > high) return [];
        const rows = this.#reader.documents(low, high, plan.reverse, size);
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

function resultTooLarge(): ServiceError {
  return new ServiceError(
    'op.too_large',
    `the result takes more than ${RESULT_BYTES_MAX} bytes; read it in pages with query/paginated (or smaller pages)`,
  );
}
