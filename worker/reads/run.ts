/**
 * Runs a query or one page of it, and answers with JSON text: stored documents are joined, and parsed only when a filter or
 * the order has to look into them.
 *
 * Two ways through: when the plan gives the order asked for, reading stops at the last document wanted; otherwise all
 * candidates are looked at and the first ones in the order are kept in a heap. What is read is bounded by SCAN_…_MAX, what
 * is answered by RESULT_BYTES_MAX. How long it may take where it runs is for its `pace` to say.
 */
import {Buffer} from 'node:buffer';
import {unreachable} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {PAGE_DOCUMENTS_MAX, RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {PaginatedQueryBody, QueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {compilePath, type FieldPath, valueAt} from '../../shared/values/paths.ts';
import {documentText, parseDocument} from '../documents/document.ts';
import {checkTableName} from '../documents/table-name.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import {Candidates} from './candidates.ts';
import {bindingOf, type Cursor, decodeCursor, encodeCursor} from './cursor.ts';
import {compileFilters, matches} from './filter.ts';
import {type Pace, UNHURRIED} from './pace.ts';
import {orderOf, type Plan, planQuery} from './plan.ts';
import {NO_KEY, type Position} from './position.ts';
import {readOf} from './read-path.ts';
import type {ReadSet} from './read-set.ts';
import {Scan} from './scan.ts';
import type {RequestScan} from './scan-message.ts';
import {shapeText} from './shape.ts';
import {FirstInOrder} from './top.ts';

/** Below what the system fields of a document take, beside its id. */
const SYSTEM_FIELDS_CHARS = 40;

/** What a request asks for, as the body of its answer. @throws op.invalid_input 400, op.too_large 413 */
export function runScan(reader: QueryReader, scan: RequestScan, pace: Pace): string {
  switch (scan.kind) {
    case 'query':
      return runQuery(reader, scan.query, pace);
    case 'list':
      return listTable(reader, scan.table, pace);
    case 'page':
      return runPage(reader, scan.page, pace);
    default:
      return unreachable(scan);
  }
}

/** POST …/query: `{"data": […]}`. @throws op.invalid_input 400, op.too_large 413 */
export function runQuery(reader: QueryReader, query: QueryObject, pace: Pace = UNHURRIED): string {
  const {rows} = find(reader, query, query.limit ?? Number.POSITIVE_INFINITY, null, pace);
  return `{"data":[${joinDocuments(rows)}]}`;
}

/** GET …/documents/{table}: `{"data": […]}` in creation order. @throws op.invalid_input 400, op.too_large 413 */
export function listTable(reader: QueryReader, table: string, pace: Pace = UNHURRIED): string {
  return runQuery(reader, {table, filters: []}, pace);
}

/** POST …/query/paginated: `{"data", "next_cursor", "has_more"}`. @throws op.invalid_input 400, op.too_large 413 */
export function runPage(
  reader: QueryReader,
  {query, page_size, after}: PaginatedQueryBody,
  pace: Pace = UNHURRIED,
): string {
  const binding = bindingOf(reader.timeline, shapeText(query));
  const cursor = after === undefined ? null : checkedCursor(decodeCursor(binding, after));
  const delivered = cursor?.delivered ?? 0;
  const left = query.limit === undefined ? Number.POSITIVE_INFINITY : query.limit - delivered;
  const wanted = Math.max(0, Math.min(page_size, PAGE_DOCUMENTS_MAX, left));
  // One document beyond the page answers has_more, unless the query's limit ends the walk with this page.
  const most = wanted < left ? wanted + 1 : wanted;
  const {rows, path} = find(reader, query, most, cursor?.position ?? null, pace, 'cut');
  const {text, count} = joinFitting(rows, wanted);
  const hasMore = rows.length > count;
  let next = 'null';
  if (hasMore) {
    const last = rows[count - 1]!;
    const key = path === null ? NO_KEY : encodeKey([valueAt(parseDocument(last), path)]);
    const position: Position = {key, doc: last.doc, id: last.id};
    next = `"${encodeCursor(binding, {position, isEnd: false, delivered: delivered + count})}"`;
  }
  return `{"data":[${text}],"next_cursor":${next},"has_more":${hasMore}}`;
}

/** @throws op.invalid_input 400 for what is not a cursor of this query in this timeline */
function checkedCursor(cursor: ReturnType<typeof decodeCursor>): Cursor {
  if (cursor === 'of another query') {
    throw new ServiceError(
      'op.invalid_input',
      'after is a cursor of another query or another tenant; a walk keeps its query unchanged',
    );
  }
  if (cursor !== 'malformed' && cursor.position !== null && cursor.delivered > 0) return cursor;
  throw new ServiceError('op.invalid_input', "after is not a cursor: pass a previous page's next_cursor as it is");
}

/** As many of the first `most` rows as fit in an answer; one does always. */
function joinFitting(rows: readonly DocumentRow[], most: number): {text: string; count: number} {
  const documents: string[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, most)) {
    const document = documentText(row);
    bytes += Buffer.byteLength(document) + 1;
    if (bytes > RESULT_BYTES_MAX && documents.length > 0) break;
    documents.push(document);
  }
  return {text: documents.join(','), count: documents.length};
}

function joinDocuments(rows: DocumentRow[]): string {
  let text = '';
  for (const row of rows) {
    const document = documentText(row);
    text += text === '' ? document : `,${document}`;
    if (text.length >= RESULT_BYTES_MAX) throw resultTooLarge();
  }
  // A UTF-16 unit is at most 3 bytes of UTF-8: few results have to be measured.
  if (text.length * 3 >= RESULT_BYTES_MAX && Buffer.byteLength(text) >= RESULT_BYTES_MAX) throw resultTooLarge();
  return text;
}

export type Found = {
  rows: DocumentRow[];
  /** That of the order field; null: creation order. */
  path: FieldPath | null;
  /** What was looked at; only worth its making for who keeps the result. */
  readSet: () => ReadSet;
};

/** The first `most` matching rows beyond `after`, in order. @throws op.invalid_input 400, op.too_large 413, what ends the pace */
export function find(
  reader: QueryReader,
  query: QueryObject,
  most: number,
  after: Position | null,
  pace: Pace = UNHURRIED,
  whenFull: WhenFull = 'refuse',
): Found {
  checkTableName(query.table);
  const filters = compileFilters(query.filters);
  const order = orderOf(query);
  const path = order.by === null ? null : compilePath(order.by);
  if (most === 0) return {rows: [], path, readSet: () => ({intervals: [], absentTables: []})};
  const plan = planQuery(reader, query.table, filters, order);
  const {table} = plan.path;
  if (table === null) return {rows: [], path, readSet: () => readOf(plan.path, null, 'end')};
  if (readsAll(plan, most)) pace.willReadAll(table);
  const start = after !== null && plan.ordered ? plan.resume(after) : null;
  const passes = plan.residual.length === 0 ? null : matches(plan.residual);
  const scan = new Scan(reader, plan.path, {after: start, isFiltered: passes !== null, pace});
  const candidates = new Candidates(scan, passes, pace);
  const readSet = () => scan.readSet();
  if (plan.ordered) return {rows: takeInOrder(candidates, most, whenFull), path, readSet};
  const first = new FirstInOrder(most, order.reverse, after);
  return {rows: pickFirst(reader, candidates, first, path, most, whenFull), path, readSet};
}

function readsAll({path: {table, segments}, ordered}: Plan, most: number): boolean {
  const [segment] = segments;
  if (table === null || segment?.kind !== 'table') return false;
  if (segment.low > table.lowDoc || segment.high < table.highDoc) return false;
  return !ordered || most === Number.POSITIVE_INFINITY;
}

function takeInOrder(candidates: Candidates, most: number, whenFull: WhenFull): DocumentRow[] {
  const result = new ResultRows(whenFull);
  while (result.rows.length < most && !result.isCut) {
    const row = candidates.next(most - result.rows.length);
    if (row === null) break;
    result.add(row);
  }
  return result.rows;
}

function pickFirst(
  reader: QueryReader,
  candidates: Candidates,
  first: FirstInOrder,
  path: FieldPath | null,
  most: number,
  whenFull: WhenFull,
): DocumentRow[] {
  // Without a limit whatever is kept is answered: stop as soon as that is too much.
  const all = most === Number.POSITIVE_INFINITY ? new ResultRows('refuse') : null;
  const everyRow = Number.POSITIVE_INFINITY;
  for (let row = candidates.next(everyRow); row !== null; row = candidates.next(everyRow)) {
    const key = path === null ? NO_KEY : encodeKey([valueAt(candidates.parsed(row), path)]);
    if (first.offer(key, row)) all?.add(row);
  }
  const result = new ResultRows(whenFull);
  for (const {doc, row} of first.inOrder()) {
    if (result.isCut) break;
    result.add(row ?? reader.documents(doc, doc, false, 1)[0]!);
  }
  return result.rows;
}

/** What becomes of a result that is certainly too large for one answer: it is an error, or the rows so far are enough. */
type WhenFull = 'refuse' | 'cut';

/**
 * Rows of a result, refused or cut once they are certainly too large for one. `joinDocuments` counts exactly; this stops before
 * all of them are in memory. A row is added before it is judged, because the last one of a page is only looked at.
 */
class ResultRows {
  readonly rows: DocumentRow[] = [];
  readonly #whenFull: WhenFull;
  #chars = 0;

  constructor(whenFull: WhenFull) {
    this.#whenFull = whenFull;
  }

  /** More rows than fit are here, and the rest is for the next page. */
  get isCut(): boolean {
    return this.#whenFull === 'cut' && this.#chars > RESULT_BYTES_MAX;
  }

  add(row: DocumentRow): void {
    if (this.#chars > RESULT_BYTES_MAX) throw resultTooLarge();
    this.rows.push(row);
    // A body with $float wrappers is shown in fewer characters than it is stored in.
    this.#chars += SYSTEM_FIELDS_CHARS + row.id.length + (row.flags === 0 ? row.body.length : 0);
  }
}

function resultTooLarge(): ServiceError {
  return new ServiceError(
    'op.too_large',
    `the result takes more than ${RESULT_BYTES_MAX} bytes; read it in pages with query/paginated`,
  );
}
