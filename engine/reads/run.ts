/**
 * Runs a query or one page of it, and returns JSON text: stored documents are joined, and parsed only if a filter or
 * the order needs their fields.
 */
import {Buffer} from 'node:buffer';
import {performance} from 'node:perf_hooks';
import {assert, unreachable} from '../../shared/assert.ts';
import {invalid, tooLarge} from '../../shared/errors.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import {positioned} from '../../shared/positioned-error.ts';
import type {PaginatedQueryBody, QueryBatch, QueryObject} from '../../shared/protocol/queries.ts';
import {PAGE_DOCUMENTS_MAX} from '../limits.ts';
import {parseDocument} from '../storage/document.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import {countMatches} from './count.ts';
import {bindingOf, type Cursor, decodeCursor, encodeCursor} from './cursor.ts';
import {explainedText} from './explain.ts';
import {find, resultTooLarge} from './find.ts';
import {orderKey} from './order.ts';
import {NO_KEY, type Position} from './position.ts';
import {type ReadBudget, UNHURRIED} from './read-budget.ts';
import type {RequestScan} from './scan-message.ts';
import {type Show, showOf} from './select.ts';
import {shapeText} from './shape.ts';

/** The result of a request, as its response body. @throws op.invalid_input 400, op.too_large 413 */
export function runScan(reader: QueryReader, scan: RequestScan, readBudget: ReadBudget): string {
  switch (scan.kind) {
    case 'query':
      return runQuery(reader, scan.query, readBudget);
    case 'list':
      return listTable(reader, scan.table, readBudget);
    case 'page':
      return runPage(reader, scan.page, readBudget);
    case 'count':
      return runCount(reader, scan.query, readBudget);
    case 'batch':
      return runBatch(reader, scan.batch, readBudget);
    default:
      return unreachable(scan);
  }
}

/** POST …/query: `{"data": […]}`. @throws op.invalid_input 400, op.too_large 413 */
export function runQuery(reader: QueryReader, query: QueryObject, readBudget: ReadBudget = UNHURRIED): string {
  const startedMs = query.explain === true ? performance.now() : 0;
  const show = showOf(query);
  const {rows, plan, spent} = find(reader, query, query.limit ?? Number.POSITIVE_INFINITY, null, readBudget);
  const data = joinDocuments(rows, show);
  if (query.explain !== true) return `{"data":[${data}]}`;
  return `{"data":[${data}]${explainedText({plan, read: spent.documents, returned: rows.length}, startedMs)}}`;
}

/** GET …/documents/{table}: `{"data": […]}` in creation order. @throws op.invalid_input 400, op.too_large 413 */
export function listTable(reader: QueryReader, table: string, readBudget: ReadBudget = UNHURRIED): string {
  return runQuery(reader, {table, filters: []}, readBudget);
}

/** POST …/query/count: `{"count": 3}`. @throws op.invalid_input 400, op.too_large 413 */
export function runCount(reader: QueryReader, query: QueryObject, readBudget: ReadBudget = UNHURRIED): string {
  const startedMs = query.explain === true ? performance.now() : 0;
  showOf(query); // an invalid selection is refused here as well
  const {count, plan, read} = countMatches(reader, query, readBudget);
  // The order does not matter, so nothing is sorted.
  const facts = {plan: {...plan, ordered: true}, read, returned: 0};
  return `{"count":${count}${query.explain === true ? explainedText(facts, startedMs) : ''}}`;
}

/**
 * POST …/query/batch: `{"results": […]}` of one snapshot. @throws op.invalid_input 400, op.too_large 413, with the
 * query's position
 */
export function runBatch(reader: QueryReader, {queries}: QueryBatch, readBudget: ReadBudget = UNHURRIED): string {
  const results: string[] = [];
  let left = RESULT_BYTES_MAX;
  for (const [position, query] of queries.entries()) {
    const result = positioned('queries', position, 'query', () =>
      (query.count === true ? runCount : runQuery)(reader, query, readBudget),
    );
    left -= Buffer.byteLength(result) + 1;
    if (left < 0) {
      throw tooLarge(`results of one request take ${RESULT_BYTES_MAX} bytes together at most`, {
        query: position,
      });
    }
    results.push(result);
  }
  return `{"results":[${results.join(',')}]}`;
}

/** POST …/query/paginated: `{"data", "next_cursor", "has_more"}`. @throws op.invalid_input 400, op.too_large 413 */
export function runPage(
  reader: QueryReader,
  {query, page_size, after}: PaginatedQueryBody,
  readBudget: ReadBudget = UNHURRIED,
): string {
  const startedMs = query.explain === true ? performance.now() : 0;
  const show = showOf(query);
  const binding = bindingOf(reader.timeline, shapeText(query));
  const cursor = after === undefined ? null : checkedCursor(decodeCursor(binding, after));
  const delivered = cursor?.delivered ?? 0;
  const left = query.limit === undefined ? Number.POSITIVE_INFINITY : query.limit - delivered;
  const wanted = Math.max(0, Math.min(page_size, PAGE_DOCUMENTS_MAX, left));
  // One extra document answers has_more, unless the query's limit ends the walk with this page.
  const most = wanted < left ? wanted + 1 : wanted;
  const {rows, order, plan, spent} = find(reader, query, most, cursor?.position ?? null, readBudget, 'cut');
  const {text, count} = joinFitting(rows, wanted, show);
  const hasMore = rows.length > count;
  let next = 'null';
  if (hasMore) {
    assert(count > 0, 'a page that is not the last has documents');
    const last = rows[count - 1]!;
    const key = order.fields.length === 0 ? NO_KEY : orderKey(order, parseDocument(last));
    const position: Position = {key, doc: last.doc, id: last.id};
    next = `"${encodeCursor(binding, {position, isEnd: false, delivered: delivered + count})}"`;
  }
  const facts = {plan, read: spent.documents, returned: count};
  const explained = query.explain === true ? explainedText(facts, startedMs) : '';
  return `{"data":[${text}],"next_cursor":${next},"has_more":${hasMore}${explained}}`;
}

/** @throws op.invalid_input 400 for an invalid cursor, or one of another query or timeline */
function checkedCursor(cursor: ReturnType<typeof decodeCursor>): Cursor {
  if (cursor === 'of another query') {
    throw invalid('after is a cursor of another query or another tenant; a walk keeps its query unchanged');
  }
  if (cursor !== 'malformed' && cursor.position !== null && cursor.delivered > 0) return cursor;
  throw invalid("after is not a cursor: pass a previous page's next_cursor as it is");
}

/** As many of the first `most` rows as fit in a response; at least one does. */
function joinFitting(rows: readonly DocumentRow[], most: number, show: Show): {text: string; count: number} {
  const documents: string[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, most)) {
    const document = show(row);
    bytes += Buffer.byteLength(document) + 1;
    if (bytes > RESULT_BYTES_MAX && documents.length > 0) break;
    documents.push(document);
  }
  return {text: documents.join(','), count: documents.length};
}

function joinDocuments(rows: DocumentRow[], show: Show): string {
  let text = '';
  for (const row of rows) {
    const document = show(row);
    text += text === '' ? document : `,${document}`;
    if (text.length >= RESULT_BYTES_MAX) throw resultTooLarge();
  }
  // A UTF-16 unit is at most 3 bytes of UTF-8, so few results have to be measured.
  if (text.length * 3 >= RESULT_BYTES_MAX && Buffer.byteLength(text) >= RESULT_BYTES_MAX) throw resultTooLarge();
  return text;
}
