/**
 * A response body that is sent while it is made. At most STREAM_WINDOW_BYTES leave beyond the router's credit; up to
 * STREAM_BACKLOG_BYTES_MAX more are buffered here. A producer that awaits `ready` before each chunk buffers almost
 * nothing.
 *
 *   open ──end──▶ ending ──all sent──▶ closed
 *     ├──fail | buffer full | bytes to send and no credit for STREAM_STALL_MS──▶ closed: cut short for the client
 *     └──client or router gone──▶ closed: `onCancel` is called
 *
 * A body can be silent for any time: a reader counts as stalled only if it does not take bytes that are available.
 */
import type {Buffer} from 'node:buffer';
import type {ServiceError} from '../../shared/errors.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import {STREAM_BACKLOG_BYTES_MAX, STREAM_CHUNK_BYTES_MAX, STREAM_STALL_MS} from '../limits.ts';

/** The connection's side of the body. */
export interface BodySink {
  /** The chunk must not change until it is sent. */
  chunk(chunk: Buffer): void;
  /**
   * @param reason why the body is cut short; null: it is complete. @param error sent to the client if nothing has left
   *   yet
   */
  end(reason: string | null, error: ServiceError | null): void;
}

export class OutgoingBody {
  /** Called once if the client (or the router) disconnects before the end. */
  onCancel: () => void = () => undefined;
  readonly #sink: BodySink;
  #creditBytes = STREAM_WINDOW_BYTES;
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #state: 'open' | 'ending' | 'closed' = 'open';
  #stallTimer: NodeJS.Timeout | null = null;
  #waiting: (() => void)[] = [];

  constructor(sink: BodySink) {
    this.#sink = sink;
  }

  /** False once it has ended for any reason. Writing has no effect then. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Bytes written and not sent yet. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** All written bytes have left, or the body has ended. */
  get isReady(): boolean {
    return this.#state !== 'open' || this.#buffered.length === 0;
  }

  /** Resolves when it is ready. */
  get ready(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Takes ownership of the chunk: the caller must not change it any more. */
  write(chunk: Buffer): void {
    if (this.#state !== 'open') return;
    for (let at = 0; at < chunk.length; at += STREAM_CHUNK_BYTES_MAX) {
      this.#buffered.push(chunk.subarray(at, at + STREAM_CHUNK_BYTES_MAX));
    }
    this.#bufferedBytes += chunk.length;
    this.#send();
    if (this.#bufferedBytes > STREAM_BACKLOG_BYTES_MAX) this.#cut('too much of it waits for its reader');
  }

  /** The body is complete. Buffered bytes are still sent. */
  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#wake();
    this.#send();
  }

  /** Cuts the body short, visibly for the client, who gets the error instead if nothing has left yet. */
  fail(error: ServiceError | null = null): void {
    this.#cut('its maker failed', error);
  }

  /** For the connection: the client took this many bytes. */
  credit(bytes: number): void {
    this.#creditBytes += bytes;
    if (this.#stallTimer !== null) clearTimeout(this.#stallTimer);
    this.#stallTimer = null;
    this.#send();
    if (this.isReady) this.#wake();
  }

  /** For the connection: the client needs no more bytes. */
  cancel(): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.onCancel();
  }

  #send(): void {
    let sent = 0;
    while (this.#creditBytes > 0 && sent < this.#buffered.length) {
      const chunk = this.#buffered[sent++]!;
      this.#creditBytes -= chunk.length;
      this.#bufferedBytes -= chunk.length;
      this.#sink.chunk(chunk);
    }
    this.#buffered.splice(0, sent);
    if (this.#buffered.length > 0) {
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
    this.#buffered = [];
    this.#bufferedBytes = 0;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
