/**
 * What the head of a request says about its body. Two statements about its length are refused even if they agree,
 * because an intermediary may have used the other one and would treat the rest of the body as a separate request (RFC
 * 9112, 6.3). uWebSockets.js itself refuses a length combined with an encoding, and a length that is not a number. Of
 * several lengths it uses the first one, and it treats any encoding as chunked.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';

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
  return new ServiceError('op.too_large', `the body is longer than ${bytesMax} bytes`);
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
