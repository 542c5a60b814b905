/**
 * A reply whose pieces come from a worker while it is sent (chunked encoding). The worker sends at most a window beyond what
 * is credited, so crediting only what the kernel took bounds the memory that a slow reader costs.
 *
 * uWebSockets.js buffers what the kernel does not take and says so, but never says when its buffer is empty again: only a
 * write that is accepted whole proves that. So while it is blocked pieces queue here, and each time the socket becomes
 * writable a small part of them is written as a probe. If nothing waits then (a stream may be silent for long), the next
 * piece is the probe: the worker still has window left when a write blocks, because pieces are much smaller than it.
 */

import type {HttpResponse} from 'uWebSockets.js';
import type {Buffer} from 'node:buffer';
import type {OwedBytes} from '../../shared/owed-bytes.ts';

const PROBE_BYTES = 1024;

export class StreamedReply {
  readonly #res: HttpResponse;
  readonly #onTaken: (bytes: number) => void;
  readonly #queue: Buffer[] = [];
  /** Written, but perhaps still in the buffer of uWebSockets.js. */
  #unprovenBytes = 0;
  #isBlocked = false;
  /** It is blocked, but became writable when there was nothing to write. */
  #mayProbe = false;
  /** Null: nobody counts it. */
  readonly #ofAll: OwedBytes | null;
  #queuedBytes = 0;
  /** Of `#ofAll`, as it was last looked at. */
  #owedBytes = 0;
  #isOver = false;

  /** @param ofAll what all are owed, of those whose answers have no end */
  constructor(res: HttpResponse, onTaken: (bytes: number) => void, ofAll: OwedBytes | null) {
    this.#res = res;
    this.#onTaken = onTaken;
    this.#ofAll = ofAll;
    ofAll?.opened();
    res.onWritable(() => {
      if (this.#isBlocked) this.#res.cork(() => this.#probe());
      this.#look();
      return true;
    });
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** The piece is only borrowed: it is copied if it has to wait. */
  write(piece: Buffer): void {
    if (this.#isBlocked && !this.#mayProbe) {
      this.#queue.push(Uint8Array.prototype.slice.call(piece) as Buffer);
      this.#queuedBytes += piece.length;
    } else this.#res.cork(() => this.#put(piece));
    this.#look();
  }

  /** It is owed more than there is for it. */
  get owesTooMuch(): boolean {
    return this.#ofAll?.isTooMuch(this.#owedBytes) === true;
  }

  /** The answer has ended, or its reader has gone. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ofAll?.closed(this.#owedBytes);
  }

  #look(): void {
    if (this.#ofAll === null || this.#isOver) return;
    const bytes = this.#isBlocked ? this.#unprovenBytes + this.#queuedBytes : 0;
    if (bytes === this.#owedBytes) return;
    this.#ofAll.changed(bytes - this.#owedBytes);
    this.#owedBytes = bytes;
  }

  /** No more pieces. What waits is left to uWebSockets.js; it is less than the window. */
  end(): void {
    this.#res.cork(() => {
      for (const piece of this.#queue) this.#res.write(piece);
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

  #putQueued(piece: Buffer): void {
    this.#queuedBytes -= piece.length;
    this.#put(piece);
  }

  #put(piece: Buffer): void {
    this.#mayProbe = false;
    this.#unprovenBytes += piece.length;
    this.#isBlocked = !this.#res.write(piece);
    if (this.#isBlocked) return;
    const taken = this.#unprovenBytes;
    this.#unprovenBytes = 0;
    this.#onTaken(taken);
  }
}
