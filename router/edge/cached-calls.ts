/** Under which name the answer to a call of a query function is cached (decision 0136). */
import type {Buffer} from 'node:buffer';
import type {Operation} from '../../shared/operations.ts';
import {CACHED_CALL_CHARS_MAX} from '../limits.ts';
import type {CacheName} from '../workers/answer-cache.ts';

/**
 * Everything of an anonymous call that determines its answer: the operation, the origin of its page, on which its
 * headers depend, and the bytes of its body. Different bytes of one call are different names.
 * @returns null: it is too long to be cached
 */
export function callName(operation: Operation, origin: string, body: Buffer): CacheName | null {
  if (origin.length + body.length > CACHED_CALL_CHARS_MAX) return null;
  return {table: null, id: `${operation} ${origin}\n${body.toString('latin1')}`};
}
