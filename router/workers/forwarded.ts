/**
 * A request on its way to a tenant's worker, as links and waiting queues see it. An exchange implements it; exactly one of
 * the answering methods is called in the end, and each does nothing when the client has gone meanwhile.
 */
import type {Buffer} from 'node:buffer';
import type {ServiceError} from '../../shared/errors.ts';

export interface Forwarded {
  /** RequestMeta as JSON. */
  readonly meta: string;
  readonly body: Buffer;
  readonly isRead: boolean;
  /** The client has gone: nobody wants the answer. */
  readonly aborted: boolean;

  /** Who has it now: a tenant's waiting queue or a link. Set and cleared by them; told when the client goes. */
  holder: Holder | null;
  /** Its place in the link it was sent on; set by the link. */
  order: number;
  /** Socket path of the worker that was lost with it; null: none was. */
  lostWorker: string | null;
  /** When it first waited for a worker, or 0. */
  waitingSinceMs: number;

  /** The whole answer. `body` is only valid during the call unless it is large (see FrameReader). */
  answer(status: number, retryAfterS: number, body: Buffer): void;
  startStream(status: number): void;
  streamPiece(piece: Buffer): void;
  /** @param failed the rest will not come: the client must not take the answer for whole */
  endStream(failed: boolean): void;
  /** @param retryAfterS seconds for `Retry-After`; unless given, 1 with a 503 and none otherwise */
  fail(error: ServiceError, retryAfterS?: number): void;
}

export interface Holder {
  /** The client of this request has gone. */
  abandon(request: Forwarded): void;
  /** The client took this many streamed bytes. */
  credit(request: Forwarded, bytes: number): void;
}
