/** What a handler answers with. None of it knows a link or a status: a socket's frame or a call from within can be answered as well. */
import type {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import type {ServiceError} from '../../../shared/errors.ts';
import type {HeaderList} from '../../../shared/ipc/operations.ts';
import type {AnswerOf, VariantOf} from '../../../shared/operation-types.ts';
import type {Operation} from '../../../shared/operations.ts';
import type {Request} from '../../ipc/decode.ts';
import type {OpenTenant} from './open-tenant.ts';

/**
 * JSON, empty where it is only said that it is done; of an operation that may end well in several ways with the way it did, and of
 * one document with its entity tag.
 */
export type Answer = string | {readonly json: string; readonly variant?: string; readonly etag?: string};

/** The answer of what has it as a value. */
export function json<O extends Operation>(value: AnswerOf<O>): string {
  return JSON.stringify(value);
}

/** The same of another kind of success. */
export function variant<O extends Operation, V extends string>(name: V, value: VariantOf<O, V>): Answer {
  return {variant: name, json: JSON.stringify(value)};
}

export type Outcome = Answer | Promise<Answer> | Later | Streamed;

/** Answers to one operation. @throws ServiceError */
export type Handler<O extends Operation> = (request: Request<O>, tenant: OpenTenant) => Outcome;
export type Handlers<O extends Operation = Operation> = {readonly [each in O]: Handler<each>};

/** JSON in UTF-8 that was made elsewhere is answered as it is; its bytes are taken over. */
export type Settle = (outcome: Answer | Buffer | ServiceError) => void;

/** Answered once something else has happened: a commit, a scan. Cheaper than a promise, of which each write would make one. */
export class Later {
  /** @returns what to do if nobody waits any more; it need not settle then. Nothing: it is done all the same. */
  readonly begin: (settle: Settle) => (() => void) | undefined;

  constructor(begin: (settle: Settle) => (() => void) | undefined) {
    this.begin = begin;
  }
}

/** Answered in pieces, or with headers of its own. Rejects with a ServiceError before it began. */
export class Streamed {
  readonly serve: (to: StreamTarget) => Promise<void> | undefined;

  constructor(serve: (to: StreamTarget) => Promise<void> | undefined) {
    this.serve = serve;
  }
}

export interface StreamTarget {
  /** With exactly these headers. */
  whole(headers: HeaderList, body: string | Buffer): void;
  /** With these headers and a body that is written later. */
  start(headers: HeaderList): OutgoingBody;
  /** With an app's own response: its status, its headers, and a body that is written later. */
  respond(status: number, headers: HeaderList): OutgoingBody;
  /** With JSON that is made while it is sent, or with text of the type that headers say. @throws session.overloaded 503 when too many are under way */
  pieces(make: () => Iterator<string, void, void>, headers?: HeaderList): void;
  fail(error: ServiceError): void;
}
