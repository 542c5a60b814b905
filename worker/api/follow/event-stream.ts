/**
 * One reader's stream of server-sent events: an answer without an end of its own. What is written to it is handed over whole
 * and leaves as the reader takes it. Whoever writes asks first whether the reader has taken what came before (`isReady`), so a
 * slow reader costs one event; what all of them cost together is counted, and whoever takes more than an equal share of more
 * than there is, has to go.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import {errorEnvelope, type ServiceError} from '../../../shared/errors.ts';
import type {HeaderList} from '../../../shared/ipc/operations.ts';
import type {OwedBytes} from '../../../shared/owed-bytes.ts';

/** A proxy that gathers answers would hold events back: nginx looks at the last of them, others at the type. */
export const EVENT_HEADERS: HeaderList = [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', 'no-store'],
  ['X-Accel-Buffering', 'no'],
];

/** Milliseconds after which a reader that lost its stream comes back by itself. */
const RETRY_MS = 1_000;

/** One event. @param json on one line, as JSON is that nobody has laid out, @param name null: `message`, the usual one */
export function eventText(id: number | null, name: string | null, json: string): string {
  return `${name === null ? '' : `event: ${name}\n`}${id === null ? '' : `id: ${id}\n`}data: ${json}\n\n`;
}

export class EventStream {
  readonly #body: OutgoingBody;
  readonly #ofAll: OwedBytes;
  /** Events that may still be sent; null: it has no limit. */
  #left: number | null;
  /** Of `#ofAll`, as it was last looked at. */
  #owed = 0;
  #isOver = false;
  #sent = 0;
  readonly #onOver: () => void;

  /** @param limit events after which it ends; null: none */
  constructor(body: OutgoingBody, ofAll: OwedBytes, limit: number | null, onOver: () => void) {
    this.#body = body;
    this.#ofAll = ofAll;
    this.#left = limit;
    ofAll.opened();
    this.#onOver = onOver;
    body.onCancel = () => this.#over();
    this.#put(Buffer.from(`retry: ${RETRY_MS}\n\n`));
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** The reader has taken what was written, or is gone. */
  get isReady(): boolean {
    return this.#body.isReady;
  }

  /** Events that were counted. */
  get sent(): number {
    return this.#sent;
  }

  get hasLimit(): boolean {
    return this.#left !== null;
  }

  /** Resolves when it is ready. */
  async ready(): Promise<void> {
    await this.#body.ready;
    this.#look();
  }

  /** Whole events, so many of them that count. The bytes may be shared: nobody changes them. */
  write(bytes: Buffer, count = 0): void {
    if (this.#isOver) return;
    this.#put(bytes);
    this.#count(count);
  }

  /** Says why it is over, and is. @param error null: there is nothing more to come that was asked for */
  end(error: ServiceError | null): void {
    if (this.#isOver) return;
    const json = error === null ? '{"error":null}' : JSON.stringify(errorEnvelope(error));
    this.#put(Buffer.from(eventText(null, 'end', json)));
    this.#body.end();
    this.#over();
  }

  #put(bytes: Buffer): void {
    this.#body.write(bytes);
    this.#look();
    if (!this.#isOver && this.#ofAll.isTooMuch(this.#owed)) this.#body.fail(); // calls #over
  }

  #count(events: number): void {
    this.#sent += events;
    if (this.#left === null || this.#isOver) return;
    this.#left -= events;
    if (this.#left <= 0) this.end(null);
  }

  #look(): void {
    if (this.#isOver) return;
    this.#ofAll.changed(this.#body.heldBytes - this.#owed);
    this.#owed = this.#body.heldBytes;
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ofAll.closed(this.#owed);
    this.#onOver();
  }
}
