/** Under which name the answer to a call of a query function is cached (decision 0136). */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import type {Operation} from '../../shared/operations.ts';
import {CACHED_CALL_CHARS_MAX} from '../limits.ts';
import type {CacheName} from '../workers/answer-cache.ts';

/** Longer than the name of any operation with the space and the line break behind it. */
const OPERATION_CHARS_MAX = 64;
/**
 * The bytes of the last name. A name is made of bytes because a text that is concatenated must be copied once more
 * before it can be looked up. The part before the body is written only when it changes.
 */
const name = Buffer.allocUnsafeSlow(OPERATION_CHARS_MAX + CACHED_CALL_CHARS_MAX);
let headOperation = '';
let headOrigin = '';
let headBytes = 0;

/**
 * Everything of an anonymous call that determines its answer: the operation, the origin of its page, on which its
 * headers depend, and the bytes of its body. Different bytes of one call are different names.
 * @param origin Latin-1
 * @returns null: it is too long to be cached
 */
export function callName(operation: Operation, origin: string, body: Uint8Array): CacheName | null {
  if (origin.length + body.length > CACHED_CALL_CHARS_MAX) return null;
  if (operation !== headOperation || origin !== headOrigin) {
    headBytes = name.write(`${operation} ${origin}\n`, 'latin1');
    assert(headBytes === operation.length + origin.length + 2, 'the name of a call has room');
    headOperation = operation;
    headOrigin = origin;
  }
  name.set(body, headBytes);
  return {table: null, id: name.toString('latin1', 0, headBytes + body.length)};
}
