/**
 * What the head of a request says about its body. Two statements about its length are refused even where they agree: whoever
 * stands between the client and us may have believed the other one, and would take the rest of the body for a request of its
 * own (RFC 9112, 6.3). uWebSockets.js itself refuses a length beside an encoding and one that is no number; of several it
 * takes the first, and any encoding for chunked.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';

export type AnnouncedBody = {
  /** Null: chunked, however many come. */
  bytes: number | null;
  /** The client asked that the connection be closed after the answer. */
  clientCloses: boolean;
  /** Why its end cannot be relied on, as half a sentence; null: it can. */
  fault: string | null;
};

/** Null: none is announced. Two header look-ups for a request without body, because all of them pay for it. */
export function announcedBody(req: HttpRequest): AnnouncedBody | null {
  const length = req.getHeader('content-length');
  const encoding = req.getHeader('transfer-encoding');
  if (length === '' && encoding === '') return null;
  return {
    bytes: encoding === '' ? Number(length) : null,
    // As uWebSockets.js decides it.
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
