/**
 * The view of the engine that hooks and watches use, with results and listeners by token. All listeners of one change
 * run together and each once, so that React renders them together.
 */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import type {QueryToken} from '../client/function-call.ts';
import type {SyncEngine} from '../client/sync-engine.ts';
import type {QueryResult} from '../client/watched-query.ts';
import type {AnyFunctionReference} from '../server/function-reference.ts';

export type WatchedQuery = {
  token: QueryToken;
  reference: AnyFunctionReference | string;
  args: unknown;
  paginated: boolean;
};

/** A result that came with the page, shown until the live one is as new. */
export type HeldResult = {
  readonly query: WatchedQuery;
  /** Null: unknown, so any live result replaces it. */
  readonly version: DataVersion | null;
  /** The live result has replaced it. */
  isReleased: boolean;
  /** Called when the live result replaces it. */
  readonly listener: () => void;
};

export class QueryStore {
  readonly engine: SyncEngine;
  /** Replaced together, because if one were replaced before the others, the page would mix versions. */
  readonly #held = new Set<HeldResult>();
  readonly #listeners = new Map<QueryToken, Set<() => void>>();

  constructor(engine: SyncEngine) {
    this.engine = engine;
    engine.onChange(changed => this.#tell(changed));
  }

  /** Describes a query. Sends nothing. @throws Error when it is not a reference or the arguments are not values */
  query(reference: AnyFunctionReference | string, args: unknown, paginated = false): WatchedQuery {
    return {token: this.engine.queryToken(reference, args, {paginated}), reference, args, paginated};
  }

  /** Undefined: not loaded yet. Returns the same object until the result changes. */
  result({token}: WatchedQuery): QueryResult | undefined {
    return this.engine.localResult(token);
  }

  /** The ends of the pages of a watched query, for a later `watch` of an equal one. */
  journal({token}: WatchedQuery): string | undefined {
    return this.engine.journal(token);
  }

  /**
   * Keeps the result current until the returned function is called.
   * @param listener a different function for each watcher. It can watch many queries, and is called once when several
   * of them change together
   */
  watch({token, reference, args, paginated}: WatchedQuery, listener: () => void, journal?: string): () => void {
    const subscription = this.engine.subscribe(reference, args, {paginated, journal});
    const listeners = this.#listeners.get(token) ?? new Set();
    this.#listeners.set(token, listeners.add(listener));
    return () => {
      subscription.unsubscribe();
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(token) === listeners) this.#listeners.delete(token);
    };
  }

  /** Shows a result until live ones are as new. @returns a function that ends this */
  hold(held: HeldResult): () => void {
    if (held.version !== null) this.engine.notBefore(held.version);
    // The page was rendered from the live result, so it keeps showing that, whatever other held results wait for.
    held.isReleased ||= this.#isReady(held);
    this.#held.add(held);
    return () => {
      this.#held.delete(held);
      // Others might have waited for this one. Their listeners run later, because React is in the middle of an update.
      queueMicrotask(() => callAll(this.#release()));
    };
  }

  /** Whether it is shown instead of the live result. */
  isHeld(held: HeldResult): boolean {
    return !held.isReleased && (this.#held.has(held) || !this.#isReady(held));
  }

  #isReady({query, version}: HeldResult): boolean {
    return this.result(query) !== undefined && (version === null || !this.engine.isBehind(version));
  }

  /** @returns the listeners of the results that are replaced now */
  #release(): (() => void)[] {
    const held = [...this.#held].filter(({isReleased}) => !isReleased);
    if (!held.every(one => this.#isReady(one))) return [];
    return held.map(one => {
      one.isReleased = true;
      return one.listener;
    });
  }

  #tell(changed: ReadonlySet<QueryToken>): void {
    const notified = new Set(this.#release());
    for (const token of changed) for (const listener of this.#listeners.get(token) ?? []) notified.add(listener);
    callAll(notified);
  }
}

/** Calls all listeners, even if one throws. @throws what they have thrown */
export function callAll(listeners: Iterable<() => void>): void {
  const failures: unknown[] = [];
  for (const listener of [...listeners]) {
    try {
      listener();
    } catch (caught) {
      failures.push(caught);
    }
  }
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
}
