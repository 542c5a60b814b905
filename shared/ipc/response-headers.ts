/**
 * Response headers that a worker chooses, for HTTP actions for instance. They come from an app's code, so the worker looks at
 * them before it sends them (a fault is the app's, a 500) and the router before it writes them (a fault is the worker's, which
 * costs the connection): a line break in one could forge a response.
 */
import {HOP_BY_HOP, isHeaderName, isHeaderValue} from '../http-headers.ts';
import {RESPONSE_HEADERS_BYTES_MAX, RESPONSE_HEADERS_MAX} from '../limits.ts';
import type {HeaderList} from './operations.ts';

/**
 * What an app's values are left out of: what frames the message or is the router's own, and what speaks for the whole web
 * origin, which all tenants of a server share (decision 0015).
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

/** The headers that are an app's to choose. */
export function appHeaders(headers: HeaderList): HeaderList {
  return headers.filter(([name]) => !NOT_THE_APPS.has(name.toLowerCase()));
}

/** Why these headers cannot be sent, as half a sentence; null: they can. */
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
