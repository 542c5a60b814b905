/**
 * Feeds a response body from an iterator, one piece a turn and the next one only once the last has left, so that other
 * requests are served in between and no more than a piece waits for its reader. The iterator is closed whatever happens.
 * When it refuses to go on (a document is damaged), the client is answered the error if nothing has left yet; else the body is cut short, visibly.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {ServiceError} from '../../shared/errors.ts';

export function feed(body: OutgoingBody, pieces: Iterator<string, void, void>): void {
  body.onCancel = () => void pieces.return?.();
  setImmediate(next);

  function next(): void {
    if (!body.isOpen) return;
    const piece = nextOf(pieces);
    if (piece instanceof ServiceError) {
      body.fail(piece);
      return;
    }
    if (piece.done === true) {
      body.end();
      return;
    }
    if (piece.value !== '') body.write(Buffer.from(piece.value)); // it may still look for what to say
    if (body.isReady) setImmediate(next);
    else body.ready.then(() => setImmediate(next));
  }
}

function nextOf(pieces: Iterator<string, void, void>): IteratorResult<string, void> | ServiceError {
  try {
    return pieces.next();
  } catch (caught) {
    if (caught instanceof ServiceError) return caught;
    throw caught;
  }
}
