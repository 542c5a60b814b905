/** The head of an answer: its status line, its request id, and its other headers from several sources. */
import type {HttpResponse} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {randomBytes} from 'node:crypto';
import {STATUS_CODES} from 'node:http';
import {assert} from '../../shared/assert.ts';
import type {HeaderList, ResponseMeta} from '../../shared/ipc/operations.ts';
import {REQUEST_ID_CHARS_MAX} from '../../shared/limits.ts';

export const JSON_TYPE = 'application/json';
/**
 * The two headers of most answers, in one call: uWebSockets.js writes the name unchanged, and each call into it has a
 * cost.
 */
const JSON_WITH_REQUEST_ID = `Content-Type: ${JSON_TYPE}\r\nX-Request-Id`;
/** Headers of an answer of JSON, as lines that end with the name `X-Request-Id`. One call writes all of them. */
export type PreparedHead = string;
export type ReplyHeaders = HeaderList | PreparedHead | null;
const ASCII = /^[\t\x20-\x7e]*$/;
const USABLE_ID = new RegExp(`^[\\x21-\\x7e]{1,${REQUEST_ID_CHARS_MAX}}$`);

/** By status, built once. */
const STATUS_LINES: string[] = [];
for (const [status, text] of Object.entries(STATUS_CODES)) STATUS_LINES[Number(status)] = `${status} ${text}`;

/** X-Request-Id: the client's own if it is usable, else a new one that is unique across restarts and cheap to make. */
export class RequestIds {
  readonly #prefix = `${randomBytes(5).toString('hex')}-`;
  #count = 0;

  /** @param fromClient the header's value; empty if missing */
  next(fromClient: string): string {
    if (fromClient !== '' && USABLE_ID.test(fromClient)) return fromClient;
    return this.#prefix + (++this.#count).toString(36);
  }
}

/** For headers that are written many times. @returns the headers themselves if they must be encoded */
export function preparedHead(headers: HeaderList): PreparedHead | HeaderList {
  if (!headers.every(([, value]) => ASCII.test(value))) return headers;
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join('') + JSON_WITH_REQUEST_ID;
}

/**
 * Called corked.
 * @param contentType empty: none
 * @param edge headers of every answer
 * @param headers of this answer
 */
export function writeHead(
  res: HttpResponse,
  status: number,
  contentType: string,
  requestId: string,
  edge: HeaderList | null,
  headers: ReplyHeaders,
): void {
  if (status !== 200) res.writeStatus(STATUS_LINES[status] ?? `${status} Status`);
  if (typeof headers === 'string') {
    assert(contentType === JSON_TYPE, 'a prepared head is of JSON');
    res.writeHeader(headers, requestId);
  } else if (contentType === JSON_TYPE) res.writeHeader(JSON_WITH_REQUEST_ID, requestId);
  else {
    if (contentType !== '') res.writeHeader('Content-Type', contentType);
    res.writeHeader('X-Request-Id', requestId);
  }
  if (edge !== null) for (const [name, value] of edge) res.writeHeader(name, value);
  if (headers === null || typeof headers === 'string') return;
  // uWebSockets.js would write non-ASCII characters as UTF-8; headers are Latin-1.
  for (const [name, value] of headers) res.writeHeader(name, ASCII.test(value) ? value : Buffer.from(value, 'latin1'));
}

export function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}

/** The headers that a worker's answer adds; null: none, as in most answers. */
export function workerHeaders(meta: ResponseMeta): HeaderList | null {
  if (meta.t === undefined && meta.ra === undefined && meta.e === undefined) return meta.h ?? null;
  const {ra: retryAfterS = 0, h = [], t = '', e = ''} = meta;
  const headers = [...h];
  if (e !== '') headers.push(['ETag', e]);
  if (t !== '') headers.push(['Content-Type', t]);
  if (retryAfterS > 0) headers.push(['Retry-After', String(retryAfterS)]);
  return headers;
}
