/**
 * The outcome types of handlers. They know no link and no status, so a socket frame or an internal call can be answered
 * as well.
 */
import type {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import type {ServiceError} from '../../../shared/errors.ts';
import type {HeaderList} from '../../../shared/ipc/operations.ts';
import type {AnswerOf, VariantOf} from '../../../shared/operation-types.ts';
import type {Operation} from '../../../shared/operations.ts';
import type {Request} from '../../ipc/decode.ts';
import type {OpenTenant} from './open-tenant.ts';

/**
 * JSON, empty if there is no result. An operation with several kinds of success adds its variant, and one that returns
 * a single document adds its entity tag.
 */
export type Answer = string | {readonly json: string; readonly variant?: string; readonly etag?: string};

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
