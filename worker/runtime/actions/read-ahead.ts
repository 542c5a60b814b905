/**
 * The body of an answer of `fetch`, read a little ahead of the action: a short one is here at once and its connection free
 * again even if nobody reads it; behind a long one the sender waits.
 */
import {Buffer} from 'node:buffer';
import {FETCH_READ_AHEAD_BYTES} from '../limits.ts';

export class ReadAhead {
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #state: 'reading' | 'ended' | 'failed' = 'reading';
  #failure: unknown = null;
  #changed = Promise.withResolvers<void>();
  readonly #onEnd: () => void;

  /** @param onEnd the source has nothing more, or failed */
  constructor(source: AsyncIterable<Uint8Array>, onEnd: () => void) {
    this.#onEnd = onEnd;
    void this.#read(source);
  }

  /** All that is here, as one piece, or the next one; null at the end. One caller at a time. @throws what the source threw */
  async next(): Promise<Uint8Array | null> {
    while (this.#bytes === 0) {
      if (this.#state === 'failed') throw this.#failure;
      if (this.#state === 'ended') return null;
      await this.#changed.promise;
    }
    const piece = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
    this.#change();
    return piece;
  }

  async #read(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of source) {
        this.#pieces.push(piece);
        this.#bytes += piece.byteLength;
        this.#change();
        while (this.#bytes > FETCH_READ_AHEAD_BYTES) await this.#changed.promise;
      }
      this.#state = 'ended';
    } catch (failure) {
      this.#state = 'failed';
      this.#failure = failure;
    }
    this.#onEnd();
    this.#change();
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
