/** Answers that are given once a write is on disk. */

import {
  checkIdempotencyKey,
  type FirstReply,
  type OnceRequest,
  once,
  ownedKey,
  requestDigest,
} from '../../../engine/commit/idempotency.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import {type Operation, traitsOf} from '../../../shared/operations.ts';
import type {Request} from '../../ipc/decode.ts';
import {type Answer, Later} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';

/** The parts of any request that identify a repeated one. */
export type WriteRequest = Pick<Request, 'op' | 'key' | 'body'> &
  Partial<Pick<Request, 'keyOwner' | 'ifMatch' | 'ifNoneMatch'>> & {readonly params: Readonly<Record<string, string>>};

/**
 * Makes the change in the current tick's commit group; with an `Idempotency-Key` once, however often it is requested.
 * @param run returns JSON, or an empty text
 */
export function written(request: WriteRequest, {groups}: OpenTenant, run: (writer: Writer) => Answer): Later {
  const guarded = guardedByKey(request, run);
  return new Later(settle => {
    groups.submit<Answer>({run: guarded, settle});
    return undefined;
  });
}

/**
 * The change of a request. With an `Idempotency-Key` it is made once, and later requests get the same answer, but
 * without the ETag, because the document may have changed since. Conditions distinguish two requests in addition to the
 * body.
 */
export function guardedByKey<A extends Answer>(
  request: WriteRequest,
  run: (writer: Writer) => A,
): (writer: Writer) => A {
  const {op} = request;
  const known = onceRequestOf(request);
  if (known === null) return run;
  return writer => {
    let made: A | null = null;
    const first = once(writer, known, () => {
      made = run(writer);
      return replyOf(op, made);
    });
    return made ?? (answerOf(op, first) as A);
  };
}

/** Identifies a repeated request; null: it has no `Idempotency-Key`. @throws op.invalid_input 400 */
export function onceRequestOf(request: WriteRequest): OnceRequest | null {
  const {op, params, key, keyOwner = null, body, ifMatch = null, ifNoneMatch = null} = request;
  if (key === null) return null;
  checkIdempotencyKey(key);
  const conditions = ifMatch === null && ifNoneMatch === null ? [] : [ifMatch ?? '', ifNoneMatch ?? ''];
  return {key: ownedKey(key, keyOwner), request: requestDigest(op, [...Object.values(params), ...conditions], body)};
}

function replyOf(op: Operation, answer: Answer): FirstReply {
  const {success, variants} = traitsOf(op);
  if (typeof answer === 'string') return {status: success, body: answer};
  const {json, variant} = answer;
  return {status: variant === undefined ? success : variants![variant]!, body: json};
}

function answerOf(op: Operation, {status, body}: FirstReply): Answer {
  const variant = Object.entries(traitsOf(op).variants ?? {}).find(([, other]) => other === status)?.[0];
  return variant === undefined ? body : {json: body, variant};
}

/** Makes the change and answers with no content. */
export function done(change: (writer: Writer) => unknown): (writer: Writer) => string {
  return writer => {
    change(writer);
    return '';
  };
}

/** As `done`, for a change of more than one write. */
export async function doneAfter(change: Promise<void>): Promise<string> {
  await change;
  return '';
}
