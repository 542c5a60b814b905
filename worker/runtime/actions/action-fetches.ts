/** The fetches of one action: those that run, and those whose response body is not yet read to its end. */
import {Buffer} from 'node:buffer';
import type {Egress} from '../egress/connector.ts';
import {egressFetch} from '../egress/fetch.ts';
import {connected} from '../egress/no-network.ts';
import type {FetchAnswer, FetchCall} from '../guest/actions/network.ts';
import {ACTION_FETCHES_MAX} from '../limits.ts';
import {BodyPipe} from './body-pipe.ts';
import {ReadAhead} from './read-ahead.ts';

type Fetch = {abort: AbortController; sent: BodyPipe | null; body: ReadAhead | null};

export class ActionFetches {
  /** Null: there is no network. */
  readonly #egress: Egress | null;
  readonly #fetches = new Map<number, Fetch>();
  /**
   * Fetches that run, or whose body has not ended here. Fetches that have ended stay in the map until the action reads
   * them.
   */
  #open = 0;

  constructor(egress: Egress | null) {
    this.#egress = egress;
  }

  /** @param call from the isolate. @throws fetch errors, with a message for the author of the code */
  async start(call: FetchCall, bytes: Uint8Array | null): Promise<FetchAnswer> {
    const egress = connected(this.#egress);
    if (this.#open >= ACTION_FETCHES_MAX) {
      throw new Error(`Too many fetches under way (maximum ${ACTION_FETCHES_MAX}): read their answers to the end`);
    }
    const {id, method, url, headers, redirect, streams} = call;
    const abort = new AbortController();
    const sent = streams ? new BodyPipe(bytes) : null;
    const fetch: Fetch = {abort, sent, body: null};
    this.#fetches.set(id, fetch);
    this.#open++;
    let isOpen = true;
    const close = () => {
      if (isOpen) this.#open--;
      isOpen = false;
    };
    try {
      const body = sent ?? (bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      const response = await egressFetch(egress, {method, url, headers, body, redirect, signal: abort.signal});
      fetch.body = new ReadAhead(response.body, close);
      const {status, statusText, redirected} = response;
      return {status, statusText, headers: response.headers, url: response.url, redirected};
    } catch (failure) {
      close();
      this.#fetches.delete(id);
      throw failure;
    }
  }

  /** The next chunk of a response body; null at its end. */
  async read(id: number): Promise<Uint8Array | null> {
    const body = this.#fetches.get(id)?.body;
    if (body === undefined || body === null) throw new Error('this body was cancelled');
    const chunk = await body.next();
    if (chunk === null) this.#fetches.delete(id);
    return chunk;
  }

  /** Resolves when there is room for more. @param bytes null: the end of the body */
  async send(id: number, bytes: Uint8Array | null): Promise<void> {
    const sent = this.#fetches.get(id)?.sent;
    if (sent === undefined || sent === null) throw new Error('this request is over');
    await sent.push(bytes);
  }

  cancel(id: number): void {
    const fetch = this.#fetches.get(id);
    if (fetch === undefined) return;
    this.#fetches.delete(id);
    fetch.abort.abort();
    fetch.sent?.break();
  }

  /** Called when the action is over. */
  close(): void {
    for (const id of [...this.#fetches.keys()]) this.cancel(id);
  }
}
