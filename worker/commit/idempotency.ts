/**
 * `Idempotency-Key`: a write that is sent again answers what it answered first and changes nothing. Key and answer are
 * stored in the write's own savepoint, so either both are there or neither. Writes run one after another: a second one that
 * arrives while the first is under way finds its answer.
 */
import {createHash} from 'node:crypto';
import {ServiceError} from '../../shared/errors.ts';
import {IDEMPOTENCY_EXPIRE_AT_ONCE, IDEMPOTENCY_KEEP_MS, IDEMPOTENCY_KEY_CHARS_MAX} from '../../shared/limits.ts';
import {checkedRowOf, rowChecksum} from '../storage/row-checksum.ts';
import type {Writer} from './writer.ts';

/** Other bytes of a header mean different text to different clients, and uWebSockets.js drops them at its ends. */
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/** @throws op.invalid_input 400 */
export function checkIdempotencyKey(key: string): void {
  if (key.length <= IDEMPOTENCY_KEY_CHARS_MAX && PRINTABLE_ASCII.test(key)) return;
  throw new ServiceError(
    'op.invalid_input',
    `an Idempotency-Key has 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters`,
  );
}

/** What makes two requests the same: operation, parameters and the body's bytes. */
export function requestDigest(op: string, params: readonly string[], body: Buffer): string {
  return createHash('sha256')
    .update(JSON.stringify([op, params]))
    .update('\n')
    .update(body)
    .digest('hex');
}

/** `request`: its digest. `status`: what a success of it is answered with, for whoever reads the file. */
export type OnceRequest = {readonly key: string; readonly request: string; readonly status: number};

/** @param run answers JSON, or nothing. @throws op.conflict 409 when the key was used with another request */
export function once(writer: Writer, {key, request, status}: OnceRequest, run: (writer: Writer) => string): string {
  const {statements} = writer;
  const expiredMs = writer.nowMs() - IDEMPOTENCY_KEEP_MS;
  const stored = statements.idempotent.get(key);
  if (stored !== undefined) checkedRowOf('idempotency', stored);
  if (stored !== undefined && stored.created_ms >= expiredMs) {
    if (stored.request === request) return stored.body;
    throw new ServiceError('op.conflict', 'this Idempotency-Key was used with another request in the last 24 hours');
  }
  const body = run(writer);
  const nowMs = writer.nowMs();
  const checksum = rowChecksum('idempotency', {key, request, status, body, created_ms: nowMs});
  statements.insertIdempotent.run(key, request, status, body, nowMs, checksum);
  statements.expireIdempotent.run(expiredMs, IDEMPOTENCY_EXPIRE_AT_ONCE);
  return body;
}
