/**
 * Checks the response headers that a worker chooses, for example for HTTP actions. They come from an app's code. The
 * worker therefore checks them before it sends them (a fault is the app's, a 500) and the router before it writes them
 * (a fault is the worker's, and closes its connection), because a line break in a header could forge a response.
 */
import {HOP_BY_HOP, isHeaderName, isHeaderValue} from '../http-headers.ts';
import {RESPONSE_HEADERS_BYTES_MAX, RESPONSE_HEADERS_MAX} from '../limits.ts';
import type {HeaderList} from './operations.ts';

/**
 * Headers that apps cannot set: those that frame the message or belong to the router, and those that apply to the whole
 * web origin, which all tenants of a server share (decision 0015).
 */
const NOT_THE_APPS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'alt-svc',
  'clear-site-data',
  'content-length',
  'expect-ct',
  'nel',
  'public-key-pins',
  'report-to',
  'service-worker-allowed',
  'strict-transport-security',
  'x-request-id',
]);

/** The headers that an app can set. */
export function appHeaders(headers: HeaderList): HeaderList {
  return headers.filter(([name]) => !NOT_THE_APPS.has(name.toLowerCase()));
}

/** Why these headers cannot be sent, as half a sentence; null: they can be sent. */
export function headersFault(headers: HeaderList): string | null {
  if (headers.length > RESPONSE_HEADERS_MAX) return `there are more than ${RESPONSE_HEADERS_MAX} headers`;
  let bytes = 0;
  for (const [name, value] of headers) {
    if (!isHeaderName(name)) return `${JSON.stringify(name)} is not a header name`;
    if (NOT_THE_APPS.has(name.toLowerCase())) return `the header ${name} is not the app's to set`;
    if (!isHeaderValue(value)) return `the value of the header ${name} has characters that headers cannot have`;
    bytes += name.length + value.length;
  }
  return bytes > RESPONSE_HEADERS_BYTES_MAX ? `the headers are longer than ${RESPONSE_HEADERS_BYTES_MAX} bytes` : null;
}
