/** Streamed bodies of one connection, in both directions, by the stream of their exchange. */
import {Buffer} from 'node:buffer';
import {IncomingBody} from '../../engine/io/incoming-body.ts';
import {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {errorEnvelope, ServiceError} from '../../shared/errors.ts';
import {FrameFlag, FrameKind, MalformedFrame} from '../../shared/ipc/frame.ts';
import type {Logger} from '../../shared/log.ts';
import type {LinkShare} from './link-share.ts';

/** Queues a frame to be sent. Takes ownership of the body. */
type Send = (kind: FrameKind, stream: number, flags: number, meta: string, body: Buffer) => void;

const EMPTY = Buffer.alloc(0);

export class StreamedBodies {
  readonly #send: Send;
  readonly #share: LinkShare;
  readonly #log: Logger;
  readonly #incoming = new Map<number, IncomingBody>();
  readonly #outgoing = new Map<number, OutgoingBody>();
  /** Streams of #outgoing that iterators feed. */
  readonly #fed = new Set<number>();

  constructor(send: Send, share: LinkShare, log: Logger) {
    this.#send = send;
    this.#share = share;
    this.#log = log;
  }

  /** A request with a streamed body has arrived. @throws MalformedFrame */
  receive(stream: number): IncomingBody {
    if (this.#incoming.has(stream)) throw new MalformedFrame(`two request bodies of the stream ${stream}`);
    const incoming = new IncomingBody({
      taken: bytes => this.#send(FrameKind.credit, stream, FrameFlag.none, String(bytes), EMPTY),
      cancelled: () => {
        // Not when the exchange is over, because the router has already released it.
        if (this.#incoming.delete(stream)) this.#send(FrameKind.cancel, stream, FrameFlag.none, '', EMPTY);
      },
    });
    this.#incoming.set(stream, incoming);
    return incoming;
  }

  /** A chunk of a request's body has arrived. @throws MalformedFrame when it exceeds the window */
  chunk(stream: number, flags: number, chunk: Buffer): void {
    const incoming = this.#incoming.get(stream);
    if (incoming === undefined) return; // no longer wanted
    incoming.push(chunk);
    if ((flags & FrameFlag.end) === 0) return;
    this.#incoming.delete(stream);
    incoming.finish((flags & FrameFlag.failed) !== 0);
  }

  /** The exchange is answered: a reader of its request's body gets no more. */
  answered(stream: number): void {
    const incoming = this.#incoming.get(stream);
    if (incoming === undefined) return;
    this.#incoming.delete(stream);
    incoming.finish(true);
  }

  /** Starts a response whose body is written later. @param meta ResponseMeta as JSON */
  open(stream: number, meta: string): OutgoingBody {
    this.#send(FrameKind.response, stream, FrameFlag.streams, meta, EMPTY);
    const body = new OutgoingBody({
      chunk: chunk => this.#send(FrameKind.chunk, stream, FrameFlag.none, '', chunk),
      end: (reason, error) => {
        if (reason !== null) this.#log.warn('ending a streamed reply', {reason});
        const flags = reason === null ? FrameFlag.end : FrameFlag.end | FrameFlag.failed;
        const meta = error === null ? '' : JSON.stringify(errorEnvelope(error).error);
        this.#send(FrameKind.chunk, stream, flags, meta, EMPTY);
        this.#over(stream);
      },
    });
    this.#outgoing.set(stream, body);
    return body;
  }

  /** Starts a response whose body an iterator makes. @param meta ResponseMeta as JSON, empty: a plain one */
  feed(stream: number, chunks: Iterator<string, void, void>, meta: string): void {
    this.#fed.add(stream);
    this.#share.fedStreams++;
    feed(this.open(stream, meta), chunks);
  }

  /** The client took this many bytes of a response, which may have ended meanwhile. */
  credit(stream: number, bytes: number): void {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new MalformedFrame('credit is not a number of bytes');
    this.#outgoing.get(stream)?.credit(bytes);
  }

  /** The client has disconnected. */
  cancel(stream: number): void {
    const body = this.#outgoing.get(stream);
    this.#over(stream);
    body?.cancel();
  }

  /** The router has disconnected. */
  close(): void {
    for (const stream of [...this.#incoming.keys(), ...this.#outgoing.keys()]) this.cancel(stream);
  }

  #over(stream: number): void {
    this.answered(stream);
    this.#outgoing.delete(stream);
    if (this.#fed.delete(stream)) this.#share.fedStreams--;
  }
}

/**
 * Feeds a response body from an iterator, one chunk per tick. The next chunk is made only when the last one has been
 * sent, so other requests are served in between and at most one chunk is buffered. The iterator is always closed. If it
 * throws (a document is damaged), the client gets the error if nothing has been sent yet; otherwise the body is visibly
 * cut short.
 */
export function feed(body: OutgoingBody, chunks: Iterator<string, void, void>): void {
  body.onCancel = () => void chunks.return?.();
  setImmediate(next);

  function next(): void {
    if (!body.isOpen) return;
    const chunk = nextOf(chunks);
    if (chunk instanceof ServiceError) {
      body.fail(chunk);
      return;
    }
    if (chunk.done === true) {
      body.end();
      return;
    }
    if (chunk.value !== '') body.write(Buffer.from(chunk.value)); // empty: no output yet
    if (body.isReady) setImmediate(next);
    else body.ready.then(() => setImmediate(next));
  }
}

function nextOf(chunks: Iterator<string, void, void>): IteratorResult<string, void> | ServiceError {
  try {
    return chunks.next();
  } catch (caught) {
    if (caught instanceof ServiceError) return caught;
    throw caught;
  }
}
