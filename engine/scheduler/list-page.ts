/**
 * Lists of scheduled work: the whole list without parameters, a page with `limit` or `after`. A list that is too long
 * for one response is refused with a message that suggests pages, rather than cut silently. A page ends early instead,
 * so paging always makes progress.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {invalid, type ServiceError, tooLarge} from '../../shared/errors.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import {PAGE_DOCUMENTS_MAX} from '../limits.ts';

/** Null: not given; if both are null, the whole list is requested. `after`: the next_cursor of a previous page. */
export type ListRequest = {limit: number | null; after: string | null};
/** An entry as JSON, and the cursor of the page that begins after it. */
export type ListEntry = {text: string; cursor: string};

/** Parses the query string. Unknown parameters are ignored. @throws op.invalid_input 400 */
export function parseListParameters(query: string): ListRequest {
  const parameters = new URLSearchParams(query);
  const text = parameters.get('limit');
  const limit = text === null ? null : Number(/^\d{1,15}$/.test(text) ? text : 0);
  if (limit === 0) throw invalid('limit must be a whole number, 1 or more');
  return {limit: limit === null ? null : Math.min(limit, PAGE_DOCUMENTS_MAX), after: parameters.get('after')};
}

/** Rows to read for a request: one more than the page shows whether there is a next page. */
export function rowsRequested({limit, after}: ListRequest): number {
  if (limit === null && after === null) return -1; // SQLite: all
  return (limit ?? PAGE_DOCUMENTS_MAX) + 1;
}

/** `{"<member>": [entry, …]}`, of a page with `next_cursor`. @throws op.too_large 413 */
export function listText(member: string, entries: Iterable<ListEntry>, request: ListRequest): string {
  const isPage = request.limit !== null || request.after !== null;
  const most = rowsRequested(request) - 1;
  const texts: string[] = [];
  let bytes = 0;
  let last = '';
  let next: string | null = null;
  for (const {text, cursor} of entries) {
    bytes += Buffer.byteLength(text) + 1;
    const isFull = bytes > RESULT_BYTES_MAX && texts.length > 0;
    if (isFull && !isPage) {
      throw tooLarge(
        `all ${member} together take more than ${RESULT_BYTES_MAX} bytes; read them in pages, with ?limit=100 and then &after= the next_cursor`,
      );
    }
    if (isPage && (isFull || texts.length === most)) {
      next = last;
      break;
    }
    texts.push(text);
    last = cursor;
  }
  assert(!isPage || texts.length <= most, `a page of ${most} entries has ${texts.length}`);
  return `{"${member}":[${texts.join(',')}]${isPage ? `,"next_cursor":${JSON.stringify(next)}` : ''}}`;
}

export function notAListCursor(): ServiceError {
  return invalid("after is not a cursor: pass a previous page's next_cursor as it is");
}
