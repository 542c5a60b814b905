/**
 * Feeds a response body from an iterator, one chunk per tick. The next chunk is made only when the last one has been
 * sent, so other requests are served in between and at most one chunk is buffered. The iterator is always closed. If it
 * throws (a document is damaged), the client gets the error if nothing has been sent yet; otherwise the body is visibly
 * cut short.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {ServiceError} from '../../shared/errors.ts';

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
