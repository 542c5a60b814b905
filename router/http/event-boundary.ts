/**
 * How a stream of events is ended by somebody else than its maker: with an event that says why, if what has left ends with a
 * whole one. Within an event nothing can be said that its reader would not take for a part of it; then the connection is cut,
 * and readers pass over an event that is not whole.
 */
import {Buffer} from 'node:buffer';
import {errorEnvelope, ServiceError} from '../../shared/errors.ts';

const LINE_FEED = 0x0a;

export class EventBoundary {
  #isWhole = true;

  /** A piece leaves. Its maker ends an event where a piece ends, or goes on with it in the next one. */
  passed(piece: Buffer): void {
    this.#isWhole = piece.at(-1) === LINE_FEED && piece.at(-2) === LINE_FEED;
  }

  /** The event that ends the stream; null: there is no place for it. @param why null: the worker has ended */
  last(why: ServiceError | null): Buffer | null {
    if (!this.#isWhole) return null;
    const error = why ?? new ServiceError('session.worker_unavailable', "the tenant's worker has ended; ask again");
    return Buffer.from(`event: end\ndata: ${JSON.stringify(errorEnvelope(error))}\n\n`);
  }
}
