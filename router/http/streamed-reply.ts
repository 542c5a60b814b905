/**
 * A reply whose chunks come from a worker while it is sent (chunked encoding). The worker sends at most one window
 * beyond its credit. Credit is given only for bytes that the kernel took, which bounds the memory that a slow reader
 * costs.
 *
 * uWebSockets.js buffers what the kernel does not take and reports that, but never reports that its buffer is empty
 * again: only a write that is accepted completely proves it. So while the socket is blocked, chunks queue here, and
 * each time it becomes writable a small part of them is written as a probe. If nothing is queued then (a stream may be
 * silent for long), the next chunk is the probe. The worker still has window left when a write blocks, because chunks
 * are much smaller than the window.
 */

import type {HttpResponse} from 'uWebSockets.js';
import type {Buffer} from 'node:buffer';
import type {Backlog, BufferedBytes} from '../../shared/byte-accounts.ts';
import type {ServiceError} from '../../shared/errors.ts';
import {EventBoundary} from './event-boundary.ts';

const PROBE_BYTES = 1024;

export class StreamedReply {
  readonly #res: HttpResponse;
  readonly #onTaken: (bytes: number) => void;
  readonly #queue: Buffer[] = [];
  /** Bytes written that may still be in the buffer of uWebSockets.js. */
  #unprovenBytes = 0;
  #isBlocked = false;
  /** The socket is blocked, but became writable while nothing was queued. */
  #mayProbe = false;
  /** Null: the bytes are not counted. */
  readonly #backlog: Backlog | null;
  /** Set for a stream of our own events, which must not end without a reason; null: any other answer. */
  readonly #events: EventBoundary | null;
  #queuedBytes = 0;
  /** The part of the bytes not taken that a former worker sent, which the next one is not credited. */
  #formerBytes = 0;
  #isOver = false;

  /** @param ofAll buffered bytes of all endless answers */
  constructor(res: HttpResponse, onTaken: (bytes: number) => void, ofAll: BufferedBytes | null, isOwnEvents: boolean) {
    this.#res = res;
    this.#onTaken = onTaken;
    this.#events = isOwnEvents ? new EventBoundary() : null;
    this.#backlog = ofAll === null ? null : ofAll.open();
    res.onWritable(() => {
      if (this.#isBlocked) this.#res.cork(() => this.#probe());
      this.#poll();
      return true;
    });
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  get isOwnEvents(): boolean {
    return this.#events !== null;
  }

  /** The event that ends a stream that failed; null: there can be none. @param why null: the worker has ended */
  lastEvent(why: ServiceError | null): Buffer | null {
    return this.#events === null ? null : this.#events.last(why);
  }

  /** Another worker sends the rest. @returns the last event that was sent; null: this stream cannot continue */
  leaveWorker(): string | null {
    const after = this.#events?.continuesAfter ?? null;
    if (after !== null) this.#formerBytes = this.#unprovenBytes + this.#queuedBytes;
    return after;
  }

  /** The chunk is only valid during the call: it is copied if it has to wait. */
  write(chunk: Buffer): void {
    this.#events?.passed(chunk);
    if (this.#isBlocked && !this.#mayProbe) {
      this.#queue.push(Uint8Array.prototype.slice.call(chunk) as Buffer);
      this.#queuedBytes += chunk.length;
    } else this.#res.cork(() => this.#put(chunk));
    this.#poll();
  }

  /** Whether more is buffered for the reader than its share allows. */
  get buffersTooMuch(): boolean {
    return this.#backlog?.isTooMuch === true;
  }

  /** The answer has ended, or its reader has disconnected. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#backlog?.close();
  }

  #poll(): void {
    if (this.#backlog === null || this.#isOver) return;
    this.#backlog.measured(this.#isBlocked ? this.#unprovenBytes + this.#queuedBytes : 0);
  }

  /** No more chunks follow. Queued bytes, less than the window, are left to uWebSockets.js. */
  end(): void {
    this.#res.cork(() => {
      for (const chunk of this.#queue) this.#res.write(chunk);
      this.#res.end();
    });
  }

  #probe(): void {
    const first = this.#queue.shift();
    if (first === undefined) {
      this.#mayProbe = true;
      return;
    }
    if (first.length > PROBE_BYTES) this.#queue.unshift(first.subarray(PROBE_BYTES));
    this.#putQueued(first.subarray(0, PROBE_BYTES));
    while (!this.#isBlocked) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#putQueued(next);
    }
  }

  #putQueued(chunk: Buffer): void {
    this.#queuedBytes -= chunk.length;
    this.#put(chunk);
  }

  #put(chunk: Buffer): void {
    this.#mayProbe = false;
    this.#unprovenBytes += chunk.length;
    this.#isBlocked = !this.#res.write(chunk);
    if (this.#isBlocked) return;
    const taken = this.#unprovenBytes;
    this.#unprovenBytes = 0;
    const former = Math.min(taken, this.#formerBytes);
    this.#formerBytes -= former;
    if (taken > former) this.#onTaken(taken - former);
  }
}
