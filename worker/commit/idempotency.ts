/**
 * `Idempotency-Key`: a write that is sent again answers what it answered first and changes nothing. Key and 2xx reply are
 * stored in the write's own savepoint, so either both are there or neither. Writes run one after another: a second one that
 * arrives while the first is under way finds its reply.
 */
import {createHash} from 'node:crypto';
import {ServiceError} from '../../shared/errors.ts';
import {IDEMPOTENCY_EXPIRE_AT_ONCE, IDEMPOTENCY_KEEP_MS, IDEMPOTENCY_KEY_CHARS_MAX} from '../../shared/limits.ts';
import {checkedRowOf, rowChecksum} from '../storage/row-checksum.ts';
import type {KeptReply} from '../storage/statements.ts';
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

/** What the edge answered, which is what it answers again. */
type Answered = Pick<KeptReply, 'status' | 'body'>;

/** @throws op.conflict 409 when the key was used with another request */
export function once(writer: Writer, key: string, request: string, run: (writer: Writer) => Answered): Answered {
  const {statements} = writer;
  const expiredMs = writer.nowMs() - IDEMPOTENCY_KEEP_MS;
  const stored = statements.idempotent.get(key);
  if (stored !== undefined) checkedRowOf('idempotency', stored);
  if (stored !== undefined && stored.created_ms >= expiredMs) {
    if (stored.request === request) return {status: stored.status, body: stored.body};
    throw new ServiceError('op.conflict', 'this Idempotency-Key was used with another request in the last 24 hours');
  }
  const reply = run(writer);
  const {status, body} = reply;
  const nowMs = writer.nowMs();
  const checksum = rowChecksum('idempotency', {key, request, status, body, created_ms: nowMs});
  statements.insertIdempotent.run(key, request, status, body, nowMs, checksum);
  statements.expireIdempotent.run(expiredMs, IDEMPOTENCY_EXPIRE_AT_ONCE);
  return reply;
}
