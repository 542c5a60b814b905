/**
 * Live queries, which pass each new result to their readers, whole and once, until the reader stops. Readers of equal
 * queries share one live query, and all live queries of a client share one socket if the service accepts its key there.
 * Otherwise each is a stream of events.
 */
import {SvcClientError} from './error.ts';
import {eventsOf, type StreamState} from './events.ts';
import type {LiveSocket, Subscriber} from './socket.ts';
import type {Transport} from './transport.ts';

export type LiveOptions = {
  readonly signal?: AbortSignal;
  /**
   * Called once when the live query fails permanently: the service refuses it, its tenant is gone, or a callback threw.
   * Default: the error is thrown uncaught.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Called with `'connected'` while the result shown is up to date as far as the client knows, and with `'waiting'`
   * while it reconnects.
   */
  readonly onState?: (state: StreamState) => void;
};

type Reader = Omit<LiveOptions, 'signal'> & {
  readonly onResult: (result: never) => void;
  /** The last result passed to the reader, as JSON. */
  shown: string | null;
  state: StreamState | null;
};

export class LiveQueries {
  readonly #transport: Transport;
  readonly #socket: LiveSocket;
  readonly #queries = new Map<string, LiveQuery>();

  constructor(transport: Transport, socket: LiveSocket) {
    this.#transport = transport;
    this.#socket = socket;
  }

  /** @returns a function that ends it; no callback runs afterwards */
  read<Result>(query: object, onResult: (result: Result) => void, {signal, onError, onState}: LiveOptions): () => void {
    if (signal?.aborted === true) return () => {};
    const text = JSON.stringify(query);
    const live = this.#queries.get(text) ?? this.#started(text);
    const reader: Reader = {
      onResult,
      ...(onError === undefined ? {} : {onError}),
      ...(onState === undefined ? {} : {onState}),
      shown: null,
      state: null,
    };
    const end = () => {
      signal?.removeEventListener('abort', end);
      live.leave(reader);
    };
    signal?.addEventListener('abort', end);
    live.join(reader);
    return end;
  }

  #started(text: string): LiveQuery {
    const live: LiveQuery = new LiveQuery(text, this.#transport, this.#socket, () => {
      if (this.#queries.get(text) === live) this.#queries.delete(text);
    });
    this.#queries.set(text, live);
    return live;
  }
}

class LiveQuery implements Subscriber {
  readonly query: string;
  readonly #transport: Transport;
  readonly #socket: LiveSocket;
  readonly #ended: () => void;
  readonly #readers = new Set<Reader>();
  /** As JSON, so that each reader gets its own copy. */
  #shown: string | null = null;
  #state: StreamState | null = null;
  #stop = () => {};

  constructor(query: string, transport: Transport, socket: LiveSocket, ended: () => void) {
    this.query = query;
    this.#transport = transport;
    this.#socket = socket;
    this.#ended = ended;
    if (socket.mayTake(query)) this.#stop = socket.subscribe(this);
    else this.#stream();
  }

  join(reader: Reader): void {
    this.#readers.add(reader);
    queueMicrotask(() => this.#tell(reader));
  }

  leave(reader: Reader): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
    this.#stop();
    this.#ended();
  }

  become(state: StreamState): void {
    this.#state = state;
    for (const reader of [...this.#readers]) this.#tell(reader);
  }

  /** After a reconnect the stream starts with the whole result, changed or not. */
  show(result: unknown): void {
    this.#shown = JSON.stringify(result);
    for (const reader of [...this.#readers]) this.#tell(reader);
  }

  fail(error: unknown): void {
    this.#ended(); // A callback that starts the same query gets a new one.
    for (const reader of [...this.#readers]) this.#end(reader, error);
  }

  refused(): void {
    this.#stream();
  }

  #stream(): void {
    const ended = new AbortController();
    const {signal} = ended;
    this.#stop = () => ended.abort();
    const follow = async () => {
      const onState = (state: StreamState) => {
        if (!signal.aborted) this.become(state);
        // The callback might have ended this query.
        if (signal.aborted || state === 'connected' || !this.#socket.mayTake(this.query)) return;
        ended.abort();
        this.#stop = this.#socket.subscribe(this);
      };
      const stream = {method: 'POST', path: '/query/stream', body: JSON.parse(this.query), signal, onState};
      for await (const {data} of eventsOf(this.#transport, stream)) {
        if (signal.aborted) return;
        this.show((JSON.parse(data) as {data: unknown}).data);
      }
    };
    follow().catch(error => {
      if (signal.aborted) return;
      // With another key, or another tenant of that name, a socket might be accepted.
      if (error instanceof SvcClientError && !error.isTransient && [0, 401, 403, 404].includes(error.status))
        this.#socket.mayBeTried();
      this.fail(error);
    });
  }

  /** Passes on what the reader has not seen yet, unless it has stopped. */
  #tell(reader: Reader): void {
    try {
      if (this.#readers.has(reader) && reader.state !== this.#state) {
        reader.state = this.#state;
        reader.onState?.(this.#state!);
      }
      if (this.#readers.has(reader) && reader.shown !== this.#shown) {
        reader.shown = this.#shown;
        reader.onResult(JSON.parse(this.#shown!) as never);
      }
    } catch (error) {
      this.#end(reader, error);
    }
  }

  #end(reader: Reader, error: unknown): void {
    if (!this.#readers.has(reader)) return;
    this.leave(reader);
    // On a microtask, so that an exception does not affect other readers.
    queueMicrotask(() => {
      if (reader.onError === undefined) throw error;
      reader.onError(error);
    });
  }
}
