/** Validates what a worker's frames say, because code of a tenant may have escaped its isolate. */
import {Buffer} from 'node:buffer';
import {type ErrorObject, isErrorObject, RETRY_AFTER_S_MAX, ServiceError} from '../../shared/errors.ts';
import {headersFault, isHeaderList} from '../../shared/http-headers.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {ResponseMeta} from '../../shared/ipc/operations.ts';
import {CALL_NAME_CHARS_MAX, FRAME_META_BYTES_MAX} from '../../shared/limits.ts';

/** Close codes of RFC 6455 that an endpoint may send. */
const CLOSE_CODE_MIN = 1000;
const CLOSE_CODE_MAX = 4999;

/** @throws MalformedFrame */
export function errorIn(bytes: Buffer): ErrorObject {
  if (bytes.length > FRAME_META_BYTES_MAX) throw new MalformedFrame(`an error of ${bytes.length} bytes`);
  let said: unknown;
  try {
    said = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new MalformedFrame('an error that is not JSON', {cause});
  }
  if (!isErrorObject(said)) throw new MalformedFrame('an error that is none of ours');
  return said;
}

/** @throws MalformedFrame */
export function serviceErrorIn(bytes: Buffer): ServiceError {
  const {code, message, detail} = errorIn(bytes);
  return new ServiceError(code, message, detail);
}

/** @returns null if there is no list. @throws MalformedFrame */
export function streamsIn(meta: Buffer): number[] | null {
  if (meta.length === 0) return null;
  const streams = meta.toString('latin1').split(' ').map(Number);
  if (!streams.every(Number.isSafeInteger)) throw new MalformedFrame('a list of streams that are no numbers');
  return streams;
}

/** @throws MalformedFrame */
export function bytesIn(meta: Buffer): number {
  const bytes = Number(meta.toString('latin1'));
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new MalformedFrame('it says no number of bytes');
  return bytes;
}

/** @throws MalformedFrame */
export function closeCodeIn(meta: Buffer): number {
  const code = bytesIn(meta);
  if (code < CLOSE_CODE_MIN || code > CLOSE_CODE_MAX) throw new MalformedFrame(`a close code of ${code}`);
  return code;
}

/** @returns the sequence, and the commit time in epoch milliseconds. @throws MalformedFrame */
export function versionIn(meta: Buffer): {sequence: number; committedMs: number} {
  const [sequence = Number.NaN, committedMs = Number.NaN, ...more] = meta.toString('latin1').split(' ').map(Number);
  if (!Number.isSafeInteger(sequence) || sequence < 0 || !Number.isFinite(committedMs) || more.length > 0) {
    throw new MalformedFrame('the end of a batch without its moment');
  }
  return {sequence, committedMs};
}

/* ── answers ── */

const QUOTE = 0x22;
/** The numeric tags that workers produce, a subset of RFC 9110. */
const TAG = /^"[0-9.-]{1,100}"$/;
const PLAIN: ResponseMeta = {s: 200};
/** Longer metadata is rarely repeated, so it is not cached. */
const KEPT_BYTES_MAX = 512;

/**
 * The last metadata with headers, cached because function calls all have the same. It is validated and never changed.
 */
let kept: {bytes: Buffer; meta: ResponseMeta} | null = null;

/**
 * Decodes the metadata of a `response` frame. Empty metadata means a plain 200, the most frequent case.
 * @returns a shared object that must not be changed. @throws MalformedFrame
 */
export function parseResponseMeta(meta: Buffer): ResponseMeta {
  if (meta.length === 0) return PLAIN;
  if (meta[0] === QUOTE) return {s: 200, e: checkedTag(meta.toString('latin1'))};
  if (kept !== null && meta.equals(kept.bytes)) return kept.meta;
  const parsed = checked(meta);
  if (parsed.h !== undefined && meta.length <= KEPT_BYTES_MAX) kept = {bytes: Buffer.from(meta), meta: parsed};
  return parsed;
}

/** A list of one tag is none, although it becomes the same text. */
function checkedTag(tag: unknown): string {
  if (typeof tag !== 'string' || !TAG.test(tag))
    throw new MalformedFrame('response meta with an entity tag that is none');
  return tag;
}

function checked(meta: Buffer): ResponseMeta {
  let parsed: unknown;
  try {
    parsed = JSON.parse(meta.toString('utf8'));
  } catch (cause) {
    throw new MalformedFrame('response meta is not JSON', {cause});
  }
  const {s, ra, e, h = [], t = '', c} = (parsed ?? {}) as Partial<ResponseMeta>;
  if (!isWithin(s, 200, 599)) throw new MalformedFrame('response meta without a status');
  if (ra !== undefined && !isWithin(ra, 0, RETRY_AFTER_S_MAX))
    throw new MalformedFrame('response meta with a bad Retry-After');
  if (e !== undefined) checkedTag(e);
  if (c !== undefined && !isResult(c)) throw new MalformedFrame('response meta with a result that is none');
  if (!isHeaderList(h) || typeof t !== 'string') throw new MalformedFrame('response meta with headers that are none');
  const fault = headersFault(t === '' ? h : [...h, ['Content-Type', t]]);
  if (fault !== null) throw new MalformedFrame(`response meta with headers that cannot be sent: ${fault}`);
  return parsed as ResponseMeta;
}

function isResult(given: unknown): boolean {
  if (!Array.isArray(given) || given.length !== 2) return false;
  const [number, name] = given as unknown[];
  const isNamed = typeof name === 'string' && name.length <= CALL_NAME_CHARS_MAX;
  return isNamed && Number.isSafeInteger(number) && (number as number) > 0;
}

function isWithin(value: number | undefined, least: number, most: number): boolean {
  return Number.isInteger(value) && value! >= least && value! <= most;
}
