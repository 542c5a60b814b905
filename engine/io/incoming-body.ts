/**
 * A request body that is read while it arrives in chunks. The router sends at most STREAM_WINDOW_BYTES beyond the bytes
 * taken here, so a reader that is slow, or never reads, costs that much memory at most.
 *
 *   arriving ──last chunk─▶ whole ──all taken──▶ done
 *      ├──client or router gone──▶ failed: reading throws
 *      └──cancel──▶ done: bytes that still arrive are dropped
 */
import {Buffer} from 'node:buffer';
import {ServiceError, tooLarge} from '../../shared/errors.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';

/** The connection's side of the body. */
export interface BodySource {
  /** These bytes no longer take memory: the router can send as many more. */
  taken(bytes: number): void;
  /** The reader does not need the remaining bytes. */
  cancelled(): void;
}

const NOWHERE: BodySource = {taken: () => undefined, cancelled: () => undefined};
/** A router can send a chunk while any credit is left, and its chunks are below this size. */
const OVERSHOOT_BYTES = STREAM_WINDOW_BYTES;

export class IncomingBody {
  readonly #source: BodySource;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #state: 'arriving' | 'whole' | 'failed' | 'cancelled' = 'arriving';
  #wake: (() => void) | null = null;
  #onArrived: (() => void) | null = null;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** A body that has already arrived. The bytes are copied. */
  static whole(body: Buffer): IncomingBody {
    const incoming = new IncomingBody(NOWHERE);
    if (body.length > 0) incoming.#chunks.push(Buffer.from(body));
    incoming.finish(false);
    return incoming;
  }

  get isArriving(): boolean {
    return this.#state === 'arriving';
  }

  /** Calls back when no more bytes of an arriving body will come, for any reason. */
  whenArrived(callback: () => void): void {
    this.#onArrived = callback;
  }

  /** For the connection. @throws MalformedFrame when the router sends beyond the window */
  push(chunk: Buffer): void {
    if (this.#state !== 'arriving' || chunk.length === 0) return;
    this.#bufferedBytes += chunk.length;
    if (this.#bufferedBytes > STREAM_WINDOW_BYTES + OVERSHOOT_BYTES) {
      throw new MalformedFrame('a request body came faster than it was taken');
    }
    this.#chunks.push(Buffer.from(chunk));
    this.#wakeReader();
  }

  /** For the connection. @param failed the remaining bytes will not come */
  finish(failed: boolean): void {
    if (this.#state !== 'arriving') return;
    this.#state = failed ? 'failed' : 'whole';
    this.#onArrived?.();
    if (failed) this.#chunks = [];
    this.#wakeReader();
  }

  /**
   * The next chunk; null at the end. One reader at a time. @throws op.failed when the client disconnected before the
   * end
   */
  async next(): Promise<Buffer | null> {
    while (true) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#bufferedBytes -= chunk.length;
        if (this.#state === 'arriving') this.#source.taken(chunk.length);
        return chunk;
      }
      if (this.#state === 'failed') throw new ServiceError('op.failed', 'the client went before its body was whole');
      if (this.#state !== 'arriving') return null;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  async *chunks(): AsyncGenerator<Buffer, void, void> {
    try {
      for (let chunk = await this.next(); chunk !== null; chunk = await this.next()) yield chunk;
    } finally {
      this.cancel();
    }
  }

  /**
   * The whole body. @throws op.too_large 413 beyond `bytesMax`, op.failed when the client disconnected before the end
   */
  async collect(bytesMax: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of this.chunks()) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(`the body is longer than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  }

  /** The reader does not need the remaining bytes. A waiting reader gets the end. */
  cancel(): void {
    const wasArriving = this.#state === 'arriving';
    if (this.#state !== 'failed') this.#state = 'cancelled';
    this.#chunks = [];
    this.#bufferedBytes = 0;
    if (wasArriving) this.#onArrived?.();
    if (wasArriving) this.#source.cancelled();
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
