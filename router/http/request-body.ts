/**
 * The body of a request: what its head announces, how much of it has arrived, and whether more will.
 *
 *   announced ──read | collect──▶ arriving ──last byte──▶ complete
 *       └── ignore ──▶ dropped as it arrives
 *   answered while it arrives ──dropRest──▶ dropping ──last byte | bound | time──▶ connection closed
 *
 * Its reader gets the chunks until the answer has been sent. Closing a connection with unread bytes resets it, and a
 * reset discards the answer if the client has not read it yet. So the rest is read and dropped, up to
 * DROPPED_BODY_BYTES_MAX and for DROPPED_BODY_MS, and then the connection closes.
 */
import type {HttpRequest, HttpResponse} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {type ReservedBytes, tooManyBytes} from '../../shared/byte-accounts.ts';
import {type ServiceError, tooLarge} from '../../shared/errors.ts';
import {BODY_BYTES_MAX} from '../../shared/limits.ts';
import {DROPPED_BODY_BYTES_MAX, DROPPED_BODY_MS} from '../limits.ts';

const EMPTY = Buffer.alloc(0);

export type AnnouncedBody = {
  /** Null: chunked, of unknown length. */
  bytes: number | null;
  /** The client requested that the connection be closed after the answer. */
  clientCloses: boolean;
  /** Why the end of the body is unreliable, as half a sentence; null: it is reliable. */
  fault: string | null;
};

/**
 * Null: no body is announced. For requests without a body this takes two header look-ups, because every request pays
 * for them.
 *
 * Two statements about the length are refused even if they agree, because an intermediary may have used the other one
 * and would treat the rest of the body as a separate request (RFC 9112, 6.3). uWebSockets.js itself refuses a length
 * combined with an encoding, and a length that is not a number. Of several lengths it uses the first one, and it treats
 * any encoding as chunked.
 */
export function announcedBody(req: HttpRequest): AnnouncedBody | null {
  const length = req.getHeader('content-length');
  const encoding = req.getHeader('transfer-encoding');
  if (length === '' && encoding === '') return null;
  return {
    bytes: encoding === '' ? Number(length) : null,
    // The same decision as in uWebSockets.js.
    clientCloses: req.getHeader('connection').toLowerCase() === 'close',
    fault: framingFault(req),
  };
}

export function bodyTooLarge(bytesMax: number): ServiceError {
  return tooLarge(`the body is longer than ${bytesMax} bytes`);
}

function framingFault(req: HttpRequest): string | null {
  let lengths = 0;
  let encodings = '';
  req.forEach((name, value) => {
    if (name === 'content-length') lengths++;
    else if (name === 'transfer-encoding') encodings += `${encodings === '' ? '' : ', '}${value}`;
  });
  if (lengths > 1) return `the request has ${lengths} Content-Length headers; one is allowed`;
  if (encodings !== '' && encodings.toLowerCase() !== 'chunked') {
    return `the request has Transfer-Encoding: ${encodings}; only chunked is taken`;
  }
  return null;
}

export class ArrivingBody {
  readonly #res: HttpResponse;
  /** Null: the head announced no body. */
  readonly #announced: AnnouncedBody | null;
  /** Bytes that have arrived. */
  bytes = 0;
  /** A body is announced, and its last byte has not arrived. */
  #isComing: boolean;
  #isReading = false;
  #account: ReservedBytes | null = null;
  #reservedBytes = 0;
  #isGone = false;
  /** Closes the connection if the rest takes too long; null: it is not being dropped. */
  #dropTimer: NodeJS.Timeout | null = null;
  #droppedBytesLeft = DROPPED_BODY_BYTES_MAX;

  constructor(res: HttpResponse, announced: AnnouncedBody | null) {
    this.#res = res;
    this.#announced = announced;
    this.#isComing = announced !== null && (announced.bytes !== 0 || announced.fault !== null);
  }

  /** Length of the body; null: unknown. */
  get bytesAnnounced(): number | null {
    return this.#announced === null ? 0 : this.#announced.bytes;
  }

  /**
   * @param take gets each chunk, whose bytes are invalid after it returns; it is not called once the answer has been
   * sent
   */
  read(take: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#isReading = true;
    this.#res.onData((chunk, isLast) => {
      this.bytes += chunk.byteLength;
      if (isLast) this.#isComing = false;
      if (this.#dropTimer === null) take(chunk, isLast);
      else this.#dropped(chunk.byteLength, isLast);
    });
  }

  /**
   * Buffers the body until it is complete.
   * @param account reserves every byte that is buffered; null: the request belongs to no tenant, and is not counted
   * @param isWanted called for each chunk; unwanted chunks are dropped
   * @param answers called with the complete body, which is valid during the call; returns whether it answered, so that the
   * body need not be kept. Null: nothing answers before `done`
   * @param done called once, unless the body is no longer wanted; with a refusal if the body is too long or exceeds the
   * buffer capacity
   */
  collect(
    account: ReservedBytes | null,
    isWanted: () => boolean,
    answers: ((body: Uint8Array) => boolean) | null,
    done: (body: Buffer, refusal: ServiceError | null) => void,
  ): void {
    this.#account = account;
    let parts: Buffer[] | null = null;
    this.read((chunk, isLast) => {
      if (!isWanted()) return;
      const isWhole = isLast && parts === null;
      const error = this.#refusalOf(chunk.byteLength);
      if (error !== null) {
        parts = null;
        done(EMPTY, error);
      } else if (isWhole) {
        const bytes = new Uint8Array(chunk);
        if (answers?.(bytes) !== true) done(Buffer.from(bytes), null); // a copy
      } else {
        parts ??= [];
        parts.push(Buffer.from(new Uint8Array(chunk)));
        if (!isLast) return;
        const body = Buffer.concat(parts, this.bytes);
        if (answers?.(body) !== true) done(body, null);
      }
    });
  }

  /** Reserves a chunk that has arrived; null: it can be buffered. */
  #refusalOf(bytes: number): ServiceError | null {
    if (this.bytes > BODY_BYTES_MAX) return bodyTooLarge(BODY_BYTES_MAX);
    return this.#reserve(bytes) ? null : tooManyBytes();
  }

  #reserve(bytes: number): boolean {
    if (this.#account === null) return true;
    if (!this.#account.hasRoom(bytes)) return false;
    this.#account.take(bytes);
    this.#reservedBytes += bytes;
    return true;
  }

  /** The buffered bytes are not needed any more; further calls do nothing. */
  release(): void {
    if (this.#reservedBytes > 0) this.#account!.give(this.#reservedBytes);
    this.#reservedBytes = 0;
  }

  /** The answer is written, and the connection closes after the rest of the body. */
  get isDropping(): boolean {
    return this.#dropTimer !== null;
  }

  /** Drops the body as it arrives. */
  ignore(): void {
    if (this.#isComing && !this.#isReading) this.read(() => {});
  }

  /**
   * Whether the connection must close after the rest of the body: because we or the client want to close it, or because
   * the rest is longer than a kept connection is worth. Also true if the end of the body is unknown: if the answer is
   * not ended, uWebSockets.js closes the connection at the next request instead of serving it.
   *
   * @param closes we want to close the connection
   */
  mustBeOutlasted(closes: boolean): boolean {
    if (this.#announced === null) return false;
    const {bytes, clientCloses, fault} = this.#announced;
    if (fault !== null) return true;
    if (!this.#isComing) return false;
    return closes || clientCloses || bytes === null || bytes > BODY_BYTES_MAX;
  }

  /**
   * Called when the whole answer is written. The connection closes after the rest of the body, or after too much of it.
   */
  dropRest(): void {
    this.#dropTimer = setTimeout(() => this.#close(), DROPPED_BODY_MS);
    this.ignore();
  }

  #dropped(bytes: number, isLast: boolean): void {
    this.#droppedBytesLeft -= bytes;
    // Deferred, because this is called while input is parsed, and output written meanwhile leaves only after that.
    if (isLast || this.#droppedBytesLeft < 0) setImmediate(() => this.#close());
  }

  /** The connection is gone: the response must not be used any more. */
  clientGone(): void {
    this.#isGone = true;
    if (this.#dropTimer !== null) clearTimeout(this.#dropTimer);
  }

  #close(): void {
    if (!this.#isGone) this.#res.close(); // calls `clientGone`
  }
}
