/**
 * A request on its way to a tenant's worker, as links and waiting queues see it. An exchange implements it; exactly one of
 * the answering methods is called in the end, and each does nothing when the client has gone meanwhile.
 */
import type {Buffer} from 'node:buffer';
import type {ServiceError} from '../../shared/errors.ts';
import type {UserCall} from '../../shared/ipc/control.ts';
import type {ResponseMeta} from '../../shared/ipc/operations.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';

export interface Forwarded {
  /** RequestMeta as JSON. */
  readonly meta: string;
  readonly body: Buffer;
  /** The body when it is sent in pieces while it arrives (`body` is empty then); null: `body` is all of it. */
  readonly upload: RequestUpload | null;
  readonly isRead: boolean;
  /** A short read (see shared/operations.ts): it cannot have ended its worker. */
  readonly isShort: boolean;
  /** Only a worker that runs code takes it (see shared/operations.ts). */
  readonly bringsCode: boolean;
  /** Its answer has no end of its own. */
  readonly isEndless: boolean;
  /** The tenant's code it runs; null: none. */
  readonly call: UserCall | null;
  /** The client has gone, or was refused meanwhile: nobody wants the answer. */
  readonly aborted: boolean;
  /** Something of the answer has left: it can only be cut. */
  readonly hasBegun: boolean;

  /** Who has it now: a tenant's waiting queue or a link. Set and cleared by them; told when the client goes. */
  holder: Holder | null;
  /** Told when it is answered, because it was under way when a worker ended; null: it was not. */
  suspectedBy: Suspicion | null;
  /** What it costs its worker in memory until it is answered, and when it was sent; set by the link. */
  bytes: number;
  sentMs: number;
  /** Its place in the link it was sent on; set by the link. */
  order: number;
  /** Socket path of the worker that was lost with it; null: none was. */
  lostWorker: string | null;
  /** When it first waited for a worker, or 0. */
  waitingSinceMs: number;

  /** The worker's socket has all of it: what is needed for nothing else may be let go. */
  sent(): void;
  /** The whole answer. `body` is only valid during the call unless it is large (see FrameReader). */
  answer(meta: ResponseMeta, body: Buffer): void;
  startStream(meta: ResponseMeta): void;
  streamPiece(piece: Buffer): void;
  /**
   * @param failed the rest will not come: the client must not take the answer for whole
   * @param why for a stream of events, which says it; null: its worker has ended
   */
  endStream(failed: boolean, why?: ServiceError | null): void;
  /** @param retryAfterS seconds for `Retry-After`; unless given, 1 with a 503 and none otherwise */
  fail(error: ServiceError, retryAfterS?: number): void;
}

/** Whoever suspects a call. */
export interface Suspicion {
  answered(call: UserCall): void;
}

export interface Holder {
  /** The client of this request has gone. */
  abandon(request: Forwarded): void;
  /** The client took this many streamed bytes. */
  credit(request: Forwarded, bytes: number): void;
}

/** Where the pieces of a request's body go. */
export interface UploadSink {
  /** The piece is taken over. */
  piece(piece: Buffer): void;
  /** @param failed the rest will not come */
  end(failed: boolean): void;
}

export interface RequestUpload {
  /** Some of it was handed to a worker, so it cannot go to another one. */
  readonly hasBegun: boolean;
  /** From now on pieces go to this worker, up to STREAM_WINDOW_BYTES beyond its credit. */
  attach(sink: UploadSink): void;
  /** The worker is gone before it was handed anything. */
  detach(): void;
  /** The worker took this many bytes. */
  credit(bytes: number): void;
  /** The rest is not wanted. */
  discard(): void;
  /** The client has gone: the worker is told that the rest will not come. */
  fail(): void;
}

/** What a request may cost in memory wherever it is held. */
export function heldBytes(request: Forwarded): number {
  return request.upload === null ? request.body.length : STREAM_WINDOW_BYTES;
}
