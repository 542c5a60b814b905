/**
 * Where a stream of events stands. It finds the id of the last event, from which the next worker can continue.
 *
 * It ends a stream of events that its producer has not ended. If the bytes sent so far end with a complete event, a last
 * event states the reason. Within an event, a reader would take anything for a part of it; then the connection is cut,
 * and readers ignore the incomplete event.
 */
import {Buffer} from 'node:buffer';
import {errorEnvelope, type ServiceError, unavailable} from '../../shared/errors.ts';

const LINE_FEED = 0x0a;
const END = Buffer.from('\n\n');
/** The lines `event` and `id` come before the data. */
const ID = /^(?:event: [a-z_]+\n)?id: ([0-9]{1,16})\n/;
const HEAD_CHARS = 64;

export class EventBoundary {
  #isWhole = true;
  /** Of the last complete event; null: it is not known. */
  #lastId: string | null = null;

  /**
   * Called for each chunk that is sent. At the end of a chunk, an event is either complete or continues in the next
   * chunk.
   */
  passed(chunk: Buffer): void {
    const beganWhole = this.#isWhole;
    this.#isWhole = chunk.at(-1) === LINE_FEED && chunk.at(-2) === LINE_FEED;
    // Data has no line feeds, because it is JSON on one line.
    const before = chunk.lastIndexOf(END, -END.length - 1);
    if (!this.#isWhole || (before === -1 && !beganWhole)) {
      this.#lastId = null;
      return;
    }
    const from = before === -1 ? 0 : before + END.length;
    const id = ID.exec(chunk.toString('latin1', from, Math.min(chunk.length, from + HEAD_CHARS)))?.[1];
    if (id !== undefined) this.#lastId = id;
    else if (before !== -1) this.#lastId = null; // the events before it may have had one
  }

  /** The id of the last event, if all that was sent are complete events; null: the stream cannot continue. */
  get continuesAfter(): string | null {
    return this.#lastId;
  }

  /** The event that ends the stream; null: an event is incomplete. @param why null: the worker has ended */
  last(why: ServiceError | null): Buffer | null {
    if (!this.#isWhole) return null;
    const error = why ?? unavailable("the tenant's worker has ended; ask again");
    return Buffer.from(`event: end\ndata: ${JSON.stringify(errorEnvelope(error))}\n\n`);
  }
}
