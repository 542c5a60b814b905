/**
 * Runs a query or one page of it, and answers with JSON text: stored documents are joined, and parsed only when a filter or
 * the order has to look into them.
 */
import {Buffer} from 'node:buffer';
import {unreachable} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {PAGE_DOCUMENTS_MAX, RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {PaginatedQueryBody, QueryObject} from '../../shared/protocol/queries.ts';
import {documentText, parseDocument} from '../documents/document.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import {bindingOf, type Cursor, decodeCursor, encodeCursor} from './cursor.ts';
import {find, resultTooLarge} from './find.ts';
import {orderKey} from './order.ts';
import {type Pace, UNHURRIED} from './pace.ts';
import {NO_KEY, type Position} from './position.ts';
import type {RequestScan} from './scan-message.ts';
import {shapeText} from './shape.ts';

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
  const {rows, order} = find(reader, query, most, cursor?.position ?? null, pace, 'cut');
  const {text, count} = joinFitting(rows, wanted);
  const hasMore = rows.length > count;
  let next = 'null';
  if (hasMore) {
    const last = rows[count - 1]!;
    const key = order.fields.length === 0 ? NO_KEY : orderKey(order, parseDocument(last));
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
