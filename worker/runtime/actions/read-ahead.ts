/**
 * The body of a `fetch` response, read slightly ahead of the action. A short body arrives at once and frees its
 * connection even if it is never read; with a long one, the sender waits.
 */
import {Buffer} from 'node:buffer';
import {FETCH_READ_AHEAD_BYTES} from '../limits.ts';

export class ReadAhead {
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #state: 'reading' | 'ended' | 'failed' = 'reading';
  #failure: unknown = null;
  #changed = Promise.withResolvers<void>();
  readonly #onEnd: () => void;

  /** @param onEnd the source has ended or failed */
  constructor(source: AsyncIterable<Uint8Array>, onEnd: () => void) {
    this.#onEnd = onEnd;
    void this.#read(source);
  }

  /**
   * Everything buffered, as one chunk, or the next chunk; null at the end. One caller at a time. @throws the source's
   * error
   */
  async next(): Promise<Uint8Array | null> {
    while (this.#bytes === 0) {
      if (this.#state === 'failed') throw this.#failure;
      if (this.#state === 'ended') return null;
      await this.#changed.promise;
    }
    const chunk = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    this.#bytes = 0;
    this.#change();
    return chunk;
  }

  async #read(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of source) {
        this.#chunks.push(chunk);
        this.#bytes += chunk.byteLength;
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
