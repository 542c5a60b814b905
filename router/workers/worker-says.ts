/**
 * Validates a worker's frames other than answers, because code of a tenant may have escaped its isolate. See
 * response-meta.ts for answers.
 */
import type {Buffer} from 'node:buffer';
import {type ErrorObject, isErrorObject, ServiceError} from '../../shared/errors.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {FRAME_META_BYTES_MAX} from '../../shared/limits.ts';

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
export function momentIn(meta: Buffer): {sequence: number; committedMs: number} {
  const [sequence = Number.NaN, committedMs = Number.NaN, ...more] = meta.toString('latin1').split(' ').map(Number);
  if (!Number.isSafeInteger(sequence) || sequence < 0 || !Number.isFinite(committedMs) || more.length > 0) {
    throw new MalformedFrame('the end of a batch without its moment');
  }
  return {sequence, committedMs};
}
