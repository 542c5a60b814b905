/**
 * `Idempotency-Key`: a repeated write returns its first response and changes nothing. Key and response are stored in
 * the write's own savepoint, so both are stored or neither is. Writes run one after another, so a repetition that
 * arrives while the first is running finds its response.
 */
import {createHash} from 'node:crypto';
import {conflict, invalid} from '../../shared/errors.ts';
import {IDEMPOTENCY_KEY_CHARS_MAX} from '../../shared/limits.ts';
import {IDEMPOTENCY_EXPIRE_AT_ONCE, IDEMPOTENCY_KEEP_MS} from '../limits.ts';
import {checkedRowOf, rowChecksum} from '../storage/row-checksum.ts';
import type {Writer} from './writer.ts';

/** Other bytes of a header mean different text to different clients, and uWebSockets.js drops them at both ends. */
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/** @throws op.invalid_input 400 */
export function checkIdempotencyKey(key: string): void {
  if (key.length <= IDEMPOTENCY_KEY_CHARS_MAX && PRINTABLE_ASCII.test(key)) return;
  throw invalid(`an Idempotency-Key has 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters`);
}

/**
 * The stored form of a key. Keys of different owners differ, and no key contains a line break.
 * @param owner the family of the API key that sent it; null: an admin credential
 */
export function ownedKey(key: string, owner: string | null): string {
  return `${owner ?? ''}\n${key}`;
}

/** The stored form in versions without owners. Such rows match every owner until they expire. */
function unownedKey(key: string): string {
  return key.slice(key.indexOf('\n') + 1);
}

/** Identifies a request: operation, parameters and the body's bytes. */
export function requestDigest(op: string, params: readonly string[], body: Buffer): string {
  return createHash('sha256')
    .update(JSON.stringify([op, params]))
    .update('\n')
    .update(body)
    .digest('hex');
}

/** `key`: with its owner. `request`: digest of the request. */
export type OnceRequest = {readonly key: string; readonly request: string};
/** The HTTP status, and JSON or nothing. */
export type FirstReply = {readonly status: number; readonly body: string};

/** @throws op.conflict 409 when the key was used with another request */
export function once(writer: Writer, request: OnceRequest, run: () => FirstReply): FirstReply {
  const first = firstReply(writer, request);
  if (first !== null) return first;
  const reply = run();
  keepReply(writer, request, reply);
  return reply;
}

/** The response to the first request; null: this is the first. @throws op.conflict 409 */
export function firstReply(writer: Writer, {key, request}: OnceRequest): FirstReply | null {
  const {idempotent} = writer.statements;
  const stored = idempotent.get(key) ?? idempotent.get(unownedKey(key));
  if (stored === undefined) return null;
  checkedRowOf('idempotency', stored);
  if (stored.created_ms < writer.ageMs - IDEMPOTENCY_KEEP_MS) return null;
  if (stored.request === request) return stored;
  throw conflict('this Idempotency-Key was used with another request in the last 24 hours');
}

/** Call it in the same write that the response belongs to. */
export function keepReply(writer: Writer, {key, request}: OnceRequest, {status, body}: FirstReply): void {
  const {statements} = writer;
  const nowMs = writer.nowMs();
  const checksum = rowChecksum('idempotency', {key, request, status, body, created_ms: nowMs});
  statements.insertIdempotent.run(key, request, status, body, nowMs, checksum);
  statements.expireIdempotent.run(writer.ageMs - IDEMPOTENCY_KEEP_MS, IDEMPOTENCY_EXPIRE_AT_ONCE);
}
