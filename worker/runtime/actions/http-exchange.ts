/**
 * The main thread's end of an HTTP action. It sends the client's body chunk by chunk as the action reads it, and the
 * response as the client accepts it. Messages from the isolate are outside input: nothing in a head can break out of
 * its line.
 */

import {appHeaders, headersFault, isHeaderName, isHeaderValue} from '../../../shared/http-headers.ts';
import type {HttpResponseHead} from '../guest/actions/http-action.ts';
import {
  HTTP_ACTION_HEADERS_BYTES_MAX,
  HTTP_ACTION_RESPONSE_BYTES_MAX,
  HTTP_ACTION_RESPONSE_BYTES_WARNING,
} from '../limits.ts';
import type {ActionLines} from './action-lines.ts';
import {type HttpOperation, refusal} from './action-message.ts';

export type HttpIncoming = {chunks(): AsyncIterable<Uint8Array>};
export type HttpOutgoing = {
  start(status: number, headers: [string, string][]): void;
  /** Resolves when the client has room for more; rejects if it has disconnected. */
  write(bytes: Uint8Array): Promise<void>;
};

type Answer = {answer: string; bytes: Uint8Array | null};

export class HttpExchange {
  readonly #incoming: HttpIncoming | null;
  readonly #outgoing: HttpOutgoing;
  readonly #lines: ActionLines;
  #body: AsyncIterator<Uint8Array> | null = null;
  #started = false;
  #bytes = 0;

  constructor(incoming: HttpIncoming | null, outgoing: HttpOutgoing, lines: ActionLines) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#lines = lines;
  }

  async call(operation: HttpOperation, parameters: string, bytes: Uint8Array | null): Promise<Answer> {
    switch (operation) {
      case 'httpBody':
        return this.#pull();
      case 'httpBodyCancel':
        await this.#body?.return?.();
        return DONE;
      case 'httpRespond':
        return this.#respond(JSON.parse(parameters) as unknown);
      case 'httpWrite':
        return this.#write(bytes ?? new Uint8Array(0), JSON.parse(parameters) as unknown);
    }
  }

  async #pull(): Promise<Answer> {
    if (this.#incoming === null) return DONE;
    this.#body ??= this.#incoming.chunks()[Symbol.asyncIterator]();
    const {done, value} = await this.#body.next();
    return done === true ? DONE : {answer: '+', bytes: value};
  }

  #respond(head: unknown): Answer {
    if (this.#started) return {answer: refusal('the response has begun already'), bytes: null};
    const checked = checkHead(head);
    if (typeof checked === 'string') return {answer: refusal(checked, 'TypeError'), bytes: null};
    this.#started = true;
    this.#outgoing.start(checked.status, checked.headers);
    return DONE;
  }

  /**
   * A large chunk comes in parts. The first part gives the remaining length, so that nothing of a chunk that is too
   * large is sent.
   */
  async #write(bytes: Uint8Array, parameters: unknown): Promise<Answer> {
    if (!this.#started) return {answer: refusal('the response has not begun'), bytes: null};
    const wasLarge = this.#bytes > HTTP_ACTION_RESPONSE_BYTES_WARNING;
    this.#bytes += bytes.byteLength;
    if (this.#bytes + followingBytes(parameters) > HTTP_ACTION_RESPONSE_BYTES_MAX) {
      const message = `HttpResponseTooLarge: the body of a response is at most ${HTTP_ACTION_RESPONSE_BYTES_MAX} bytes`;
      return {answer: refusal(message, 'HttpResponseTooLarge'), bytes: null};
    }
    if (this.#bytes > HTTP_ACTION_RESPONSE_BYTES_WARNING && !wasLarge) {
      this.#lines.add(`[WARN] The response is large (maximum ${HTTP_ACTION_RESPONSE_BYTES_MAX} bytes)`);
    }
    await this.#outgoing.write(bytes);
    return DONE;
  }
}

const DONE: Answer = {answer: '+', bytes: null};

function followingBytes(parameters: unknown): number {
  const {following} = (parameters ?? {}) as {following?: unknown};
  return typeof following === 'number' && following > 0 ? following : 0;
}

/** @returns what is wrong with it, or the head */
function checkHead(head: unknown): HttpResponseHead | string {
  const {status, headers} = (head ?? {}) as Partial<HttpResponseHead>;
  if (!Number.isInteger(status) || status! < 200 || status! > 599) return 'the status of a response is 200 to 599';
  if (!Array.isArray(headers)) return 'a response has headers';
  let bytes = 0;
  const kept: [string, string][] = [];
  for (const header of headers as unknown[]) {
    if (!Array.isArray(header)) return 'a response has headers';
    const [name, value] = header as unknown[];
    if (typeof name !== 'string' || !isHeaderName(name)) return 'a header of the response has no valid name';
    if (typeof value !== 'string' || !isHeaderValue(value)) return `the header ${name} has no valid value`;
    bytes += name.length + value.length;
    kept.push([name, value]);
  }
  if (bytes > HTTP_ACTION_HEADERS_BYTES_MAX) {
    return `the headers of a response are at most ${HTTP_ACTION_HEADERS_BYTES_MAX} bytes`;
  }
  const sent = appHeaders(kept);
  const fault = headersFault(sent);
  return fault === null
    ? {status: status!, headers: [...sent] as [string, string][]}
    : `the response cannot be sent: ${fault}`;
}
