/**
 * One HTTP request and its answer. The only place that touches uWebSockets.js objects, whose quirks live here:
 *
 * - a request object is dead after its handler returned, so everything needed is read before;
 * - a response must not be touched after `onAborted`, and every write outside the handler must be corked;
 * - bodies come as ArrayBuffers that are emptied when the callback returns, so they are copied.
 *
 *   open ──answer | fail──▶ answered ──all bytes handed over──▶ done
 *     ├──startStream──▶ streaming ──endStream──▶ done
 *     └──client gone (from any state but done)──▶ aborted
 *
 * Exactly one answer: a second one is a bug and asserts. An answer to a client that has gone is dropped.
 */

import type {HttpResponse} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {errorEnvelope, ServiceError} from '../../shared/errors.ts';
import {BODY_BYTES_MAX, LARGE_REPLY_BYTES, UNSENT_REPLY_BYTES_MAX} from '../../shared/limits.ts';
import type {Forwarded, Holder} from '../workers/forwarded.ts';
import type {Route} from './routes.ts';
import {statusLine} from './status-lines.ts';
import {StreamedReply} from './streamed-reply.ts';

type Headers = readonly (readonly [name: string, value: string])[];
type State = 'open' | 'answered' | 'streaming' | 'done' | 'aborted';

/** Told when exchanges begin and end; one object for all of them. */
export interface ExchangeObserver {
  /** Bytes of large replies kept for clients that read slowly, of all exchanges together. */
  unsentBytes: number;
  began(exchange: Exchange): void;
  /** @param status what was answered, or 0 when the client went before the answer was handed over */
  ended(exchange: Exchange, status: number): void;
}

const EMPTY = Buffer.alloc(0);
const JSON_TYPE = 'application/json';

export class Exchange implements Forwarded {
  readonly requestId: string;
  readonly method: string;
  readonly startedMs = performance.now();
  /** Known once the path is. */
  route: Route | null = null;
  tenantId = '';
  bytesIn = 0;
  bytesOut = 0;

  meta = '';
  body: Buffer = EMPTY;
  isRead = false;
  holder: Holder | null = null;
  order = 0;
  lostWorker: string | null = null;
  waitingSinceMs = 0;

  readonly #res: HttpResponse;
  readonly #observer: ExchangeObserver;
  #state: State = 'open';
  /** The connection is of no further use: the body was not read to its end, or the server drains. */
  #closes: boolean;
  #stream: StreamedReply | null = null;
  #streamStatus = 0;
  /** Bytes of a large reply that is kept until its client has taken all of it. */
  #unsentBytes = 0;

  constructor(res: HttpResponse, method: string, requestId: string, closes: boolean, observer: ExchangeObserver) {
    this.#res = res;
    this.method = method;
    this.requestId = requestId;
    this.#closes = closes;
    this.#observer = observer;
    res.onAborted(() => this.#aborted());
    observer.began(this);
  }

  get aborted(): boolean {
    return this.#state === 'aborted';
  }

  /**
   * Reads the body and calls `onBody` with it, unless the client goes or sends too much.
   * @param contentLength the header's value; empty when the body is chunked
   * @throws op.too_large 413 before reading when the announced length is too much
   */
  collectBody(contentLength: string, onBody: () => void): void {
    if (Number(contentLength) > BODY_BYTES_MAX) {
      this.#closes = true;
      throw tooLarge();
    }
    let pieces: Buffer[] | null = null;
    this.#res.onData((chunk, isLast) => {
      if (this.#state !== 'open') return; // refused already; the rest of the body is on its way out
      this.bytesIn += chunk.byteLength;
      if (this.bytesIn > BODY_BYTES_MAX) {
        this.#closes = true;
        this.fail(tooLarge());
        return;
      }
      const piece = Buffer.from(new Uint8Array(chunk)); // a copy
      if (!isLast || pieces !== null) {
        pieces ??= [];
        pieces.push(piece);
      }
      if (!isLast) return;
      this.body = pieces === null ? piece : Buffer.concat(pieces, this.bytesIn);
      onBody();
    });
  }

  answer(status: number, retryAfterS: number, body: Buffer): void {
    if (body.length >= LARGE_REPLY_BYTES && this.#observer.unsentBytes + body.length > UNSENT_REPLY_BYTES_MAX) {
      this.fail(new ServiceError('session.overloaded', 'too many large answers wait for their clients to read them'));
      return;
    }
    this.reply(status, body, retryAfterS === 0 ? null : [['Retry-After', String(retryAfterS)]]);
  }

  fail(error: ServiceError, retryAfterS = error.status === 503 ? 1 : 0, more: Headers = []): void {
    const headers = [...more];
    if (retryAfterS > 0) headers.push(['Retry-After', String(retryAfterS)]);
    if (error.status === 401) headers.push(['WWW-Authenticate', 'Bearer']);
    this.reply(error.status, JSON.stringify(errorEnvelope(error)), headers);
  }

  /** An empty body is none. A Buffer body is only borrowed unless it is large. */
  reply(status: number, body: string | Buffer, headers: Headers | null = null, contentType = JSON_TYPE): void {
    if (this.#state === 'aborted') return;
    assert(this.#state === 'open', `an answer in the state ${this.#state}`);
    this.#state = 'answered';
    replyInTurn.exchange = this;
    replyInTurn.status = status;
    replyInTurn.body = body;
    replyInTurn.headers = headers;
    replyInTurn.contentType = contentType;
    this.#res.cork(replyInTurn.write);
    replyInTurn.body = '';
  }

  startStream(status: number): void {
    if (this.#state === 'aborted') return;
    assert(this.#state === 'open', `a stream in the state ${this.#state}`);
    this.#state = 'streaming';
    this.#streamStatus = status;
    const taken = (bytes: number) => this.holder?.credit(this, bytes);
    this.#res.cork(() => {
      this.#writeHead(status, null, JSON_TYPE);
      if (this.#closes) this.#res.writeHeader('Connection', 'close');
    });
    this.#stream = new StreamedReply(this.#res, taken);
  }

  streamPiece(piece: Buffer): void {
    if (this.#state === 'aborted') return;
    assert(this.#state === 'streaming', `a piece in the state ${this.#state}`);
    this.bytesOut += piece.length;
    this.#stream!.write(piece);
  }

  endStream(failed: boolean): void {
    if (this.#state === 'aborted') return;
    assert(this.#state === 'streaming', `the end of a stream in the state ${this.#state}`);
    if (failed) {
      this.#res.close(); // aborts: an unfinished chunked body is what tells the client
      return;
    }
    this.#done(this.#streamStatus);
    this.#stream!.end();
  }

  /** Called corked, by `replyInTurn`. */
  writeReply(status: number, body: string | Buffer, headers: Headers | null, contentType: string): void {
    const res = this.#res;
    if (body.length === 0 || this.method === 'HEAD') {
      this.#endWithoutBody(status, headers, body, contentType);
      return;
    }
    this.#writeHead(status, headers, contentType);
    this.bytesOut = body.length;
    if (typeof body !== 'string' && body.length >= LARGE_REPLY_BYTES && !this.#closes) {
      this.#endLarge(status, body);
      return;
    }
    this.#done(status);
    res.end(body, this.#closes);
  }

  /** HEAD says how long the body would be; 204 says nothing. */
  #endWithoutBody(status: number, headers: Headers | null, body: string | Buffer, contentType: string): void {
    const res = this.#res;
    this.#writeHead(status, headers, body.length === 0 ? '' : contentType);
    if (this.#closes) res.writeHeader('Connection', 'close');
    this.#done(status);
    // `undefined` as the length would be sent as a number of 19 digits.
    if (status === 204) res.endWithoutBody();
    else res.endWithoutBody(Buffer.byteLength(body));
  }

  #writeHead(status: number, headers: Headers | null, contentType: string): void {
    const res = this.#res;
    if (status !== 200) res.writeStatus(statusLine(status));
    if (contentType !== '') res.writeHeader('Content-Type', contentType);
    res.writeHeader('X-Request-Id', this.requestId);
    if (headers === null) return;
    for (const [name, value] of headers) res.writeHeader(name, value);
  }

  /** Hands the body over as the kernel takes it; until then the Buffer itself is kept, not a copy. */
  #endLarge(status: number, body: Buffer): void {
    const [, hasResponded] = this.#res.tryEnd(body, body.length);
    if (hasResponded) {
      this.#done(status);
      return;
    }
    this.#unsentBytes = body.length;
    this.#observer.unsentBytes += body.length;
    this.#res.onWritable(offset => {
      const [isOk, isFinished] = this.#res.tryEnd(body.subarray(offset), body.length);
      if (isFinished) this.#done(status);
      return isOk;
    });
  }

  #done(status: number): void {
    this.#state = 'done';
    this.#observer.unsentBytes -= this.#unsentBytes;
    this.#observer.ended(this, status);
  }

  #aborted(): void {
    if (this.#state === 'done') return;
    this.#state = 'aborted';
    this.#observer.unsentBytes -= this.#unsentBytes;
    this.holder?.abandon(this);
    this.#observer.ended(this, 0);
  }
}

/** What the one cork callback writes: a closure per answer would be garbage on the hottest path. */
const replyInTurn = {
  exchange: null as Exchange | null,
  status: 0,
  body: '' as string | Buffer,
  headers: null as Headers | null,
  contentType: '',
  write: (): void => {
    const {exchange, status, body, headers, contentType} = replyInTurn;
    exchange!.writeReply(status, body, headers, contentType);
  },
};

function tooLarge(): ServiceError {
  return new ServiceError('op.too_large', `the body is longer than ${BODY_BYTES_MAX} bytes`);
}
