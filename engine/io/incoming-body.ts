/**
 * A request body that arrives in pieces while it is read. The router sends at most STREAM_WINDOW_BYTES beyond what was taken
 * here, so a reader that is slow, or that never reads, costs that much memory and no more.
 *
 *   arriving ──last piece──▶ whole ──all taken──▶ done
 *      ├──client or router gone──▶ failed: reading throws
 *      └──cancel──▶ done: what still arrives is not wanted
 */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';

/** The link's side of it. */
export interface BodySource {
  /** These bytes need no room any more. */
  taken(bytes: number): void;
  /** The rest is not wanted. */
  cancelled(): void;
}

const NOWHERE: BodySource = {taken: () => undefined, cancelled: () => undefined};
/** A router may send a piece as long as any credit is left, and its pieces are below this. */
const OVERSHOOT_BYTES = STREAM_WINDOW_BYTES;

export class IncomingBody {
  readonly #source: BodySource;
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  #state: 'arriving' | 'whole' | 'failed' | 'cancelled' = 'arriving';
  #wake: (() => void) | null = null;
  #onArrived: (() => void) | null = null;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** A body that is there already. The bytes are copied. */
  static whole(body: Buffer): IncomingBody {
    const incoming = new IncomingBody(NOWHERE);
    if (body.length > 0) incoming.#pieces.push(Buffer.from(body));
    incoming.finish(false);
    return incoming;
  }

  get isArriving(): boolean {
    return this.#state === 'arriving';
  }

  /** Calls back once nothing more of a body that is arriving is to come, whatever the reason. */
  whenArrived(callback: () => void): void {
    this.#onArrived = callback;
  }

  /** For the link. @throws MalformedFrame when the router sends beyond the window */
  push(piece: Buffer): void {
    if (this.#state !== 'arriving' || piece.length === 0) return;
    this.#heldBytes += piece.length;
    if (this.#heldBytes > STREAM_WINDOW_BYTES + OVERSHOOT_BYTES) {
      throw new MalformedFrame('a request body came faster than it was taken');
    }
    this.#pieces.push(Buffer.from(piece));
    this.#wakeReader();
  }

  /** For the link. @param failed the rest will not come */
  finish(failed: boolean): void {
    if (this.#state !== 'arriving') return;
    this.#state = failed ? 'failed' : 'whole';
    this.#onArrived?.();
    if (failed) this.#pieces = [];
    this.#wakeReader();
  }

  /** The next piece; null at the end. One reader at a time. @throws op.failed when the client went before the end */
  async next(): Promise<Buffer | null> {
    while (true) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#heldBytes -= piece.length;
        if (this.#state === 'arriving') this.#source.taken(piece.length);
        return piece;
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
      for (let piece = await this.next(); piece !== null; piece = await this.next()) yield piece;
    } finally {
      this.cancel();
    }
  }

  /** All of it. @throws op.too_large 413 beyond `bytesMax`, op.failed when the client went before the end */
  async collect(bytesMax: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of this.chunks()) {
      bytes += piece.length;
      if (bytes > bytesMax) throw new ServiceError('op.too_large', `the body is longer than ${bytesMax} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces, bytes);
  }

  /** The rest is not wanted. A reader that waits sees the end. */
  cancel(): void {
    const wasArriving = this.#state === 'arriving';
    if (this.#state !== 'failed') this.#state = 'cancelled';
    this.#pieces = [];
    this.#heldBytes = 0;
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
