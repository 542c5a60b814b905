/**
 * The rest of a request body that arrives after the answer was sent. Closing a connection with unread bytes resets it,
 * and a reset discards the answer if the client has not read it yet. So the rest is read and dropped, up to
 * DROPPED_BODY_BYTES_MAX and for DROPPED_BODY_MS, and then the connection closes.
 *
 *   dropping ──last byte | bound | time──▶ closed
 *       └──client gone──▶ closed
 */
import type {HttpResponse} from 'uWebSockets.js';
import {DROPPED_BODY_BYTES_MAX, DROPPED_BODY_MS} from '../limits.ts';

export class UnwantedBody {
  readonly #res: HttpResponse;
  readonly #timer: NodeJS.Timeout;
  #bytesLeft = DROPPED_BODY_BYTES_MAX;
  #isClosed = false;

  constructor(res: HttpResponse) {
    this.#res = res;
    this.#timer = setTimeout(() => this.#close(), DROPPED_BODY_MS);
  }

  arrived(bytes: number, isLast: boolean): void {
    this.#bytesLeft -= bytes;
    // Deferred, because this is called while input is parsed, and output written meanwhile leaves only after that.
    if (isLast || this.#bytesLeft < 0) setImmediate(() => this.#close());
  }

  /** The connection is gone: the response must not be used any more. */
  clientGone(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #close(): void {
    if (!this.#isClosed) this.#res.close(); // calls `clientGone`
  }
}
