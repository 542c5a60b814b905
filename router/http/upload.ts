/**
 * Streams a request body to a worker while it arrives. The worker sends credit for what it has taken. Beyond its
 * window, the connection is not read, which holds the client back. So a body costs the router one chunk of the
 * connection's buffer, however long it is and however long its tenant takes to wake.
 *
 * uWebSockets.js closes a connection ten seconds after the last read or resume, even if the body is complete or paused
 * on purpose. A tenant may take longer, so a connection that was paused once is kept from timing out until the exchange
 * is over.
 *
 *   waiting ──attach──▶ flowing ──last chunk sent──▶ over
 *      └───────────────────┴── discard | client gone──▶ over: what still arrives is dropped
 */
import type {HttpResponse} from 'uWebSockets.js';
import type {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import {UPLOAD_AWAKE_MS} from '../limits.ts';
import type {RequestUpload, UploadSink} from '../workers/forwarded.ts';

export class Upload implements RequestUpload {
  /** Null once it is over: the response may be invalid. */
  #res: HttpResponse | null;
  #sink: UploadSink | null = null;
  #creditBytes = 0;
  readonly #chunks: Buffer[] = [];
  #isWhole = false;
  #isPaused = false;
  /** Set after the first pause. */
  #awake: NodeJS.Timeout | null = null;
  hasBegun = false;

  constructor(res: HttpResponse) {
    this.#res = res;
  }

  /** Whether arriving chunks are still wanted. */
  get isWanted(): boolean {
    return this.#res !== null;
  }

  /** Takes ownership of the chunk. */
  push(chunk: Buffer, isLast: boolean): void {
    if (chunk.length > 0) this.#chunks.push(chunk);
    this.#isWhole = isLast;
    this.#send();
  }

  attach(sink: UploadSink): void {
    assert(this.#sink === null && !this.hasBegun, 'an upload goes to one worker');
    this.#sink = sink;
    this.#creditBytes = STREAM_WINDOW_BYTES;
    this.#send();
  }

  detach(): void {
    assert(!this.hasBegun, 'a body that was partly sent cannot be sent again');
    this.#sink = null;
  }

  /** @throws MalformedFrame when the credit exceeds what was sent */
  credit(bytes: number): void {
    this.#creditBytes += bytes;
    if (this.#creditBytes > STREAM_WINDOW_BYTES) throw new MalformedFrame('credit for more of a body than was sent');
    this.#send();
  }

  discard(): void {
    this.#end();
  }

  /** The exchange is answered. */
  over(): void {
    this.#end();
    this.#letSleep();
  }

  /** The client has disconnected, or sent too much. */
  fail(): void {
    this.#letSleep();
    if (!this.isWanted) return;
    const sink = this.#sink;
    this.#res = null; // it may be dead already
    this.#end();
    sink?.end(true);
  }

  #send(): void {
    if (!this.isWanted) return;
    const sink = this.#sink;
    let sent = 0;
    while (sink !== null && this.#creditBytes > 0 && sent < this.#chunks.length) {
      const chunk = this.#chunks[sent++]!;
      this.#creditBytes -= chunk.length;
      this.hasBegun = true;
      sink.chunk(chunk);
    }
    this.#chunks.splice(0, sent);
    if (sink !== null && this.#isWhole && this.#chunks.length === 0) {
      this.hasBegun = true;
      this.#end();
      sink.end(false);
      return;
    }
    // If the whole body is here there is nothing to hold back, and a paused connection would not notice that its client
    // disconnected.
    this.#pause(this.#chunks.length > 0 && !this.#isWhole);
  }

  #pause(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    const res = this.#res;
    if (isPaused) res?.pause();
    else res?.resume();
    if (res === null) return;
    this.#awake ??= setInterval(() => {
      if (this.#isPaused) {
        res.resume();
        res.pause();
      } else if (this.#isWhole) {
        res.pause();
        res.resume();
      }
    }, UPLOAD_AWAKE_MS);
  }

  /** The exchange is over: its response may be invalid. */
  #letSleep(): void {
    if (this.#awake !== null) clearInterval(this.#awake);
    this.#awake = null;
  }

  #end(): void {
    this.#pause(false);
    this.#res = null;
    this.#sink = null;
    this.#chunks.length = 0;
  }
}
