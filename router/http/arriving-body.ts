/**
 * The body of a request while it arrives: what its head said of it, how much has come, and whether more will. Its reader gets
 * the pieces until the answer has left; what comes after that is dropped, and the connection ends with it (`unwanted-body.ts`).
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
  /** Null: the head said nothing of a body. */
  readonly #announced: AnnouncedBody | null;
  /** That have come. */
  bytes = 0;
  /** It is announced, and its last byte has not come. */
  #isComing: boolean;
  #isReading = false;
  /** What of it comes after the answer. */
  #unwanted: UnwantedBody | null = null;

  constructor(res: HttpResponse, announced: AnnouncedBody | null) {
    this.#res = res;
    this.#announced = announced;
    this.#isComing = announced !== null && (announced.bytes !== 0 || announced.fault !== null);
  }

  /** Bytes that will come; null: that is not known. */
  get bytesAnnounced(): number | null {
    return this.#announced === null ? 0 : this.#announced.bytes;
  }

  /** @param take gets each piece, whose bytes are gone when it returns; none once the answer has left */
  read(take: (piece: ArrayBuffer, isLast: boolean) => void): void {
    this.#isReading = true;
    this.#res.onData((piece, isLast) => {
      this.bytes += piece.byteLength;
      if (isLast) this.#isComing = false;
      if (this.#unwanted === null) take(piece, isLast);
      else this.#unwanted.arrived(piece.byteLength, isLast);
    });
  }

  /**
   * Keeps it until it is whole.
   * @param held is told of every byte that is kept
   * @param isWanted asked at each piece; what is not wanted is dropped
   * @param done called once, unless it is not wanted any more; with a refusal when it is longer than it may be, or than there is room for
   */
  collect(held: HeldBody, isWanted: () => boolean, done: (body: Buffer, refusal: ServiceError | null) => void): void {
    let pieces: Buffer[] = [];
    const refuse = (error: ServiceError): void => {
      pieces = [];
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
      const piece = Buffer.from(new Uint8Array(chunk)); // a copy
      if (isLast && pieces.length === 0) {
        done(piece, null);
        return;
      }
      pieces.push(piece);
      if (isLast) done(Buffer.concat(pieces, this.bytes), null);
    });
  }

  /** Nobody reads it: what comes is dropped. */
  ignore(): void {
    if (this.#isComing && !this.#isReading) this.read(() => {});
  }

  /**
   * More of the body comes, and then the connection ends: because we or the client said so, or because what comes is
   * more than a kept connection is worth. Or nobody knows where the body ends: an answer that is not ended makes
   * uWebSockets.js close the connection at the next request instead of serving it.
   *
   * @param closes we said so
   */
  mustBeOutlasted(closes: boolean): boolean {
    if (this.#announced === null) return false;
    const {bytes, clientCloses, fault} = this.#announced;
    if (fault !== null) return true;
    if (!this.#isComing) return false;
    return closes || clientCloses || bytes === null || bytes > BODY_BYTES_MAX;
  }

  /** All of the answer is written. The connection closes when the rest of the body has come, or too much of it. */
  dropRest(): void {
    this.#unwanted = new UnwantedBody(this.#res);
    this.ignore();
  }

  clientGone(): void {
    this.#unwanted?.clientGone();
  }
}
