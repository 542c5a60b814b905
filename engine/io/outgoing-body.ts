/**
 * A response body that is sent while it is made. At most STREAM_WINDOW_BYTES leave beyond what the router has credited; the
 * rest waits here, up to STREAM_HELD_BYTES_MAX. A maker that awaits `ready` before each piece holds next to nothing.
 *
 *   open ──end──▶ ending ──all sent──▶ closed
 *     ├──fail | too much held | something to send and no credit for STREAM_STALL_MS──▶ closed: cut short for the client
 *     └──client or router gone──▶ closed: `onCancel` is called
 *
 * A body may be silent for as long as it likes: only a reader that takes nothing of what is there is a stalled one.
 */
import type {Buffer} from 'node:buffer';
import type {ServiceError} from '../../shared/errors.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import {STREAM_HELD_BYTES_MAX, STREAM_PIECE_BYTES_MAX, STREAM_STALL_MS} from '../limits.ts';

/** The link's side of it. */
export interface BodySink {
  /** The piece must stay as it is until it is sent. */
  piece(piece: Buffer): void;
  /** @param reason why it is cut short; null: it is whole. @param error what the client is told if nothing has left yet */
  end(reason: string | null, error: ServiceError | null): void;
}

export class OutgoingBody {
  /** Called once if the client (or the router) goes before the end: nothing more is wanted. */
  onCancel: () => void = () => undefined;
  readonly #sink: BodySink;
  #creditBytes = STREAM_WINDOW_BYTES;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #state: 'open' | 'ending' | 'closed' = 'open';
  #stallTimer: NodeJS.Timeout | null = null;
  #waiting: (() => void)[] = [];

  constructor(sink: BodySink) {
    this.#sink = sink;
  }

  /** False once it has ended, whoever ended it. Writing is without effect then. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Written, and not sent yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** All that was written has left, or it has ended. */
  get isReady(): boolean {
    return this.#state !== 'open' || this.#held.length === 0;
  }

  /** Resolves when it is ready. */
  get ready(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Takes the piece over: the caller must not change it any more. */
  write(piece: Buffer): void {
    if (this.#state !== 'open') return;
    for (let at = 0; at < piece.length; at += STREAM_PIECE_BYTES_MAX) {
      this.#held.push(piece.subarray(at, at + STREAM_PIECE_BYTES_MAX));
    }
    this.#heldBytes += piece.length;
    this.#send();
    if (this.#heldBytes > STREAM_HELD_BYTES_MAX) this.#cut('too much of it waits for its reader');
  }

  /** It is whole. What waits is still sent. */
  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#wake();
    this.#send();
  }

  /** It is cut short, visibly for the client, who gets the error in its place if nothing has left yet. */
  fail(error: ServiceError | null = null): void {
    this.#cut('its maker failed', error);
  }

  /** For the link: the client took this many bytes. */
  credit(bytes: number): void {
    this.#creditBytes += bytes;
    if (this.#stallTimer !== null) clearTimeout(this.#stallTimer);
    this.#stallTimer = null;
    this.#send();
    if (this.isReady) this.#wake();
  }

  /** For the link: nothing more is wanted. */
  cancel(): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.onCancel();
  }

  #send(): void {
    let sent = 0;
    while (this.#creditBytes > 0 && sent < this.#held.length) {
      const piece = this.#held[sent++]!;
      this.#creditBytes -= piece.length;
      this.#heldBytes -= piece.length;
      this.#sink.piece(piece);
    }
    this.#held.splice(0, sent);
    if (this.#held.length > 0) {
      this.#stallTimer ??= setTimeout(() => this.#cut('its reader stalled'), STREAM_STALL_MS);
    } else if (this.#state === 'ending') {
      this.#close();
      this.#sink.end(null, null);
    }
  }

  #cut(reason: string, error: ServiceError | null = null): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.#sink.end(reason, error);
    this.onCancel();
  }

  #close(): void {
    this.#state = 'closed';
    if (this.#stallTimer !== null) clearTimeout(this.#stallTimer);
    this.#stallTimer = null;
    this.#held = [];
    this.#heldBytes = 0;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
