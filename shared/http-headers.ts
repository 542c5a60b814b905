/**
 * Rules for HTTP headers that several modules share: which ones belong to one connection, and which names and values
 * are valid.
 */
import type {HeaderList} from './ipc/operations.ts';

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
