/**
 * The ways to write the end of an answer, other than `end` of uWebSockets.js with a small body. All functions are called
 * corked.
 *
 * `end` ends the exchange: after it, the connection can neither be closed nor be kept from the rest of the request's
 * body. So an answer whose connection must close after that rest is written completely, but not ended.
 */
import type {HttpResponse} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import type {Backlog, BufferedBytes} from '../../shared/byte-accounts.ts';
import {hasNoBody} from './reply-head.ts';

/** For HEAD, the length of the body is stated; for 204 and 304, no length. */
export function endWithoutBody(res: HttpResponse, status: number, body: string | Buffer, closes: boolean): void {
  if (closes) res.writeHeader('Connection', 'close');
  // With a length as argument, `endWithoutBody` would wait for that many bytes and treat the next request as premature.
  if (!hasNoBody(status)) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
  res.endWithoutBody();
}

/**
 * Writes a JSON body without `end`. A text written as a header can end the head; the line break after it becomes white
 * space at the end of the body.
 * @returns bytes of the body
 */
export function writeUnended(res: HttpResponse, status: number, body: string | Buffer, isHead: boolean): number {
  if (isHead || body.length === 0 || hasNoBody(status)) {
    if (!hasNoBody(status)) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    res.writeHeader('Connection', 'close\r\n');
    return 0;
  }
  const bytes = Buffer.byteLength(body) + 2;
  res.writeHeader('Connection', 'close');
  res.writeHeader('Content-Length', `${bytes}\r\n\r\n${body}`);
  return bytes;
}

/** Writes the last chunk of a streamed body without `end`, and one trailer, because only a header can be written here. */
export function writeUnendedStream(res: HttpResponse, requestId: string): void {
  res.writeHeader('\r\n0\r\nX-Request-Id', `${requestId}\r\n`);
}

/**
 * Sends a large body as the kernel takes it. Until then the Buffer itself is kept, not a copy.
 * @param unsent counts the body until the client has taken all of it; null: it is not counted
 * @param onEnd called when the kernel has taken the last byte, which may be during this call
 * @returns to be closed when the exchange is over; null: nothing is counted
 */
export function endLarge(
  res: HttpResponse,
  body: Buffer,
  unsent: BufferedBytes | null,
  onEnd: () => void,
): Backlog | null {
  const [, hasResponded] = res.tryEnd(body, body.length);
  if (hasResponded) {
    onEnd();
    return null;
  }
  const backlog = unsent === null ? null : unsent.open();
  backlog?.measured(body.length);
  res.onWritable(offset => {
    const [isOk, isFinished] = res.tryEnd(body.subarray(offset), body.length);
    if (isFinished) onEnd();
    return isOk;
  });
  return backlog;
}
