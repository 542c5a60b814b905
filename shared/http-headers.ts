/**
 * Rules for HTTP headers that several modules share: which ones belong to one connection, which names and values are
 * valid, and which response headers an app can set.
 */
import type {HeaderList} from './ipc/operations.ts';
import {RESPONSE_HEADERS_BYTES_MAX, RESPONSE_HEADERS_MAX} from './limits.ts';

/** Headers of one connection, not of the message: they are forwarded in neither direction. Lower case. */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Printable, tabs, and the upper half of Latin-1. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export function isHeaderName(text: string): boolean {
  return NAME.test(text);
}

export function isHeaderValue(text: string): boolean {
  return VALUE.test(text);
}

export function isHeaderList(value: unknown): value is HeaderList {
  return Array.isArray(value) && value.every(isHeader);
}

function isHeader(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(text => typeof text === 'string');
}

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

/**
 * Why these response headers cannot be sent, as half a sentence; null: they can be sent. They come from an app's code,
 * for example of an HTTP action. The worker checks them before it sends them (a fault is the app's, a 500) and the
 * router before it writes them (a fault is the worker's, and closes its connection), because a line break in a header
 * could forge a response.
 */
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
