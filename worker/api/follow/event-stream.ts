/**
 * One reader's stream of server-sent events: a response without an end of its own. Each write is accepted whole and
 * sent as fast as the reader takes it. Writers check first whether the reader has taken the previous events
 * (`isReady`), so a slow reader costs one event. The total of all buffers is counted; when it exceeds the limit, a
 * reader with more than an equal share is disconnected.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import type {Backlog, BufferedBytes} from '../../../shared/byte-accounts.ts';
import {errorEnvelope, type ServiceError} from '../../../shared/errors.ts';
import type {HeaderList} from '../../../shared/ipc/operations.ts';

/** Prevents proxies from buffering events: nginx checks the last of these headers, other proxies the content type. */
export const EVENT_HEADERS: HeaderList = [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', 'no-store'],
  ['X-Accel-Buffering', 'no'],
];

/** Milliseconds after which a reader reconnects by itself. */
const RETRY_MS = 1_000;

/** One event. @param json on one line, i.e. not pretty-printed, @param name null: `message`, the default */
export function eventText(id: number | null, name: string | null, json: string): string {
  return `${name === null ? '' : `event: ${name}\n`}${id === null ? '' : `id: ${id}\n`}data: ${json}\n\n`;
}

export class EventStream {
  readonly #body: OutgoingBody;
  readonly #backlog: Backlog;
  /** Events that can still be sent; null: no limit. */
  #left: number | null;
  #isOver = false;
  #sent = 0;
  readonly #onOver: () => void;

  /**
   * @param limit number of events after which it ends; null: none
   * @param isContinued its reader was sent the beginning by another worker
   */
  constructor(
    body: OutgoingBody,
    ofAll: BufferedBytes,
    limit: number | null,
    isContinued: boolean,
    onOver: () => void,
  ) {
    this.#body = body;
    this.#backlog = ofAll.open();
    this.#left = limit;
    this.#onOver = onOver;
    body.onCancel = () => this.#over();
    if (!isContinued) this.#put(Buffer.from(`retry: ${RETRY_MS}\n\n`));
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** The reader has taken everything written, or is gone. */
  get isReady(): boolean {
    return this.#body.isReady;
  }

  /** Number of counted events sent. */
  get sent(): number {
    return this.#sent;
  }

  get hasLimit(): boolean {
    return this.#left !== null;
  }

  /** Resolves when it is ready. */
  async ready(): Promise<void> {
    await this.#body.ready;
    this.#poll();
  }

  /** Writes whole events, `count` of which are counted. The bytes may be shared, and must not be changed. */
  write(bytes: Buffer, count = 0): void {
    if (this.#isOver) return;
    this.#put(bytes);
    this.#count(count);
  }

  /** Sends the reason and ends the stream. @param error null: the requested events are complete */
  end(error: ServiceError | null): void {
    if (this.#isOver) return;
    const json = error === null ? '{"error":null}' : JSON.stringify(errorEnvelope(error));
    this.#put(Buffer.from(eventText(null, 'end', json)));
    this.#body.end();
    this.#over();
  }

  #put(bytes: Buffer): void {
    this.#body.write(bytes);
    this.#poll();
    if (!this.#isOver && this.#backlog.isTooMuch) this.#body.fail(); // calls #over
  }

  #count(events: number): void {
    this.#sent += events;
    if (this.#left === null || this.#isOver) return;
    this.#left -= events;
    if (this.#left <= 0) this.end(null);
  }

  #poll(): void {
    if (!this.#isOver) this.#backlog.measured(this.#body.bufferedBytes);
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#backlog.close();
    this.#onOver();
  }
}
