/**
 * The router's end of the connection to one tenant's worker. All requests of one event-loop turn are sent in one write;
 * answers return in any order, matched by stream id.
 *
 *   connecting ──connect──▶ open ──retire──▶ retiring ──last answer──▶ closed
 *        └──────────────────┴── malformed frame | worker gone ──────────▶ closed
 *
 * When a link closes, each request that it still holds is handled by kind:
 *
 *   never written to the socket                handed back: it can go to the next worker, unless part of its body
 *                                              is lost
 *   a short read, or a scan that just began    handed back, once
 *   a call of a function, or a longer scan     session.worker_unavailable: a request that may have crashed this worker
 *                                              is never retried on another
 *   a stream                                   cut, visibly for the client
 *   a write                                    session.outcome_unknown
 */
import type {Buffer} from 'node:buffer';
import type {Socket} from 'node:net';
import {type ReservedBytes, tooManyBytes} from '../../shared/byte-accounts.ts';
import {overloaded, type ServiceError} from '../../shared/errors.ts';
import type {UserCall} from '../../shared/ipc/control.ts';
import {FrameFlag, FrameKind, FrameReader, FrameWriter, IPC_VERSION, MalformedFrame} from '../../shared/ipc/frame.ts';
import type {Logger} from '../../shared/log.ts';
import type {RouterLimits} from '../router-limits.ts';
import {type AnswerCache, droppedIn} from './answer-cache.ts';
import {AnsweredCalls} from './answered-calls.ts';
import {
  type Forwarded,
  type Holder,
  type LinkedWorker,
  type LiveReceiver,
  type Receivers,
  type RequestUpload,
  reservedBytes,
} from './forwarded.ts';
import {LinkSockets} from './link-sockets.ts';
import {lost} from './lost-requests.ts';
import {STREAM_BUFFERED_BYTES_MAX, streamOf} from './streams.ts';
import {bytesIn, errorIn, parseResponseMeta, serviceErrorIn, versionIn} from './worker-frames.ts';
import type {Connect} from './worker-socket.ts';

export type LinkClosed = {
  link: WorkerLink;
  /** The worker was reached, so its loss is a crash, not a failed connect. */
  wasOpen: boolean;
  /** Closed by us, because nothing more was to be sent. */
  retired: boolean;
  /** Requests that can be sent to another worker. */
  unanswered: Forwarded[];
  /** Function calls that the worker received and did not answer, including those of disconnected clients. */
  calls: UserCall[];
};

export type LinkEvents = {
  /** The worker violated the protocol. The link closes. */
  malformed: (link: WorkerLink, why: string) => void;
  closed: (closed: LinkClosed) => void;
};

export class WorkerLink implements Holder {
  readonly end: LinkedWorker;
  /** Usable until the link retires or ends. */
  readonly cache: AnswerCache;
  /** Calls that the cache answered. */
  readonly answered: AnsweredCalls;
  /** The function sockets that are open at the worker. */
  readonly sockets: LinkSockets;
  readonly #socket: Socket;
  readonly #log: Logger;
  readonly #events: LinkEvents;
  readonly #live: LiveReceiver;
  readonly #writer: FrameWriter;
  readonly #reader: FrameReader;
  readonly #reserved: ReservedBytes;
  readonly #limits: RouterLimits;
  readonly #inFlight = new Map<number, Forwarded>();
  /** Memory cost of the requests in flight in the worker. */
  #inFlightBytes = 0;
  /** Requests in flight whose bodies can be released once the socket has them. */
  #unsent: Forwarded[] = [];
  /** The part of #held that the socket has not passed on. */
  #bufferedBytes = 0;
  /** Streams of #inFlight whose first frame has arrived, with the bytes that their clients have not taken. */
  readonly #streaming = new Map<number, number>();
  readonly #flush: () => void;
  #flushScheduled = false;
  /**
   * When the current write began to accumulate. Used for all its requests, because reading the clock for each would
   * cost more than building its frame.
   */
  #turnBeganMs = 0;
  #order = 0;
  /** The highest order whose bytes may have reached the socket. */
  #writtenOrder = 0;
  #wasOpen: boolean;
  #retired = false;
  #isMalformed = false;

  constructor(
    end: LinkedWorker,
    connect: Connect,
    log: Logger,
    {live, pipes, cache}: Receivers,
    reserved: ReservedBytes,
    limits: RouterLimits,
    events: LinkEvents,
  ) {
    this.end = end;
    this.#reserved = reserved;
    this.#limits = limits;
    this.#log = log;
    this.#events = events;
    this.#live = live;
    this.cache = cache;
    this.answered = new AnsweredCalls(report => {
      if (this.#socket.writableLength <= this.#limits.linkBufferBytes) this.#send(FrameKind.answered, 0, '', report);
    });
    this.sockets = new LinkSockets(
      pipes,
      (kind, of, flags, meta, body) => {
        this.#writer.frame(kind, of, flags, meta, body);
        this.#scheduleFlush();
      },
      () => this.#closeIfIdle(),
    );
    const {socket, secret, fault} = connect(chunk => this.#read(chunk));
    this.#socket = socket;
    this.#wasOpen = secret === null;
    this.#writer = new FrameWriter(bytes => {
      if (this.#socket.destroyed) return;
      this.#writtenOrder = this.#order;
      this.#socket.write(bytes);
      this.#countBuffered();
    });
    this.#reader = new FrameReader((kind, stream, flags, meta, body) => this.#frame(kind, stream, flags, meta, body));
    this.#flush = () => {
      this.#flushScheduled = false;
      this.#writer.flush();
      this.#letGo();
    };
    this.#socket.on('connect', () => {
      this.#wasOpen = true;
      this.#letGo();
    });
    this.#socket.on('drain', () => this.#countBuffered());
    this.#socket.on('error', error => log.debug('a worker connection failed', {tenant: end.tenant, error}));
    this.#socket.on('close', () => this.#closed());
    if (secret !== null) {
      this.#writer.frame(FrameKind.hello, 0, FrameFlag.none, secret, String(IPC_VERSION));
      this.#scheduleFlush();
    }
    if (fault !== null) setImmediate(() => this.#endMalformed(new MalformedFrame(fault)));
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Memory cost of the requests in flight in the worker. */
  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** Bytes the worker has not taken yet. */
  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  /** @throws session.overloaded 503 when the worker is too far behind */
  send(request: Forwarded): void {
    const bytes = reservedBytes(request);
    const {inFlightRequests, inFlightBytes, linkBufferBytes} = this.#limits;
    if (this.#inFlight.size >= inFlightRequests || this.#socket.writableLength > linkBufferBytes) {
      throw overloaded('too many requests of this tenant are under way; try again later');
    }
    if (this.#inFlightBytes + bytes > inFlightBytes) throw tooManyBytes();
    this.answered.flush();
    const stream = this.#nextStream();
    request.order = this.#order;
    request.holder = this;
    request.bytes = bytes;
    this.#inFlightBytes += bytes;
    this.#inFlight.set(stream, request);
    if (bytes > 0) this.#unsent.push(request);
    const {upload} = request;
    // A large body is written without a copy: it belongs to the request and does not change.
    const flags = upload === null ? FrameFlag.none : FrameFlag.streams;
    this.#writer.frame(FrameKind.request, stream, flags, request.meta, request.body, true);
    if (upload !== null) this.#attach(stream, upload);
    this.#scheduleFlush();
    request.sentMs = this.#turnBeganMs;
  }

  #attach(stream: number, upload: RequestUpload): void {
    const send = (flags: number, chunk: Buffer | string) => {
      this.#writer.frame(FrameKind.chunk, stream, flags, '', chunk, true);
      this.#scheduleFlush();
    };
    upload.attach({
      chunk: chunk => send(FrameFlag.none, chunk),
      end: failed => send(failed ? FrameFlag.end | FrameFlag.failed : FrameFlag.end, ''),
    });
  }

  /**
   * The client has disconnected. A stream is cancelled. Any other answer is awaited and dropped, so that the count
   * stays correct, but a read can be given up.
   */
  abandon(request: Forwarded): void {
    request.holder = null;
    const stream = streamOf(request.order);
    if (this.#streaming.delete(stream)) this.#cancel(stream);
    else if (request.isRead && this.#inFlight.has(stream)) this.#send(FrameKind.cancel, stream);
  }

  credit(request: Forwarded, bytes: number): void {
    const stream = streamOf(request.order);
    // Clamped at zero, because part of the end of a stream of events is ours.
    if (this.#streaming.has(stream)) this.#streaming.set(stream, Math.max(0, this.#streaming.get(stream)! - bytes));
    this.#send(FrameKind.credit, stream, String(bytes));
  }

  /** Subscribes to a live query in the worker; its results go to the receiver under this stream id. */
  subscribe(stream: number, query: string): void {
    this.#send(FrameKind.subscribe, stream, '', query);
  }

  /** Requests a fence: `fenced` reports when everything answered by now has arrived. */
  fence(stream: number): void {
    this.#send(FrameKind.fence, stream);
  }

  unsubscribe(stream: number): void {
    this.#send(FrameKind.unsubscribe, stream);
  }

  /**
   * Cuts streamed answers, because their readers can take any time for the rest.
   * @param which endless answers, or all
   * @returns the endless ones that can continue at another worker
   */
  cutStreams(which: 'endless' | 'all', why: ServiceError): Forwarded[] {
    const continued: Forwarded[] = [];
    for (const stream of [...this.#streaming.keys()]) {
      const request = this.#inFlight.get(stream)!;
      if (which === 'endless' && !request.isEndless) continue;
      this.#streaming.delete(stream);
      this.#cancel(stream);
      request.holder = null;
      if (which === 'endless' && request.continues()) continued.push(request);
      else request.endStream(true, why);
    }
    return continued;
  }

  /** Accepts no more requests, and closes once those under way are answered and its sockets have left. */
  retire(): void {
    this.#retired = true;
    this.cache.end();
    this.answered.flush();
    this.#closeIfIdle();
  }

  /** The supervisor reported that the worker is gone. */
  destroy(): void {
    this.#destroy();
  }

  #nextStream(): number {
    do this.#order++;
    while (streamOf(this.#order) === 0 || this.#inFlight.has(streamOf(this.#order)));
    return streamOf(this.#order);
  }

  #send(kind: FrameKind, stream: number, meta = '', body = ''): void {
    this.#writer.frame(kind, stream, FrameFlag.none, meta, body);
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    this.#turnBeganMs = performance.now();
    // Runs after the poll phase: one write for all requests that arrived in this turn. A microtask would run after
    // each.
    setImmediate(this.#flush);
  }

  /** An error in what a worker sends closes its link, not this process, which serves all tenants. */
  #read(chunk: Buffer): void {
    if (this.#isMalformed) return;
    try {
      this.#reader.push(chunk);
    } catch (caught) {
      this.#endMalformed(caught);
    }
  }

  #endMalformed(caught: unknown): void {
    if (this.#isMalformed) return;
    this.#isMalformed = true;
    const {tenant} = this.end;
    if (caught instanceof MalformedFrame) {
      this.#log.error('a worker violated the protocol; its connection is closed', {
        tenant,
        reason: caught.message,
      });
    } else
      this.#log.error('a message of a worker caused an unexpected error; its connection is closed', {
        tenant,
        error: caught,
      });
    this.#destroy();
    this.#events.malformed(this, (caught as Error).message);
  }

  #frame(kind: FrameKind, stream: number, flags: number, meta: Buffer, body: Buffer): void {
    switch (kind) {
      case FrameKind.response:
        this.#response(stream, flags, meta, body);
        return;
      case FrameKind.chunk:
        this.#chunk(stream, flags, meta, body);
        return;
      case FrameKind.credit:
        this.#credited(stream, bytesIn(meta));
        return;
      case FrameKind.cancel:
        this.#inFlight.get(stream)?.upload?.discard();
        return;
      case FrameKind.live:
        if (this.#retired) return; // results of another worker are shown by now
        if ((flags & FrameFlag.failed) === 0) this.#live.result(stream, body);
        else this.#live.failed(stream, errorIn(body));
        return;
      case FrameKind.liveBehind:
        if (!this.#retired) this.#live.behind(stream);
        return;
      case FrameKind.fence:
        if (!this.#retired) this.#live.fenced(stream);
        return;
      case FrameKind.subscriptions:
        // A worker that sends more questions than it reads answers gets none.
        if (!this.#retired && this.#socket.writableLength <= this.#limits.linkBufferBytes)
          this.#send(FrameKind.subscriptions, stream, String(this.#live.subscriptions(stream)));
        return;
      case FrameKind.liveEnd: {
        if (this.#retired) return;
        const {sequence, committedMs} = versionIn(meta);
        this.#live.endBatch(sequence, committedMs);
        return;
      }
      case FrameKind.dropCached:
        this.cache.drop(droppedIn(body));
        if (meta.length > 0 && this.#socket.writableLength <= this.#limits.linkBufferBytes)
          this.#send(FrameKind.dropCached, stream, String(bytesIn(meta)));
        return;
      case FrameKind.socketMessage:
      case FrameKind.socketCredit:
      case FrameKind.socketResumes:
      case FrameKind.socketClose:
        this.sockets.receive(kind, stream, meta, body);
        return;
      default:
        throw new MalformedFrame(`a worker does not send frames of kind ${kind}`);
    }
  }

  #response(stream: number, flags: number, meta: Buffer, body: Buffer): void {
    const request = this.#inFlight.get(stream);
    if (request === undefined) throw new MalformedFrame(`an answer to the unknown stream ${stream}`);
    if (this.#streaming.has(stream)) throw new MalformedFrame('an answer to a stream that has begun');
    const head = parseResponseMeta(meta);
    if ((flags & FrameFlag.streams) !== 0) {
      if (request.aborted) {
        this.#cancel(stream);
        return;
      }
      this.#streaming.set(stream, 0);
      request.startStream(head);
      return;
    }
    this.#over(stream, request);
    request.holder = null;
    request.suspectedBy?.answered(request.call!);
    if ((flags & FrameFlag.cacheable) !== 0 && request.cacheAs !== null)
      this.cache.store(request.cacheAs, head, body, request.sentMs);
    request.answer(head, body);
    this.#closeIfIdle();
  }

  #chunk(stream: number, flags: number, meta: Buffer, body: Buffer): void {
    const bufferedBytes = this.#streaming.get(stream);
    if (bufferedBytes === undefined) return; // cancelled while it was under way
    if (bufferedBytes + body.length > STREAM_BUFFERED_BYTES_MAX)
      throw new MalformedFrame('more of a stream than was credited');
    const request = this.#inFlight.get(stream)!;
    if (body.length > 0) {
      this.#streaming.set(stream, bufferedBytes + body.length); // first, because its client may take it at once
      request.streamChunk(body);
    }
    if ((flags & FrameFlag.end) === 0 || request.aborted) return;
    const why = meta.length === 0 ? null : serviceErrorIn(meta);
    this.#streaming.delete(stream);
    this.#over(stream, request);
    request.holder = null;
    request.suspectedBy?.answered(request.call!);
    request.endStream((flags & FrameFlag.failed) !== 0, why);
    this.#closeIfIdle();
  }

  /** The worker took this many bytes of a request's body. */
  #credited(stream: number, bytes: number): void {
    this.#inFlight.get(stream)?.upload?.credit(bytes); // otherwise its answer overtook the credit
  }

  /** The worker no longer holds the request. */
  #over(stream: number, request: Forwarded): void {
    this.#inFlight.delete(stream);
    this.#inFlightBytes -= request.bytes;
  }

  /**
   * Releases bodies that the socket has taken, but only once it is connected: before that, all of them may have to go
   * to another worker. After the connection has broken, it releases nothing.
   */
  #letGo(): void {
    if (!this.#wasOpen || this.#socket.destroyed || this.#unsent.length === 0) return;
    for (const request of this.#unsent) request.sent();
    this.#unsent = [];
  }

  #countBuffered(): void {
    const bytes = this.#socket.destroyed ? 0 : this.#socket.writableLength;
    if (bytes === this.#bufferedBytes) return;
    this.#reserved.take(bytes - this.#bufferedBytes);
    this.#bufferedBytes = bytes;
  }

  #cancel(stream: number): void {
    const request = this.#inFlight.get(stream);
    if (request !== undefined) this.#over(stream, request);
    this.#send(FrameKind.cancel, stream);
    this.#closeIfIdle();
  }

  #closeIfIdle(): void {
    if (!this.#retired || this.#inFlight.size > 0 || this.sockets.areLeaving) return;
    this.#writer.flush();
    this.#socket.end();
  }

  /** The worker takes the end of the connection for the end of the cache, so the cache ends first. */
  #destroy(): void {
    this.cache.end();
    this.#socket.destroy();
  }

  #closed(): void {
    this.cache.end();
    this.answered.end();
    const unanswered: Forwarded[] = [];
    const calls: UserCall[] = [];
    const nowMs = performance.now();
    for (const [stream, request] of this.#inFlight) {
      request.holder = null;
      const wasWritten = this.#wasOpen && request.order <= this.#writtenOrder;
      if (wasWritten && request.call !== null) calls.push(request.call);
      if (request.aborted) continue;
      const isStreaming = this.#streaming.has(stream);
      lost(request, {worker: this.end.worker, nowMs, wasWritten, isStreaming}, unanswered);
    }
    this.#inFlight.clear();
    this.#inFlightBytes = 0;
    this.#unsent = [];
    this.#streaming.clear();
    this.#countBuffered();
    this.#events.closed({link: this, wasOpen: this.#wasOpen, retired: this.#retired, unanswered, calls});
  }
}
