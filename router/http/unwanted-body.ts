/**
 * The rest of a request body whose answer has left. A connection that is closed while bytes wait on it is reset, and a reset
 * takes the answer away from a client that has not read it yet. So what still arrives is read and dropped, up to
 * DROPPED_BODY_BYTES_MAX and for DROPPED_BODY_MS, and the connection closes then.
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
    // Not at once: this is called while input is parsed, and what was written meanwhile leaves after that.
    if (isLast || this.#bytesLeft < 0) setImmediate(() => this.#close());
  }

  /** The connection is gone: the response must not be touched any more. */
  clientGone(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #close(): void {
    if (!this.#isClosed) this.#res.close(); // calls `clientGone`
  }
}
