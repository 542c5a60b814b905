/**
 * What links to workers and their users know of each other: a request on its way, as links and waiting queues see it,
 * and the receivers of what a worker sends unasked.
 *
 * An exchange implements a request. Exactly one of the answering methods is called in the end, and each does nothing if
 * the client has disconnected.
 */
import type {Buffer} from 'node:buffer';
import type {ErrorObject, ServiceError} from '../../shared/errors.ts';
import type {UserCall, WorkerName} from '../../shared/ipc/control.ts';
import type {ResponseMeta} from '../../shared/ipc/operations.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import type {AnswerCache, CacheName} from './answer-cache.ts';
import type {PipeReceiver} from './link-sockets.ts';

export interface Forwarded {
  /** RequestMeta as JSON. */
  readonly meta: string;
  readonly body: Buffer;
  /** The body, if it is streamed (`body` is empty then); null: `body` is complete. */
  readonly upload: RequestUpload | null;
  readonly isRead: boolean;
  /** A short read (see shared/operations.ts), which cannot have crashed its worker. */
  readonly isShort: boolean;
  /** Only a worker that runs code can take it (see shared/operations.ts). */
  readonly bringsCode: boolean;
  /** Its answer is endless. */
  readonly isEndless: boolean;
  /** The call of the tenant's code; null: none. */
  readonly call: UserCall | null;
  /** Its answer can be cached under this name; null: it is not to be cached. */
  readonly cacheAs: CacheName | null;
  /** The client has disconnected or was refused, so the answer is dropped. */
  readonly aborted: boolean;
  /** Part of the answer has been sent, so it can only be cut. */
  readonly hasBegun: boolean;

  /**
   * The queue or link that has it now, which sets and clears this field and is notified when the client disconnects.
   */
  holder: Holder | null;
  /** Notified when the request is answered, because it was under way when a worker crashed; null: it was not. */
  suspectedBy: Suspicion | null;
  /** Its memory cost in the worker until it is answered, and when it was sent; set by the link. */
  bytes: number;
  sentMs: number;
  /** Its position in the link it was sent on; set by the link. */
  order: number;
  /** Socket path of the worker that was lost while it had this request; null: none. */
  lostWorker: WorkerName | null;
  /** When it first waited for a worker, or 0. */
  waitingSinceMs: number;

  /** The worker's socket has all of it: data that is needed for nothing else can be released. */
  sent(): void;
  /** The complete answer. `body` is only valid during the call unless it is large (see FrameReader). */
  answer(meta: ResponseMeta, body: Buffer): void;
  startStream(meta: ResponseMeta): void;
  streamChunk(chunk: Buffer): void;
  /**
   * @param failed the answer is incomplete, which must be visible to the client
   * @param why the reason, which a stream of events states; null: its worker has ended
   */
  endStream(failed: boolean, why?: ServiceError | null): void;
  /**
   * The tenant moves to another worker while this endless answer is being sent. If the answer can continue there, the
   * request asks for the rest from now on, and takes another `startStream`.
   */
  continues(): boolean;
  /** @param retryAfterS seconds for `Retry-After`; if not given, 1 for a 503 and none otherwise */
  fail(error: ServiceError, retryAfterS?: number): void;
}

/** The memory that a request can cost wherever it is held. */
export function reservedBytes(request: Forwarded): number {
  return request.upload === null ? request.body.length : STREAM_WINDOW_BYTES;
}

/** Notified of the answers to suspected calls. */
export interface Suspicion {
  answered(call: UserCall): void;
}

export interface Holder {
  /** The client of this request has disconnected. */
  abandon(request: Forwarded): void;
  /** The client took this many streamed bytes. */
  credit(request: Forwarded, bytes: number): void;
}

/** Receives the chunks of a request's body. */
export interface UploadSink {
  /** Takes ownership of the chunk. */
  chunk(chunk: Buffer): void;
  /** @param failed the rest will not arrive */
  end(failed: boolean): void;
}

export interface RequestUpload {
  /** Part of it was sent to a worker, so it cannot be sent to another one. */
  readonly hasBegun: boolean;
  /** From now on chunks go to this worker, up to STREAM_WINDOW_BYTES beyond its credit. */
  attach(sink: UploadSink): void;
  /** The worker ended before anything was sent to it. */
  detach(): void;
  /** The worker took this many bytes. */
  credit(bytes: number): void;
  /** The rest is not wanted. */
  discard(): void;
  /** The client has disconnected: notifies the worker that the rest will not arrive. */
  fail(): void;
}

/** Receives results of live queries. */
export interface LiveReceiver {
  result(stream: number, data: Buffer): void;
  failed(stream: number, error: ErrorObject): void;
  /** The result is stale until the next one arrives, so new subscribers must not get it. */
  behind(stream: number): void;
  /** All results up to now include every write that was answered before the fence was requested. */
  fenced(stream: number): void;
  /** @returns subscriptions of clients that share the live query */
  subscriptions(stream: number): number;
  /** The results since the last end belong to one version. @param committedMs epoch milliseconds, with fractions */
  endBatch(sequence: number, committedMs: number): void;
}

export type Receivers = {live: LiveReceiver; pipes: PipeReceiver; cache: AnswerCache};

/** The worker at the other end of a link, on whichever host it is. */
export type LinkedWorker = {
  readonly tenant: string;
  readonly worker: WorkerName;
  readonly runsCode: boolean;
};

/** Receives what the process that watches over the worker has to know. */
export type LinkReports = {
  malformed: (why: string) => void;
  /** The link is gone, with these calls under way. */
  lost: (calls: UserCall[]) => void;
  /** A suspected call was answered. */
  answered: (key: string) => void;
};

/** Counts requests of a tenant. */
export interface TrafficCounter {
  /** @param ms null: an endless answer, whose time means nothing */
  counted(status: number, ms: number | null, bytesIn: number, bytesOut: number): void;
}
