/**
 * Decodes the metadata of a `response` frame. Empty metadata means a plain 200, the most frequent case. The content is
 * validated, because it comes from a worker.
 */
import {Buffer} from 'node:buffer';
import {RETRY_AFTER_S_MAX} from '../../shared/errors.ts';
import {isHeaderList} from '../../shared/http-headers.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {ResponseMeta} from '../../shared/ipc/operations.ts';
import {headersFault} from '../../shared/ipc/response-headers.ts';

const PLAIN: ResponseMeta = {s: 200};
/** Longer metadata is rarely repeated, so it is not cached. */
const KEPT_BYTES_MAX = 512;

/**
 * The last metadata with headers, cached because function calls all have the same. It is validated and never changed.
 */
let kept: {bytes: Buffer; meta: ResponseMeta} | null = null;

/** @returns a shared object that must not be changed. @throws MalformedFrame */
export function parseResponseMeta(meta: Buffer): ResponseMeta {
  if (meta.length === 0) return PLAIN;
  if (meta[0] === QUOTE) return {s: 200, e: checkedTag(meta.toString('latin1'))};
  if (kept !== null && meta.equals(kept.bytes)) return kept.meta;
  const parsed = checked(meta);
  if (parsed.h !== undefined && meta.length <= KEPT_BYTES_MAX) kept = {bytes: Buffer.from(meta), meta: parsed};
  return parsed;
}

const QUOTE = 0x22;
/** The numeric tags that workers produce, a subset of RFC 9110. */
const TAG = /^"[0-9.-]{1,100}"$/;

function checkedTag(tag: string): string {
  if (!TAG.test(tag)) throw new MalformedFrame('response meta with an entity tag that is none');
  return tag;
}

function checked(meta: Buffer): ResponseMeta {
  let parsed: unknown;
  try {
    parsed = JSON.parse(meta.toString('utf8'));
  } catch (cause) {
    throw new MalformedFrame('response meta is not JSON', {cause});
  }
  const {s, ra, e, h = [], t = ''} = (parsed ?? {}) as Partial<ResponseMeta>;
  if (!isWithin(s, 200, 599)) throw new MalformedFrame('response meta without a status');
  if (ra !== undefined && !isWithin(ra, 0, RETRY_AFTER_S_MAX))
    throw new MalformedFrame('response meta with a bad Retry-After');
  if (e !== undefined) checkedTag(String(e));
  if (!isHeaderList(h) || typeof t !== 'string') throw new MalformedFrame('response meta with headers that are none');
  const fault = headersFault(t === '' ? h : [...h, ['Content-Type', t]]);
  if (fault !== null) throw new MalformedFrame(`response meta with headers that cannot be sent: ${fault}`);
  return parsed as ResponseMeta;
}

function isWithin(value: number | undefined, least: number, most: number): boolean {
  return Number.isInteger(value) && value! >= least && value! <= most;
}
