/**
 * The streamed response of an HTTP action. Its head is held back until the first chunk of the body exists, so a body
 * that fails before that is a 500 like any other failure. If the body stays silent for longer, the head is sent anyway:
 * a reader of events sees an open stream, and a client that has left is noticed.
 *
 *   waiting ──start──▶ held ──first chunk | end | …_HEAD_HELD_MS──▶ sent ──end | fail──▶ over
 *      └─────────────────┴── fail: nothing was sent
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {EVENT_STREAM_HEAD_HELD_MS, HTTP_ACTION_HEAD_HELD_MS} from './limits.ts';

export type StartStream = (status: number, headers: HeaderList) => OutgoingBody;

export class ActionResponse {
  readonly #startStream: StartStream;
  readonly #onGone: () => void;
  #head: {status: number; headers: HeaderList} | null = null;
  #timer: NodeJS.Timeout | null = null;
  #body: OutgoingBody | null = null;

  /** @param onGone called when the client leaves before the end */
  constructor(startStream: StartStream, onGone: () => void) {
    this.#startStream = startStream;
    this.#onGone = onGone;
  }

  /** Part of the response has been sent. */
  get hasStarted(): boolean {
    return this.#body !== null;
  }

  start(status: number, headers: HeaderList): void {
    this.#head = {status, headers};
    this.#timer = setTimeout(
      () => this.#send(),
      isEventStream(headers) ? EVENT_STREAM_HEAD_HELD_MS : HTTP_ACTION_HEAD_HELD_MS,
    );
  }

  /** Resolves when the client can take more. */
  async write(chunk: Uint8Array): Promise<void> {
    const body = this.#send()!;
    body.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    await body.ready;
    if (!body.isOpen) throw new Error('the client has gone');
  }

  end(): void {
    this.#send()?.end();
  }

  fail(): void {
    this.#head = null;
    this.#stopTimer();
    this.#body?.fail();
  }

  /** Sends the head, which opens the body; null: the handler gave no response. */
  #send(): OutgoingBody | null {
    this.#stopTimer();
    if (this.#body === null && this.#head !== null) {
      this.#body = this.#startStream(this.#head.status, this.#head.headers);
      this.#body.onCancel = this.#onGone;
    }
    return this.#body;
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

function isEventStream(headers: HeaderList): boolean {
  return headers.some(([name, value]) => name.toLowerCase() === 'content-type' && /^text\/event-stream/i.test(value));
}
