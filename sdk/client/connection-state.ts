/** The state of a client's connection, as one object that stays the same until a member changes. */
import {guarded, type Logger} from './logger.ts';

export type ConnectionState = {
  /** A socket is open, and the server has answered on it. */
  readonly isWebSocketConnected: boolean;
  readonly hasEverConnected: boolean;
  /** Connections so far, including this one. */
  readonly connectionCount: number;
  /** Attempts that failed since the client was last up to date. */
  readonly connectionRetries: number;
  /** Some mutation is not yet included in what is shown, or some action has no response. */
  readonly hasInflightRequests: boolean;
  readonly timeOfOldestInflightRequest: Date | null;
  readonly inflightMutations: number;
  readonly inflightActions: number;
  /**
   * The server has ended the connection permanently, for instance after an upgrade that this client is too old for.
   * Reload the page.
   */
  readonly fatalError: Error | null;
};

export const NOT_CONNECTED: ConnectionState = {
  isWebSocketConnected: false,
  hasEverConnected: false,
  connectionCount: 0,
  connectionRetries: 0,
  hasInflightRequests: false,
  timeOfOldestInflightRequest: null,
  inflightMutations: 0,
  inflightActions: 0,
  fatalError: null,
};

/** Holds the state and notifies listeners on a microtask, so that many changes in one tick cause one notification. */
export class ConnectionStates {
  #state = NOT_CONNECTED;
  /** The state that listeners have last seen. */
  #notified = NOT_CONNECTED;
  #isTelling = false;
  readonly #listeners = new Set<(state: ConnectionState) => void>();
  readonly #current: () => ConnectionState;

  readonly #logger: Logger;

  /** @param current creates the current state */
  constructor(logger: Logger, current: () => ConnectionState) {
    this.#logger = logger;
    this.#current = current;
  }

  get(): ConnectionState {
    const now = this.#current();
    if (!isEqual(now, this.#state)) this.#state = now;
    return this.#state;
  }

  listen(listener: (state: ConnectionState) => void): () => void {
    // A new function for each call, so that a listener added twice can be removed twice.
    const own = (state: ConnectionState) => listener(state);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Call when something might have changed. */
  touch(): void {
    if (this.#isTelling || this.get() === this.#notified) return;
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      const state = this.get();
      if (isEqual(state, this.#notified)) return;
      this.#notified = state;
      for (const listener of [...this.#listeners]) guarded(this.#logger, () => listener(state));
    });
  }

  clear(): void {
    this.#listeners.clear();
  }
}

function isEqual(a: ConnectionState, b: ConnectionState): boolean {
  return (Object.keys(a) as (keyof ConnectionState)[]).every(
    key => a[key] === b[key] || (a[key] instanceof Date && +a[key] === +(b[key] ?? 0)),
  );
}
