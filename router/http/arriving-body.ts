/**
 * The body of a request while it arrives: what its head announced, how much has arrived, and whether more will. Its
 * reader gets the chunks until the answer has been sent; later ones are dropped, and the connection then closes
 * (`unwanted-body.ts`).
 */
import type {HttpResponse} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import type {ServiceError} from '../../shared/errors.ts';
import {BODY_BYTES_MAX} from '../../shared/limits.ts';
import {type HeldBody, tooManyBytes} from '../workers/held-bytes.ts';
import {type AnnouncedBody, bodyTooLarge} from './announced-body.ts';
import {UnwantedBody} from './unwanted-body.ts';

const EMPTY = Buffer.alloc(0);

export class ArrivingBody {
  readonly #res: HttpResponse;
  /** Null: the head announced no body. */
  readonly #announced: AnnouncedBody | null;
  /** Bytes that have arrived. */
  bytes = 0;
  /** A body is announced, and its last byte has not arrived. */
  #isComing: boolean;
  #isReading = false;
  /** Handles the part of the body that arrives after the answer. */
  #unwanted: UnwantedBody | null = null;

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
  read(take: (part: ArrayBuffer, isLast: boolean) => void): void {
    this.#isReading = true;
    this.#res.onData((part, isLast) => {
      this.bytes += part.byteLength;
      if (isLast) this.#isComing = false;
      if (this.#unwanted === null) take(part, isLast);
      else this.#unwanted.arrived(part.byteLength, isLast);
    });
  }

  /**
   * Buffers the body until it is complete.
   * @param held counts every byte that is buffered
   * @param isWanted called for each chunk; unwanted chunks are dropped
   * @param done called once, unless the body is no longer wanted; with a refusal if the body is too long or exceeds the
   * buffer capacity
   */
  collect(held: HeldBody, isWanted: () => boolean, done: (body: Buffer, refusal: ServiceError | null) => void): void {
    let parts: Buffer[] = [];
    const refuse = (error: ServiceError): void => {
      parts = [];
      done(EMPTY, error);
    };
    this.read((chunk, isLast) => {
      if (!isWanted()) return;
      if (this.bytes > BODY_BYTES_MAX) {
        refuse(bodyTooLarge(BODY_BYTES_MAX));
        return;
      }
      if (!held.hold(chunk.byteLength)) {
        refuse(tooManyBytes());
        return;
      }
      const part = Buffer.from(new Uint8Array(chunk)); // a copy
      if (isLast && parts.length === 0) {
        done(part, null);
        return;
      }
      parts.push(part);
      if (isLast) done(Buffer.concat(parts, this.bytes), null);
    });
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
    this.#unwanted = new UnwantedBody(this.#res);
    this.ignore();
  }

  clientGone(): void {
    this.#unwanted?.clientGone();
  }
}
