/**
 * The worker's end of a router's connection. Requests are dispatched in order of arrival. Frames are collected and
 * written at once for all responses of a tick (see `FrameWriter`), without any action by the handlers.
 *
 * Back-pressure: when the router reads replies too slowly, this end stops reading requests until it has caught up.
 * Streamed bodies, in either direction, send at most STREAM_WINDOW_BYTES beyond what the other end has credited.
 *
 *   connected ──hello with the secret──▶ serving ──malformed frame | close | drain──▶ closed
 *       └──anything else──▶ closed
 */
import {Buffer} from 'node:buffer';
import {timingSafeEqual} from 'node:crypto';
import type {Socket} from 'node:net';
import {IncomingBody} from '../../engine/io/incoming-body.ts';
import {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {SLICE_MS} from '../../engine/limits.ts';
import type {LiveHolder} from '../../engine/live/live-queries.ts';
import {assert} from '../../shared/assert.ts';
import {errorEnvelope, ServiceError, tooLarge} from '../../shared/errors.ts';
import {appHeaders, headersFault} from '../../shared/http-headers.ts';
import {FrameFlag, FrameKind, FrameReader, FrameWriter, IPC_VERSION, MalformedFrame} from '../../shared/ipc/frame.ts';
import type {HeaderList, RequestMeta, ResponseMeta} from '../../shared/ipc/operations.ts';
import {DROPPED_BYTES_MAX, FRAME_BODY_BYTES_MAX, FRAME_META_BYTES_MAX} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {traitsOf} from '../../shared/operations.ts';
import type {Resumed} from '../../shared/protocol/function-socket/server-message.ts';
import {parseRequestMeta, resumedIn} from './decode.ts';
import {SUBSCRIPTIONS_WAIT_MS} from './limits.ts';
import type {LinkShare} from './link-share.ts';
import {appMeta, metaOf, resultMeta} from './response-metas.ts';
import type {CachedNames, CachingRouter} from './router-caches.ts';
import {type KeptResult, type ReportedCall, reportedIn} from './shared-results.ts';
import {StreamedBodies} from './streamed-bodies.ts';

/**
 * @param body valid during the call only
 * @param incoming for operations whose body can be streamed (`body` is empty then); null: none
 */
export type RequestHandler = (
  link: RouterLink,
  stream: number,
  meta: RequestMeta,
  body: Buffer,
  incoming: IncomingBody | null,
) => void;

export type LinkEvents = {
  onRequest: RequestHandler;
  /** Body: a query object as JSON. */
  onSubscribe: (link: RouterLink, stream: number, body: Buffer) => void;
  onUnsubscribe: (link: RouterLink, stream: number) => void;
  /** Answered by `fenced`. */
  onFence: (link: RouterLink, stream: number) => void;
  /** Calls that the router answered from its cache. */
  onAnswered: (calls: readonly ReportedCall[]) => void;
  onClose: (link: RouterLink) => void;
  sockets: SocketEvents;
};

/** Events on the function sockets of a router. */
export interface SocketEvents {
  /** @param origin of the page; empty: none. @param resumed it was open at another worker before; null: it is new */
  opened(link: SocketLink, stream: number, origin: string, resumed: Resumed | null): void;
  /** @param message valid during the call */
  message(link: SocketLink, stream: number, message: Buffer, isBinary: boolean): void;
  /** The network took this many bytes. */
  credited(link: SocketLink, stream: number, bytes: number): void;
  /** It moves to another worker, and is closed here once what is under way for it is answered. */
  leaves(link: SocketLink, stream: number): void;
  closed(link: SocketLink, stream: number): void;
  /** The router is gone, with all its sockets. */
  released(link: SocketLink): void;
}

/** A router, as the code that sends to its sockets sees it. */
export interface SocketLink {
  /** Sends one message to several of its sockets. */
  socketMessage(streams: readonly number[], message: string): void;
  /** This many bytes of the socket's messages are handled. */
  socketCredit(stream: number, bytes: number): void;
  /** The socket's client can resume at another worker. */
  socketResumes(stream: number): void;
  closeSocket(stream: number, code: number, reason: string): void;
}

/** A stream id has up to ten digits, and a meta has space for this many. */
const SOCKETS_A_FRAME = Math.floor(FRAME_META_BYTES_MAX / 11);

type Waiting = {stream: number; meta: RequestMeta; body: Buffer; incoming: IncomingBody | null};

export class RouterLink implements LiveHolder, SocketLink, CachingRouter {
  readonly #socket: Socket;
  readonly #secret: Buffer;
  readonly #events: LinkEvents;
  readonly #share: LinkShare;
  readonly #log: Logger;
  readonly #writer: FrameWriter;
  readonly #reader: FrameReader;
  readonly #bodies: StreamedBodies;
  /** Callbacks for clients that disconnect before the response. */
  readonly #cancels = new Map<number, () => void>();
  /** Readers that wait for the number of subscriptions, by stream. */
  readonly #counts = new Map<number, ((count: number) => void)[]>();
  /** Requests that wait for the next slice, with copies of their bodies. */
  #requests: Waiting[] = [];
  #sliceScheduled = false;
  /** When the current slice ends. */
  #sliceEndsMs = 0;
  #greeted = false;
  /** It is closed because of what the router sent. */
  #isRefused = false;

  constructor(socket: Socket, secret: string, share: LinkShare, events: LinkEvents, log: Logger) {
    this.#socket = socket;
    this.#secret = Buffer.from(secret);
    this.#events = events;
    this.#share = share;
    share.opened();
    this.#log = log;
    // Node runs this after the microtasks, so everything settled together is written at once.
    this.#writer = new FrameWriter(bytes => this.#write(bytes), process.nextTick);
    this.#reader = new FrameReader((kind, stream, flags, meta, body) => this.#frame(kind, stream, flags, meta, body));
    this.#bodies = new StreamedBodies(
      (kind, stream, flags, meta, body) => this.#writer.frame(kind, stream, flags, meta, body, true),
      share,
      log,
    );
    socket.on('data', chunk => this.#read(chunk as Buffer));
    socket.on('drain', () => {
      socket.resume();
      if (this.#requests.length > 0) this.#scheduleSlice();
    });
    socket.on('error', error => log.debug('a router connection failed', {error}));
    socket.on('close', () => this.#closed());
  }

  /**
   * Responds with JSON. An empty body means none.
   * @param headers further ones, for instance CORS
   * @param etag empty: none
   * @param isCacheable the router may cache it
   */
  reply(
    stream: number,
    status: number,
    body: string,
    headers: HeaderList | null = null,
    etag = '',
    isCacheable = false,
  ): void {
    if (body.length * 3 > FRAME_BODY_BYTES_MAX && Buffer.byteLength(body) > FRAME_BODY_BYTES_MAX) {
      this.fail(stream, answerTooLarge(), headers);
      return;
    }
    this.#bodies.answered(stream);
    const flags = isCacheable ? FrameFlag.cacheable : FrameFlag.none;
    this.#writer.frame(FrameKind.response, stream, flags, metaOf(status, headers, etag), body);
  }

  /**
   * Responds 200 with this result of a query function, which the router may cache.
   * @returns false: it may not, and nothing is sent
   */
  replyCacheable(stream: number, body: string, headers: HeaderList | null, kept: KeptResult): boolean {
    if (Buffer.byteLength(body) > FRAME_BODY_BYTES_MAX) return false;
    const number = this.#share.caches.allowResult(this, kept);
    if (number === null) return false;
    this.#bodies.answered(stream);
    const meta = resultMeta(headers, number, kept.name);
    this.#writer.frame(FrameKind.response, stream, FrameFlag.cacheable, meta, body);
    return true;
  }

  /** Responds 200 with JSON in UTF-8. Takes ownership of the bytes. */
  replyBytes(stream: number, body: Buffer): void {
    if (body.length > FRAME_BODY_BYTES_MAX) {
      this.fail(stream, answerTooLarge());
      return;
    }
    this.#bodies.answered(stream);
    this.#writer.frame(FrameKind.response, stream, FrameFlag.none, '', body, true);
  }

  /** @param cancel called if the client or the router disconnects before `forget` */
  onCancel(stream: number, cancel: () => void): void {
    this.#cancels.set(stream, cancel);
  }

  forget(stream: number): void {
    this.#cancels.delete(stream);
  }

  fail(stream: number, error: ServiceError, headers: HeaderList | null = null): void {
    this.#bodies.answered(stream);
    const meta: ResponseMeta = {s: error.status};
    if (error.retryAfterS > 0) meta.ra = error.retryAfterS;
    if (headers !== null && headers.length > 0) meta.h = headers;
    const body = JSON.stringify(errorEnvelope(error));
    this.#writer.frame(FrameKind.response, stream, FrameFlag.none, JSON.stringify(meta), body);
  }

  /**
   * Responds with exactly these headers (including a content type if there is one), except those that an app must not
   * set. Headers that cannot be sent become a 500, a body that is too long a 413. Takes ownership of the Buffer.
   */
  replyWith(stream: number, status: number, headers: HeaderList, body: string | Buffer): void {
    const meta = this.#head(stream, status, headers);
    if (meta === null) return;
    if (Buffer.byteLength(body) > FRAME_BODY_BYTES_MAX) this.fail(stream, answerTooLarge());
    else {
      this.#bodies.answered(stream);
      this.#writer.frame(FrameKind.response, stream, FrameFlag.none, meta, body, true);
    }
  }

  /** Responds with these headers, as `replyWith`, and a body that is written later. The headers are sent at once. */
  startStream(stream: number, status: number, headers: HeaderList): OutgoingBody {
    const meta = this.#head(stream, status, headers);
    if (meta !== null) return this.#bodies.open(stream, meta);
    const closed = new OutgoingBody({chunk: () => undefined, end: () => undefined});
    closed.cancel();
    return closed;
  }

  /** Whether the router may cache this document, which it is about to get. @param doc its number */
  mayCache(doc: number): boolean {
    return this.#share.caches.allow(this, doc);
  }

  dropCached(names: CachedNames, number: number | null): void {
    let body = names === null ? '' : JSON.stringify(names);
    if (body.length * 3 > DROPPED_BYTES_MAX && Buffer.byteLength(body) > DROPPED_BYTES_MAX) body = ''; // all
    this.#writer.frame(FrameKind.dropCached, 0, FrameFlag.none, number === null ? '' : String(number), body);
  }

  live(stream: number, text: string): void {
    this.#writer.frame(FrameKind.live, stream, FrameFlag.none, '', text);
  }

  liveFailed(stream: number, error: ServiceError): void {
    this.#writer.frame(FrameKind.live, stream, FrameFlag.failed, '', JSON.stringify(errorEnvelope(error).error));
  }

  liveBehind(stream: number): void {
    this.#writer.frame(FrameKind.liveBehind, stream, FrameFlag.none, '', '');
  }

  /** Everything that it was sent before includes each write that was acknowledged before the fence arrived. */
  fenced(stream: number): void {
    this.#writer.frame(FrameKind.fence, stream, FrameFlag.none, '', '');
  }

  liveEnd(sequence: number): void {
    this.#writer.frame(
      FrameKind.liveEnd,
      0,
      FrameFlag.none,
      `${sequence} ${performance.timeOrigin + performance.now()}`,
      '',
    );
  }

  /** @returns 1 if the router does not answer in time, 0 if it disconnects */
  subscriptions(stream: number): Promise<number> {
    return new Promise(resolve => {
      const waiting = this.#counts.get(stream) ?? [];
      if (waiting.length === 0) {
        this.#counts.set(stream, waiting);
        this.#writer.frame(FrameKind.subscriptions, stream, FrameFlag.none, '', '');
        const timer = setTimeout(() => this.#counted(stream, 1, waiting), SUBSCRIPTIONS_WAIT_MS).unref();
        waiting.push(() => clearTimeout(timer));
      }
      waiting.push(resolve);
    });
  }

  #counted(stream: number, count: number, waiting = this.#counts.get(stream)): void {
    if (waiting === undefined) return;
    if (this.#counts.get(stream) === waiting) this.#counts.delete(stream);
    for (const resolve of waiting.splice(0)) resolve(count);
  }

  socketMessage(streams: readonly number[], message: string): void {
    const [first] = streams;
    assert(first !== undefined, 'a message has a receiver');
    if (streams.length === 1) {
      this.#writer.frame(FrameKind.socketMessage, first, FrameFlag.none, '', message);
      return;
    }
    for (let at = 0; at < streams.length; at += SOCKETS_A_FRAME) {
      const some = streams.slice(at, at + SOCKETS_A_FRAME);
      this.#writer.frame(FrameKind.socketMessage, some[0]!, FrameFlag.none, some.join(' '), message);
    }
  }

  socketCredit(stream: number, bytes: number): void {
    this.#writer.frame(FrameKind.socketCredit, stream, FrameFlag.none, String(bytes), '');
  }

  socketResumes(stream: number): void {
    this.#writer.frame(FrameKind.socketResumes, stream, FrameFlag.none, '', '');
  }

  closeSocket(stream: number, code: number, reason: string): void {
    this.#writer.frame(FrameKind.socketClose, stream, FrameFlag.none, String(code), reason);
  }

  /**
   * Responds 200 with a body that is generated while it is sent, JSON without headers. The iterator is always closed.
   */
  stream(stream: number, chunks: Iterator<string, void, void>, headers: HeaderList): void {
    const meta = headers.length === 0 ? '' : this.#head(stream, 200, headers);
    if (meta === null) chunks.return?.();
    else this.#bodies.feed(stream, chunks, meta);
  }

  /** Number of replies that iterators feed, of all routers. */
  get streams(): number {
    return this.#share.fedStreams;
  }

  /** Sends the collected frames and closes. */
  end(): void {
    this.#writer.flush();
    this.#socket.end();
  }

  /** Stops reading requests while the router reads slowly. */
  #write(bytes: Buffer): void {
    if (this.#socket.destroyed) return;
    this.#socket.write(bytes);
    if (this.#socket.writableLength > this.#share.outputBytesMax) this.#socket.pause();
  }

  #read(chunk: Buffer): void {
    this.#sliceEndsMs = performance.now() + SLICE_MS;
    try {
      this.#reader.push(chunk);
    } catch (caught) {
      if (!(caught instanceof MalformedFrame)) throw caught;
      this.#log.warn('closing a router connection', {reason: caught.message});
      this.#isRefused = true;
      this.#socket.destroy();
    }
  }

  #frame(kind: FrameKind, stream: number, flags: number, meta: Buffer, body: Buffer): void {
    if (!this.#greeted) {
      this.#greet(kind, meta, body.toString('latin1'));
      return;
    }
    switch (kind) {
      case FrameKind.request:
        this.#request(stream, flags, parseRequestMeta(meta), body);
        return;
      case FrameKind.subscribe:
        this.#events.onSubscribe(this, stream, body);
        return;
      case FrameKind.unsubscribe:
        this.#events.onUnsubscribe(this, stream);
        return;
      case FrameKind.fence:
        this.#events.onFence(this, stream);
        return;
      case FrameKind.subscriptions:
        this.#counted(stream, numberIn(meta));
        return;
      case FrameKind.dropCached:
        if (!this.#share.caches.confirm(this, numberIn(meta))) throw new MalformedFrame('a confirmation of nothing');
        return;
      case FrameKind.answered:
        this.#events.onAnswered(reportedIn(body));
        return;
      case FrameKind.chunk:
        this.#bodies.chunk(stream, flags, body);
        return;
      case FrameKind.cancel:
        this.#bodies.cancel(stream);
        this.#cancel(stream);
        return;
      case FrameKind.credit:
        this.#bodies.credit(stream, Number(meta.toString('latin1')));
        return;
      case FrameKind.socketOpen:
        this.#events.sockets.opened(this, stream, meta.toString('utf8'), resumedIn(flags));
        return;
      case FrameKind.socketMessage:
        this.#events.sockets.message(this, stream, body, (flags & FrameFlag.binary) !== 0);
        return;
      case FrameKind.socketCredit:
        this.#events.sockets.credited(this, stream, numberIn(meta));
        return;
      case FrameKind.socketLeave:
        this.#events.sockets.leaves(this, stream);
        return;
      case FrameKind.socketClose:
        this.#events.sockets.closed(this, stream);
        return;
      default:
        throw new MalformedFrame(`a router does not send frames of kind ${kind}`);
    }
  }

  /**
   * Reads that may be long run in order, for SLICE_MS at a time. Commits, heartbeats and other routers run between
   * slices, however many requests arrive at once. None runs while the router is slow to take replies. Work that is
   * certainly short (a document by id, and adding a write to its group) does not wait behind them.
   */
  #request(stream: number, flags: number, meta: RequestMeta, body: Buffer): void {
    const {kind, isAtOnce, streamedBytesMax} = traitsOf(meta.op);
    let incoming: IncomingBody | null = null;
    if ((flags & FrameFlag.streams) !== 0) incoming = this.#bodies.receive(stream);
    // A short body of an operation with streamed bodies looks the same to its reader.
    else if (body.length > 0 && streamedBytesMax !== undefined) incoming = IncomingBody.whole(body);
    if (kind === 'write' || isAtOnce === true || (this.#requests.length === 0 && this.#mayRun())) {
      this.#events.onRequest(this, stream, meta, body, incoming);
    } else {
      this.#requests.push({stream, meta, body: Buffer.from(body), incoming});
      this.#scheduleSlice();
    }
  }

  #mayRun(): boolean {
    return performance.now() < this.#sliceEndsMs && this.#socket.writableLength <= this.#share.outputBytesMax;
  }

  #scheduleSlice(): void {
    if (this.#sliceScheduled || this.#socket.writableLength > this.#share.outputBytesMax) return; // `drain` goes on
    this.#sliceScheduled = true;
    setImmediate(() => {
      this.#sliceScheduled = false;
      this.#runSlice();
    });
  }

  #runSlice(): void {
    this.#sliceEndsMs = performance.now() + SLICE_MS;
    let done = 0;
    while (done < this.#requests.length && this.#mayRun()) {
      const {stream, meta, body, incoming} = this.#requests[done++]!;
      this.#events.onRequest(this, stream, meta, body, incoming);
    }
    this.#requests.splice(0, done);
    if (this.#requests.length > 0) this.#scheduleSlice();
  }

  #greet(kind: FrameKind, secret: Buffer, version: string): void {
    const known =
      kind === FrameKind.hello && secret.length === this.#secret.length && timingSafeEqual(secret, this.#secret);
    if (!known) throw new MalformedFrame('the first frame is not a hello with the right secret');
    if (version !== String(IPC_VERSION)) {
      throw new MalformedFrame(
        `the router speaks version ${version.slice(0, 20)} and this worker ${IPC_VERSION}: restart the server, its files were replaced`,
      );
    }
    this.#greeted = true;
    this.#share.caches.connected();
  }

  /** The meta of a response with an app's headers; null: they cannot be sent, and the error has been sent. */
  #head(stream: number, status: number, headers: HeaderList): string | null {
    const sent = appHeaders(headers);
    const hasStatus = Number.isInteger(status) && status >= 200 && status <= 599;
    const fault = hasStatus ? headersFault(sent) : `${status} is no status of a response`;
    if (fault === null) return JSON.stringify(appMeta(status, sent));
    this.fail(stream, new ServiceError('op.failed', `the response cannot be sent: ${fault}`));
    return null;
  }

  #cancel(stream: number): void {
    const cancel = this.#cancels.get(stream);
    this.#cancels.delete(stream);
    cancel?.();
  }

  #closed(): void {
    this.#share.closed();
    this.#requests = [];
    for (const stream of [...this.#cancels.keys()]) this.#cancel(stream);
    for (const stream of [...this.#counts.keys()]) this.#counted(stream, 0);
    this.#bodies.close();
    this.#share.caches.released(this, this.#isRefused);
    this.#events.onClose(this);
  }
}

/** @throws MalformedFrame */
function numberIn(meta: Buffer): number {
  const number = Number(meta.toString('latin1'));
  if (!Number.isSafeInteger(number) || number < 0) throw new MalformedFrame('it is no whole number');
  return number;
}

function answerTooLarge(): ServiceError {
  return tooLarge(`the answer takes more than ${FRAME_BODY_BYTES_MAX} bytes`);
}
