/**
 * Feeds a response body from an iterator, one piece a turn and the next one only once the last has left, so that other
 * requests are served in between and no more than a piece waits for its reader. The iterator is closed whatever happens.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from './outgoing-body.ts';

export function feed(body: OutgoingBody, pieces: Iterator<string, void, void>): void {
  body.onCancel = () => void pieces.return?.();
  setImmediate(next);

  function next(): void {
    if (!body.isOpen) return;
    const piece = pieces.next();
    if (piece.done === true) {
      body.end();
      return;
    }
    body.write(Buffer.from(piece.value));
    if (body.isReady) setImmediate(next);
    else body.ready.then(() => setImmediate(next));
  }
}
