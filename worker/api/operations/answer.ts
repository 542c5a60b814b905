/**
 * The outcome types of handlers, and answers that are given once a write is on disk. The types know no link and no
 * status, so a socket frame or an internal call can be answered as well.
 */

import type {Buffer} from 'node:buffer';
import {
  checkIdempotencyKey,
  type FirstReply,
  type OnceRequest,
  once,
  ownedKey,
  requestDigest,
} from '../../../engine/commit/idempotency.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import type {ServiceError} from '../../../shared/errors.ts';
import type {HeaderList} from '../../../shared/ipc/operations.ts';
import type {AnswerOf, VariantOf} from '../../../shared/operation-types.ts';
import {type Operation, traitsOf} from '../../../shared/operations.ts';
import {causeOf, type Request} from '../../ipc/decode.ts';
import type {KeptResult} from '../../ipc/shared-results.ts';
import type {OpenTenant} from './open-tenant.ts';

/**
 * JSON, empty if there is no result. An operation with several kinds of success adds its variant, one that returns a
 * single document its entity tag, and one whose whole result is a stored document the number of that. `kept`: the
 * result of a query function that routers may cache.
 */
export type Answer =
  | string
  | {
      readonly json: string;
      readonly variant?: string;
      readonly etag?: string;
      readonly doc?: number;
      readonly kept?: KeptResult;
    };

/** Serialises an answer. */
export function json<O extends Operation>(value: AnswerOf<O>): string {
  return JSON.stringify(value);
}

/** Serialises an answer of another kind of success. */
export function variant<O extends Operation, V extends string>(name: V, value: VariantOf<O, V>): Answer {
  return {variant: name, json: JSON.stringify(value)};
}

export type Outcome = Answer | Promise<Answer> | Later | Streamed;

/** Handles one operation. @throws ServiceError */
export type Handler<O extends Operation> = (request: Request<O>, tenant: OpenTenant) => Outcome;
export type Handlers<O extends Operation = Operation> = {readonly [each in O]: Handler<each>};

/**
 * Delivers an outcome. A Buffer is JSON in UTF-8 that was made elsewhere; it is sent as it is, and ownership passes to
 * the callee.
 */
export type Settle = (outcome: Answer | Buffer | ServiceError) => void;

/** An answer after another event: a commit, a scan. Cheaper than a promise per write. */
export class Later {
  /**
   * @returns a function that gives up when the caller is gone, after which settling is optional. Undefined: the work is
   *   completed anyway.
   */
  readonly begin: (settle: Settle) => (() => void) | undefined;

  constructor(begin: (settle: Settle) => (() => void) | undefined) {
    this.begin = begin;
  }
}

/** A streamed answer, or one with headers of its own. Rejects with a ServiceError before it has begun. */
export class Streamed {
  readonly serve: (to: StreamTarget) => Promise<void> | undefined;

  constructor(serve: (to: StreamTarget) => Promise<void> | undefined) {
    this.serve = serve;
  }
}

export interface StreamTarget {
  /** Responds with exactly these headers. */
  whole(headers: HeaderList, body: string | Buffer): void;
  /** Responds with these headers and a body that is written later. */
  start(headers: HeaderList): OutgoingBody;
  /** Responds with an app's own status, headers, and a body that is written later. */
  respond(status: number, headers: HeaderList): OutgoingBody;
  /**
   * Responds with a body that is generated while it is sent, JSON unless headers say otherwise.
   * @throws session.overloaded 503 when too many are under way
   */
  chunks(make: () => Iterator<string, void, void>, headers?: HeaderList): void;
  fail(error: ServiceError): void;
}

/** Answers a read from one snapshot. */
export function read<O extends Operation>(answer: Handler<O>): Handler<O> {
  return (request, tenant) => {
    tenant.reader.inSnapshot();
    return answer(request, tenant);
  };
}

/* ── writes ── */

/** The parts of any request that identify a repeated one. */
export type WriteRequest = Pick<Request, 'op' | 'key' | 'body'> &
  Partial<Pick<Request, 'keyOwner' | 'ifMatch' | 'ifNoneMatch' | 'requestId' | 'keyId' | 'sessionId'>> & {
    readonly params: Readonly<Record<string, string>>;
  };

/**
 * Makes the change in the current tick's commit group; with an `Idempotency-Key` once, however often it is requested.
 * @param run returns JSON, or an empty text
 * @param checksFirst `run` throws only before its first change
 */
export function written(
  request: WriteRequest,
  {groups}: OpenTenant,
  run: (writer: Writer) => Answer,
  checksFirst = false,
): Later {
  const guarded = guardedByKey(request, run);
  return new Later(settle => {
    groups.submit<Answer>({
      run: guarded,
      checksFirst: checksFirst && guarded === run,
      cause: causeOf(request),
      answersClient: true,
      settle,
    });
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

/** Handles a request whose only effect is this change. */
export function change<O extends Operation>(
  change: (writer: Writer, params: Request<O>['params']) => unknown,
): Handler<O> {
  return (request, tenant) =>
    written(
      request,
      tenant,
      done(writer => change(writer, request.params)),
    );
}

/** As `done`, for a change of more than one write. */
export async function doneAfter(change: Promise<void>): Promise<string> {
  await change;
  return '';
}
