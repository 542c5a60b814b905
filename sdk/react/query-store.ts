/**
 * What hooks and watches see of the engine: results by token, and for each token those who want to be told. Listeners of one change are
 * told in one go and each once, so that React renders them together.
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
  /** Null: not known, so that any live result will do. */
  readonly version: DataVersion | null;
  /** It has given way to the live one. */
  isReleased: boolean;
  /** Is called when it gives way. */
  readonly listener: () => void;
};

export class QueryStore {
  readonly engine: SyncEngine;
  /** They give way together: of one that went before the others, the page would show another version. */
  readonly #held = new Set<HeldResult>();
  readonly #listeners = new Map<QueryToken, Set<() => void>>();

  constructor(engine: SyncEngine) {
    this.engine = engine;
    engine.onChange(changed => this.#tell(changed));
  }

  /** Names a query. No traffic. @throws Error for what is no reference and for arguments that are no values */
  query(reference: AnyFunctionReference | string, args: unknown, paginated = false): WatchedQuery {
    return {token: this.engine.queryToken(reference, args, {paginated}), reference, args, paginated};
  }

  /** Undefined: not there yet. The same object until the result is another one. */
  result({token}: WatchedQuery): QueryResult | undefined {
    return this.engine.localResult(token);
  }

  /** Where the pages of a watched query end, for `watch` of an equal one later. */
  journal({token}: WatchedQuery): string | undefined {
    return this.engine.journal(token);
  }

  /**
   * Keeps the result current until the function it returns is called.
   * @param listener one function for each watcher; it may be that of many queries, and is then told once of a change of several
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

  /** Shows a result until live ones are as new. @returns ends it */
  hold(held: HeldResult): () => void {
    if (held.version !== null) this.engine.notBefore(held.version);
    // It was rendered as what is live: it stays that, whatever the others wait for.
    held.isReleased ||= this.#isReady(held);
    this.#held.add(held);
    return () => {
      this.#held.delete(held);
      // The others may have waited for it; they are not told while React is in the middle of a page.
      queueMicrotask(() => callAll(this.#release()));
    };
  }

  /** Whether it is shown instead of what is live. */
  isHeld(held: HeldResult): boolean {
    return !held.isReleased && (this.#held.has(held) || !this.#isReady(held));
  }

  #isReady({query, version}: HeldResult): boolean {
    return this.result(query) !== undefined && (version === null || !this.engine.isBehind(version));
  }

  /** @returns listeners of those that give way now */
  #release(): (() => void)[] {
    const held = [...this.#held].filter(({isReleased}) => !isReleased);
    if (!held.every(one => this.#isReady(one))) return [];
    return held.map(one => {
      one.isReleased = true;
      return one.listener;
    });
  }

  #tell(changed: ReadonlySet<QueryToken>): void {
    const told = new Set(this.#release());
    for (const token of changed) for (const listener of this.#listeners.get(token) ?? []) told.add(listener);
    callAll(told);
  }
}

/** All of them, also where one fails. @throws what they have thrown */
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
