/**
 * Ends a stream of events that its producer has not ended. If the bytes sent so far end with a complete event, a last
 * event states the reason. Within an event, a reader would take anything for a part of it; then the connection is cut,
 * and readers ignore the incomplete event.
 */
import {Buffer} from 'node:buffer';
import {errorEnvelope, type ServiceError, unavailable} from '../../shared/errors.ts';

const LINE_FEED = 0x0a;

export class EventBoundary {
  #isWhole = true;

  /**
   * Called for each chunk that is sent. At the end of a chunk, an event is either complete or continues in the next
   * chunk.
   */
  passed(chunk: Buffer): void {
    this.#isWhole = chunk.at(-1) === LINE_FEED && chunk.at(-2) === LINE_FEED;
  }

  /** The event that ends the stream; null: an event is incomplete. @param why null: the worker has ended */
  last(why: ServiceError | null): Buffer | null {
    if (!this.#isWhole) return null;
    const error = why ?? unavailable("the tenant's worker has ended; ask again");
    return Buffer.from(`event: end\ndata: ${JSON.stringify(errorEnvelope(error))}\n\n`);
  }
}
