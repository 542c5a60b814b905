/**
 * The worker's end of a router's connection. Requests are handed on in the order they arrive; replies gather and leave in
 * one write at the end of the turn (`flush`).
 *
 * Back-pressure: when the router reads replies too slowly, this end stops reading requests until it has caught up. Streamed
 * replies send at most STREAM_WINDOW_BYTES beyond what the router has credited; one whose reader takes nothing for
 * STREAM_STALL_MS is ended.
 *
 *   connected ──hello with the secret──▶ serving ──malformed frame | close | drain──▶ closed
 *       └──anything else──▶ closed
 */
import {Buffer} from 'node:buffer';
import {timingSafeEqual} from 'node:crypto';
import type {Socket} from 'node:net';
import {errorEnvelope, ServiceError} from '../../shared/errors.ts';
import {FrameFlag, FrameKind, FrameReader, FrameWriter, MalformedFrame} from '../../shared/ipc/frame.ts';
import {OPERATIONS, type RequestMeta, type ResponseMeta} from '../../shared/ipc/operations.ts';
import {
  FRAME_BODY_BYTES_MAX,
  SLICE_MS,
  STREAM_STALL_MS,
  STREAM_WINDOW_BYTES,
  WORKER_OUTPUT_BYTES_MAX,
} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import type {LiveHolder} from '../subscriptions/live-queries.ts';

export type RequestHandler = (link: RouterLink, stream: number, meta: RequestMeta, body: Buffer) => void;

export type LinkEvents = {
  onRequest: RequestHandler;
  /** Body: a query object as JSON. */
  onSubscribe: (link: RouterLink, stream: number, body: Buffer) => void;
  onUnsubscribe: (link: RouterLink, stream: number) => void;
  onMetrics: (link: RouterLink, stream: number) => void;
  /** All frames of a chunk have been handled: the turn's reads are over. */
  onTurnEnd: () => void;
  onClose: (link: RouterLink) => void;
};

type OutgoingStream = {
  pieces: Iterator<string, void, void>;
  creditBytes: number;
  /** The next piece is due in the next turn. */
  scheduled: boolean;
  stallTimer: NodeJS.Timeout | null;
};

export class RouterLink implements LiveHolder {
  readonly #socket: Socket;
  readonly #secret: Buffer;
  readonly #events: LinkEvents;
  readonly #log: Logger;
  readonly #writer: FrameWriter;
  readonly #reader: FrameReader;
  readonly #streams = new Map<number, OutgoingStream>();
  /** Requests that wait for the next slice, with bodies of their own. */
  #requests: {stream: number; meta: RequestMeta; body: Buffer}[] = [];
  #sliceScheduled = false;
  /** When the slice under way has had its time. */
  #sliceEndsMs = 0;
  #greeted = false;

  constructor(socket: Socket, secret: string, events: LinkEvents, log: Logger) {
    this.#socket = socket;
    this.#secret = Buffer.from(secret);
    this.#events = events;
    this.#log = log;
    this.#writer = new FrameWriter(bytes => {
      if (!this.#socket.destroyed) this.#socket.write(bytes);
    });
    this.#reader = new FrameReader((kind, stream, flags, meta, body) => this.#frame(kind, stream, flags, meta, body));
    socket.on('data', chunk => this.#read(chunk as Buffer));
    socket.on('drain', () => {
      socket.resume();
      if (this.#requests.length > 0) this.#scheduleSlice();
    });
    socket.on('error', error => log.debug('a router connection failed', {error}));
    socket.on('close', () => this.#closed());
  }

  /** Answers a request. An empty body is none. */
  reply(stream: number, status: number, body: string): void {
    if (body.length * 3 > FRAME_BODY_BYTES_MAX && Buffer.byteLength(body) > FRAME_BODY_BYTES_MAX) {
      this.fail(stream, new ServiceError('op.too_large', `the answer takes more than ${FRAME_BODY_BYTES_MAX} bytes`));
      return;
    }
    this.#writer.frame(FrameKind.response, stream, FrameFlag.none, status === 200 ? '' : `{"s":${status}}`, body);
  }

  fail(stream: number, error: ServiceError): void {
    const meta: ResponseMeta = {s: error.status};
    if (error.status === 503) meta.ra = 1;
    const body = JSON.stringify(errorEnvelope(error));
    this.#writer.frame(FrameKind.response, stream, FrameFlag.none, JSON.stringify(meta), body);
  }

  metrics(stream: number, body: string): void {
    this.#writer.frame(FrameKind.metrics, stream, FrameFlag.none, '', body);
  }

  live(stream: number, text: string): void {
    this.#writer.frame(FrameKind.live, stream, FrameFlag.none, '', text);
  }

  liveFailed(stream: number, error: ServiceError): void {
    this.#writer.frame(FrameKind.live, stream, FrameFlag.failed, '', JSON.stringify(errorEnvelope(error).error));
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

  /** Answers 200 with a body that is made while it is sent. The iterator is closed whatever happens. */
  stream(stream: number, pieces: Iterator<string, void, void>): void {
    this.#writer.frame(FrameKind.response, stream, FrameFlag.streams, '', '');
    const outgoing: OutgoingStream = {pieces, creditBytes: STREAM_WINDOW_BYTES, scheduled: false, stallTimer: null};
    this.#streams.set(stream, outgoing);
    this.#schedule(stream, outgoing);
  }

  /** Replies being streamed. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Sends what has gathered, and stops taking requests while the router is slow to read. */
  flush(): void {
    this.#writer.flush();
    if (this.#socket.writableLength > WORKER_OUTPUT_BYTES_MAX) this.#socket.pause();
  }

  /** Sends what has gathered and closes. */
  end(): void {
    this.flush();
    this.#socket.end();
  }

  #read(chunk: Buffer): void {
    this.#sliceEndsMs = performance.now() + SLICE_MS;
    try {
      this.#reader.push(chunk);
    } catch (caught) {
      if (!(caught instanceof MalformedFrame)) throw caught;
      this.#log.warn('closing a router connection', {reason: caught.message});
      this.#socket.destroy();
      return;
    }
    this.#events.onTurnEnd();
    this.flush();
  }

  #frame(kind: FrameKind, stream: number, _flags: number, meta: Buffer, body: Buffer): void {
    if (!this.#greeted) {
      this.#greet(kind, meta);
      return;
    }
    switch (kind) {
      case FrameKind.request:
        this.#request(stream, parseMeta(meta), body);
        return;
      case FrameKind.metrics:
        this.#events.onMetrics(this, stream);
        return;
      case FrameKind.subscribe:
        this.#events.onSubscribe(this, stream, body);
        return;
      case FrameKind.unsubscribe:
        this.#events.onUnsubscribe(this, stream);
        return;
      case FrameKind.cancel:
        this.#endStream(stream);
        return;
      case FrameKind.credit:
        this.#credit(stream, Number(meta.toString('latin1')));
        return;
      default:
        throw new MalformedFrame(`a router does not send frames of kind ${kind}`);
    }
  }

  /**
   * Reads that may be long run in their order, for SLICE_MS at a time: between slices commits, heartbeats and other routers
   * get their turn, however many arrive at once. None runs while the router is slow to take replies. What is certainly
   * short (a document by id, and a write's way into its group) does not wait behind them.
   */
  #request(stream: number, meta: RequestMeta, body: Buffer): void {
    const isShort = meta.op === 'documents.get' || OPERATIONS[meta.op] === 'write';
    if (isShort || (this.#requests.length === 0 && this.#mayRun())) this.#events.onRequest(this, stream, meta, body);
    else {
      this.#requests.push({stream, meta, body: Buffer.from(body)});
      this.#scheduleSlice();
    }
  }

  #mayRun(): boolean {
    return performance.now() < this.#sliceEndsMs && this.#socket.writableLength <= WORKER_OUTPUT_BYTES_MAX;
  }

  #scheduleSlice(): void {
    if (this.#sliceScheduled || this.#socket.writableLength > WORKER_OUTPUT_BYTES_MAX) return; // `drain` goes on
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
      const {stream, meta, body} = this.#requests[done++]!;
      this.#events.onRequest(this, stream, meta, body);
    }
    this.#requests.splice(0, done);
    this.#events.onTurnEnd();
    this.flush();
    if (this.#requests.length > 0) this.#scheduleSlice();
  }

  #greet(kind: FrameKind, secret: Buffer): void {
    const known =
      kind === FrameKind.hello && secret.length === this.#secret.length && timingSafeEqual(secret, this.#secret);
    if (!known) throw new MalformedFrame('the first frame is not a hello with the right secret');
    this.#greeted = true;
  }

  #credit(stream: number, bytes: number): void {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new MalformedFrame('credit is not a number of bytes');
    const outgoing = this.#streams.get(stream);
    if (outgoing === undefined) return; // it ended while the credit was under way
    outgoing.creditBytes += bytes;
    this.#schedule(stream, outgoing);
  }

  #schedule(stream: number, outgoing: OutgoingStream): void {
    if (outgoing.scheduled) return;
    outgoing.scheduled = true;
    setImmediate(() => {
      outgoing.scheduled = false;
      this.#pump(stream, outgoing);
    });
  }

  /** Sends one piece a turn while there is credit, so that other requests are served in between. */
  #pump(stream: number, outgoing: OutgoingStream): void {
    if (this.#streams.get(stream) !== outgoing) return;
    if (outgoing.stallTimer !== null) clearTimeout(outgoing.stallTimer);
    outgoing.stallTimer = null;
    if (outgoing.creditBytes <= 0) {
      outgoing.stallTimer = setTimeout(() => this.#failStream(stream, 'its reader stalled'), STREAM_STALL_MS);
      return;
    }
    const next = outgoing.pieces.next();
    if (next.done === true) {
      this.#writer.frame(FrameKind.chunk, stream, FrameFlag.end, '', '');
      this.#streams.delete(stream);
    } else if (next.value.length > 0) {
      const body = Buffer.from(next.value);
      outgoing.creditBytes -= body.length;
      this.#writer.frame(FrameKind.chunk, stream, FrameFlag.none, '', body, true);
    }
    this.flush();
    if (next.done !== true) this.#schedule(stream, outgoing);
  }

  #failStream(stream: number, reason: string): void {
    this.#log.warn('ending a streamed reply', {reason});
    this.#writer.frame(FrameKind.chunk, stream, FrameFlag.end | FrameFlag.failed, '', '');
    this.#endStream(stream);
    this.flush();
  }

  #endStream(stream: number): void {
    const outgoing = this.#streams.get(stream);
    if (outgoing === undefined) return;
    if (outgoing.stallTimer !== null) clearTimeout(outgoing.stallTimer);
    this.#streams.delete(stream);
    outgoing.pieces.return?.();
  }

  #closed(): void {
    this.#requests = [];
    for (const stream of [...this.#streams.keys()]) this.#endStream(stream);
    this.#events.onClose(this);
  }
}

/** What a router sent, checked: a router of another version must cost its connection, not the tenant its process. */
function parseMeta(meta: Buffer): RequestMeta {
  let value: Partial<RequestMeta> | null;
  try {
    value = JSON.parse(meta.toString('utf8')) as Partial<RequestMeta> | null;
  } catch (cause) {
    throw new MalformedFrame('request meta is not JSON', {cause});
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(OPERATIONS, String(value.op))) {
    throw new MalformedFrame('request meta names no operation');
  }
  const {p = [], q = '', k = '', r = ''} = value;
  const texts = [q, k, r];
  if (!Array.isArray(p) || ![...p, ...texts].every(text => typeof text === 'string')) {
    throw new MalformedFrame('request meta holds more than texts');
  }
  return value as RequestMeta;
}
