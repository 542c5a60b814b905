/**
 * One HTTP request and its answer. Only this file and its parts (`reply-head.ts`, `reply-end.ts`, `streamed-reply.ts`,
 * `request-body.ts`, `upload.ts`) use uWebSockets.js's response. Its quirks:
 *
 * - A request object is invalid after its handler has returned, so everything needed is read before.
 * - A response must not be used after `onAborted`, and every write outside the handler must be corked.
 * - Bodies arrive as ArrayBuffers that are detached when the callback returns, so what is needed later is copied.
 * - A handler that returns without an answer and without `onAborted` ends the process, so `handled` is called last.
 * - The head of a streamed answer ends with the first bytes of its body, not before.
 * - After an answer has ended, it cannot be influenced any more, and neither can its connection, although the rest of
 *   the request's body may still arrive. If the connection must close after that rest, the answer is written completely
 *   but not ended (`#finish`).
 *
 *   open ──answer | fail──▶ answered ──all bytes handed over──▶ done
 *     ├──startStream, then its first chunk──▶ streaming ──endStream──▶ done
 *     ├──client gone (from any state but done)──▶ aborted
 *     └──refused while its worker has it: answered by us, and what the worker answers is dropped
 *
 * A stream that fails before its first chunk is answered as a failure, because nothing has been sent. There is exactly
 * one answer: a second one is a bug and fails an assertion. An answer to a disconnected client is dropped.
 */

import type {HttpResponse} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {type Backlog, type BufferedBytes, type ReservedBytes, tooManyBytes} from '../../shared/byte-accounts.ts';
import {errorEnvelope, invalid, overloaded, ServiceError} from '../../shared/errors.ts';
import type {UserCall, WorkerName} from '../../shared/ipc/control.ts';
import type {HeaderList, ResponseMeta} from '../../shared/ipc/operations.ts';
import {BODY_BYTES_MAX} from '../../shared/limits.ts';
import {answeredCode} from '../auth/answered-code.ts';
import type {Principal} from '../auth/credentials.ts';
import {noteRefusal, type Refusal} from '../auth/refusal.ts';
import {CALL_BODY_BYTES_READ, LARGE_REPLY_BYTES} from '../limits.ts';
import type {Route} from '../routes.ts';
import type {CacheName} from '../workers/answer-cache.ts';
import type {Forwarded, Holder, Suspicion, TrafficCounter} from '../workers/forwarded.ts';
import {callOf} from '../workers/user-call.ts';
import {isCounted, metaContinuing, refusalIn} from './continued.ts';
import {peerAddress} from './peer-address.ts';
import {endLarge, endWithoutBody, writeUnended, writeUnendedStream} from './reply-end.ts';
import {hasNoBody, JSON_TYPE, type ReplyHeaders, workerHeaders, writeHead} from './reply-head.ts';
import {replyInTurn} from './reply-in-turn.ts';
import {type AnnouncedBody, ArrivingBody, bodyTooLarge} from './request-body.ts';
import {StreamedReply} from './streamed-reply.ts';
import {Upload} from './upload.ts';

type State = 'open' | 'answered' | 'streaming' | 'done' | 'aborted';

/** Notified when exchanges begin and end; one object for all of them. */
export interface ExchangeObserver {
  /** Bytes of large replies buffered for slow clients, over all exchanges. */
  readonly unsent: BufferedBytes;
  began(exchange: Exchange): void;
  /** @param status of the answer; 0: the client disconnected before the answer was handed over */
  ended(exchange: Exchange, status: number): void;
}

const EMPTY = Buffer.alloc(0);

export class Exchange implements Forwarded {
  readonly requestId: string;
  readonly method: string;
  readonly startedMs = performance.now();
  /** The authenticated sender. */
  principal: Principal = null;
  /** The sequence of its audit record; 0: none. */
  audited = 0;
  /** Code of the error that was answered; empty: none, or not determined. */
  errorCode = '';
  /** Set if it was refused because of its credentials or rights; null: it was not, or its audit record says so. */
  refusal: Refusal | null = null;
  /** Set once the path is known. */
  route: Route | null = null;
  /** The URL's path, as it was sent; empty: not needed. */
  path = '';
  /** The URL's query string; empty: none, or not needed. */
  query = '';
  tenantId = '';
  /** Where the request is counted by tenant; null: its tenant is not known. */
  traffic: TrafficCounter | null = null;
  bytesOut = 0;
  /** Empty: not determined yet. */
  knownAddress = '';
  /** A trusted proxy sent it. */
  isFromProxy = false;

  meta = '';
  body: Buffer = EMPTY;
  upload: Upload | null = null;
  /** Accounts for the buffered bytes of the body; null: the tenant is not known, or there is none. */
  account: ReservedBytes | null = null;
  isRead = false;
  isShort = false;
  isUserCall = false;
  cacheAs: CacheName | null = null;
  suspectedBy: Suspicion | null = null;
  bytes = 0;
  sentMs = 0;
  holder: Holder | null = null;
  order = 0;
  lostWorker: WorkerName | null = null;
  waitingSinceMs = 0;
  /** Headers of errors that the router itself answers: CORS, if pages of other origins may read them. */
  errorHeaders: HeaderList | null = null;
  /** Headers of every answer: CORS, for a page with an accepted origin, and the remaining rate limits. */
  edgeHeaders: HeaderList | null = null;
  /** Accounts for the bytes that the reader has not taken; null: not counted, because the answer has an end. */
  buffered: BufferedBytes | null = null;
  /** The body stays in memory anyway (a shared file), so it is not counted as unsent. */
  bodyIsShared = false;

  readonly #res: HttpResponse;
  readonly #observer: ExchangeObserver;
  #state: State = 'open';
  /** It was refused while the worker had it, so the worker's answer is dropped. */
  #isRefused = false;
  /** The function call, determined before the body was released. */
  #call: UserCall | null = null;
  /** The connection cannot be reused: the body was not read to its end, or the server is draining. */
  #closes: boolean;
  /** Null: no body was announced, or its head has not been read. */
  #arriving: ArrivingBody | null = null;
  /** Head of a stream, also before its first chunk arrives. */
  #streamHead: ResponseMeta | null = null;
  #stream: StreamedReply | null = null;
  /** A large reply that is buffered until its client has taken all of it. */
  #unsent: Backlog | null = null;

  constructor(res: HttpResponse, method: string, requestId: string, closes: boolean, observer: ExchangeObserver) {
    this.#res = res;
    this.method = method;
    this.requestId = requestId;
    this.#closes = closes;
    this.#observer = observer;
    observer.began(this);
  }

  /** Must be called before the handler returns: no client disconnects earlier. An answer from memory is over by then. */
  handled(): void {
    if (!this.isOver || this.#arriving?.isDropping === true) this.#res.onAborted(() => this.#aborted());
  }

  get aborted(): boolean {
    return this.#state === 'aborted' || this.#isRefused;
  }

  /** The peer's address, or the one that a trusted proxy names. It must be read for the first time before the answer. */
  get address(): string {
    this.knownAddress ||= peerAddress(this.#res);
    return this.knownAddress;
  }

  get hasBegun(): boolean {
    return this.#state !== 'open';
  }

  get isOver(): boolean {
    return this.#state === 'done' || this.#state === 'aborted';
  }

  /** Length of the body; null: unknown. */
  get announcedBytes(): number | null {
    return this.#arriving === null ? 0 : this.#arriving.bytesAnnounced;
  }

  /** Bytes of the body that have arrived. */
  get bytesIn(): number {
    return this.#arriving === null ? 0 : this.#arriving.bytes;
  }

  /**
   * Takes what the head says about the body; called before anything is answered.
   * @throws op.invalid_input 400 when the end of the body is unreliable
   */
  announce(body: AnnouncedBody): void {
    this.#arriving = new ArrivingBody(this.#res, body);
    if (body.fault === null) return;
    this.#closes = true;
    throw invalid(body.fault);
  }

  /**
   * Reads the body and calls `onBody`, unless the client disconnects or sends too much.
   * @param answers called before with the body, which is valid during the call; returns whether it answered
   * @throws op.too_large 413 before reading, if the announced length is too large
   */
  collectBody(onBody: () => void, answers: ((body: Uint8Array) => boolean) | null = null): void {
    this.#refuseLonger(BODY_BYTES_MAX);
    if (this.account?.hasRoom(this.announcedBytes ?? 0) === false) {
      this.#closes = true;
      throw tooManyBytes();
    }
    this.#arrivingBody().collect(
      this.account,
      () => this.#state === 'open',
      answers,
      (body, refusal) => {
        if (refusal === null) {
          this.body = body;
          onBody();
        } else {
          this.#closes = true;
          this.fail(refusal);
        }
      },
    );
  }

  get bringsCode(): boolean {
    return this.route?.bringsCode === true;
  }

  get isEndless(): boolean {
    return this.route?.isEndless === true;
  }

  get call(): UserCall | null {
    if (!this.isUserCall) return null;
    this.#call ??= callOf(this.meta, this.body);
    return this.#call;
  }

  /**
   * Releases the body once the worker has it. Bodies of reads stay, because reads can be sent again. Bodies of short
   * calls stay, because their arguments are needed if the worker crashes.
   */
  sent(): void {
    if (this.isUserCall ? this.body.length <= CALL_BODY_BYTES_READ : this.isRead) return;
    if (this.isUserCall) this.#call ??= callOf(this.meta, this.body);
    this.body = EMPTY;
    this.#arriving?.release();
  }

  /**
   * Streams the body to the worker while it arrives.
   * @throws op.too_large 413 if the announced length is too large
   */
  streamBody(bytesMax: number): void {
    this.#refuseLonger(bytesMax);
    const upload = new Upload(this.#res);
    this.upload = upload;
    this.#arrivingBody().read((chunk, isLast) => {
      if (!upload.isWanted) return;
      if (this.bytesIn > bytesMax) this.#refuse(bodyTooLarge(bytesMax));
      else upload.push(Buffer.from(new Uint8Array(chunk)), isLast); // a copy
    });
  }

  /** The route takes no body: it is dropped as it arrives. */
  ignoreBody(): void {
    this.#arriving?.ignore();
  }

  #refuseLonger(bytesMax: number): void {
    if ((this.announcedBytes ?? 0) <= bytesMax) return;
    this.#closes = true;
    throw bodyTooLarge(bytesMax);
  }

  #arrivingBody(): ArrivingBody {
    this.#arriving ??= new ArrivingBody(this.#res, null);
    return this.#arriving;
  }

  continues(): boolean {
    const mayContinue = this.route?.takesLastEventId === true && !isCounted(this.query);
    const after = mayContinue && this.#stream !== null ? this.#stream.leaveWorker() : null;
    if (after !== null) this.meta = metaContinuing(this.meta, after);
    return after !== null;
  }

  answer(meta: ResponseMeta, body: Buffer): void {
    if (this.aborted) return;
    if (this.#state === 'streaming') {
      this.endStream(true, refusalIn(body));
      return;
    }
    if (this.audited !== 0 && meta.s >= 400) this.errorCode = answeredCode(body);
    // The worker judges keys as well. It answers users with 401, and the app's own answers are not recorded.
    else if (meta.s === 403 && this.principal !== null && this.route?.access === 'admin')
      noteRefusal(this, answeredCode(body));
    if (body.length >= LARGE_REPLY_BYTES && !this.#observer.unsent.hasRoom(body.length)) {
      this.fail(overloaded('too many large answers wait for their clients to read them'));
      return;
    }
    this.reply(meta.s, body, workerHeaders(meta), meta.t === undefined ? JSON_TYPE : '');
  }

  fail(error: ServiceError, retryAfterS = error.retryAfterS, more: HeaderList = []): void {
    if (this.#state === 'streaming') {
      this.endStream(true, error);
      return;
    }
    this.errorCode = error.code;
    const headers = [...more, ...(this.errorHeaders ?? [])];
    if (retryAfterS > 0) headers.push(['Retry-After', String(retryAfterS)]);
    if (error.status === 401) headers.push(['WWW-Authenticate', 'Bearer']);
    this.reply(error.status, JSON.stringify(errorEnvelope(error)), headers);
  }

  /** An empty body means no body. A Buffer body is only valid during the call, unless it is large. */
  reply(status: number, body: string | Buffer, headers: ReplyHeaders = null, contentType = JSON_TYPE): void {
    if (this.#state === 'aborted') return;
    assert(this.#state === 'open', `an answer in the state ${this.#state}`);
    const isRecorded = this.audited !== 0 || this.route?.rights.trace !== 'audit';
    assert(isRecorded || status >= 400, 'no action is answered as done that has no record');
    this.#state = 'answered';
    this.upload?.over();
    replyInTurn.exchange = this;
    replyInTurn.status = status;
    replyInTurn.body = body;
    replyInTurn.headers = headers;
    replyInTurn.contentType = contentType;
    this.#res.cork(replyInTurn.write);
    replyInTurn.body = '';
  }

  startStream(meta: ResponseMeta): void {
    if (this.aborted || this.#state === 'streaming') return; // it continues
    assert(this.#state === 'open' && this.#streamHead === null, `a stream in the state ${this.#state}`);
    if (this.method === 'HEAD' || hasNoBody(meta.s)) {
      this.#answerHead(meta);
      return;
    }
    this.#streamHead = meta;
    // A stream of events that starts silent must still open for its reader. Its head is then sent with a comment, which
    // readers of events skip.
    if (meta.t?.startsWith('text/event-stream')) setImmediate(() => this.#openEvents());
  }

  streamChunk(chunk: Buffer): void {
    if (this.aborted) return;
    this.bytesOut += chunk.length;
    this.#res.cork(() => {
      if (this.#state === 'open') this.#beginStream();
      assert(this.#state === 'streaming', `a chunk in the state ${this.#state}`);
      this.#stream!.write(chunk);
    });
    if (this.#stream!.buffersTooMuch) this.#drop();
  }

  endStream(failed: boolean, why: ServiceError | null = null): void {
    if (this.aborted) return;
    const last = failed && this.#state === 'streaming' ? this.#stream!.lastEvent(why) : null;
    if (last !== null) {
      this.streamChunk(last);
      if (!this.aborted) this.endStream(false);
      return;
    }
    if (failed) {
      if (this.#state === 'open')
        this.fail(why ?? new ServiceError('op.failed', 'the answer broke off before its first byte'));
      else this.#res.close(); // aborts: the client recognises the incomplete chunked body
      return;
    }
    this.upload?.over();
    this.#res.cork(() => {
      if (this.#state === 'open') this.#beginStream();
      assert(this.#state === 'streaming', `the end of a stream in the state ${this.#state}`);
      this.#endStream();
    });
  }

  /** Called corked. */
  #beginStream(): void {
    const meta = this.#streamHead!;
    this.#state = 'streaming';
    this.#writeHead(meta.s, workerHeaders(meta), meta.t === undefined ? JSON_TYPE : '');
    if (this.#closes) this.#res.writeHeader('Connection', 'close');
    const credit = (bytes: number) => this.holder?.credit(this, bytes);
    const isOwnEvents = this.isEndless && meta.t === 'text/event-stream';
    this.#stream = new StreamedReply(this.#res, credit, this.buffered, isOwnEvents);
  }

  /** Closes the connection because too many bytes are buffered for its reader. */
  #drop(): void {
    this.#res.close(); // aborts, and notifies the worker
  }

  #openEvents(): void {
    if (this.#state !== 'open' || this.#isRefused) return;
    this.#res.cork(() => {
      this.#beginStream();
      this.#res.write(':\n\n');
    });
  }

  /** Called corked. */
  #endStream(): void {
    const stream = this.#stream!;
    const {s: status} = this.#streamHead!;
    if (this.bytesOut === 0 || stream.isBlocked || !this.#mustOutlast()) {
      this.#done(status);
      stream.end();
      return;
    }
    writeUnendedStream(this.#res, this.requestId);
    this.#finish(status);
  }

  /** Ends an endless answer. @param error the answer, if nothing has been sent yet */
  cut(error: ServiceError): void {
    if (this.#state === 'open') this.#refuse(error);
    if (this.#state !== 'streaming') return;
    const {holder} = this;
    this.endStream(this.#stream!.isOwnEvents, error);
    holder?.abandon(this);
  }

  /** Answers instead of the worker. If the worker's answer has begun, it is cut. */
  #refuse(error: ServiceError): void {
    this.#isRefused = true;
    this.#closes = true;
    this.upload?.fail();
    this.holder?.abandon(this);
    if (this.#state === 'open') this.fail(error);
    else if (this.#state === 'streaming') this.#res.close();
  }

  /** The head of an answer without a body, because the method is HEAD or the status has none. */
  #answerHead(meta: ResponseMeta): void {
    this.#state = 'answered';
    this.upload?.over();
    this.#res.cork(() => {
      this.#writeHead(meta.s, workerHeaders(meta), meta.t === undefined ? JSON_TYPE : '');
      if (this.#closes) this.#res.writeHeader('Connection', 'close');
      // The same header as for GET; without it Node's client does not reuse the connection.
      if (!hasNoBody(meta.s)) this.#res.writeHeader('Transfer-Encoding', 'chunked');
      this.#done(meta.s);
      this.#res.endWithoutBody();
    });
    this.holder?.abandon(this);
  }

  /** Called corked, by `replyInTurn`. */
  writeReply(status: number, body: string | Buffer, headers: ReplyHeaders, contentType: string): void {
    const res = this.#res;
    if (contentType === JSON_TYPE && body.length < LARGE_REPLY_BYTES && this.#mustOutlast()) {
      this.#writeHead(status, headers, body.length === 0 || hasNoBody(status) ? '' : JSON_TYPE);
      this.bytesOut = writeUnended(res, status, body, this.method === 'HEAD');
      this.#finish(status);
      return;
    }
    if (body.length === 0 || this.method === 'HEAD' || hasNoBody(status)) {
      this.#writeHead(status, headers, body.length === 0 ? '' : contentType);
      this.#done(status);
      endWithoutBody(res, status, body, this.#closes);
      return;
    }
    this.#writeHead(status, headers, contentType);
    this.bytesOut = body.length;
    if (typeof body !== 'string' && body.length >= LARGE_REPLY_BYTES && !this.#closes) {
      const unsent = this.bodyIsShared ? null : this.#observer.unsent;
      this.#unsent = endLarge(res, body, unsent, () => this.#done(status));
      return;
    }
    this.#done(status);
    res.end(body, this.#closes);
  }

  #mustOutlast(): boolean {
    return this.#arriving?.mustBeOutlasted(this.#closes) === true;
  }

  /**
   * Called when the whole answer is written. The connection closes after the rest of the request's body, or after too
   * much of it.
   */
  #finish(status: number): void {
    this.#arriving!.dropRest();
    this.#done(status);
  }

  #writeHead(status: number, headers: ReplyHeaders, contentType: string): void {
    if (status >= 500) this.knownAddress = this.address; // needed for the log line
    writeHead(this.#res, status, contentType, this.requestId, this.edgeHeaders, headers);
  }

  #done(status: number): void {
    this.#state = 'done';
    this.#arriving?.release();
    this.#stream?.over();
    this.#unsent?.close();
    this.#observer.ended(this, status);
  }

  #aborted(): void {
    this.#arriving?.clientGone();
    if (this.#state === 'done') return;
    this.#state = 'aborted';
    this.#arriving?.release();
    this.#stream?.over();
    this.upload?.fail();
    this.#unsent?.close();
    this.holder?.abandon(this);
    this.#observer.ended(this, 0);
  }
}
