/**
 * The hook that all query hooks use. A component subscribes when it is mounted, not when it is rendered. What it reads
 * while rendering is checked again before the commit, so React never shows results of different versions together.
 */
import {useMemo, useState, useSyncExternalStore} from 'react';
import type {QueryToken} from '../client/function-call.ts';
import type {QueryResult} from '../client/watched-query.ts';
import type {QueryStore, WatchedQuery} from './query-store.ts';

/** In the order of the queries. Undefined: not loaded yet. */
export type Results = readonly (QueryResult | undefined)[];

/** Returns the same array until one of the results changes. */
export function useResults(store: QueryStore, queries: readonly WatchedQuery[]): Results {
  const [journals] = useState(() => new Map<QueryToken, string>());
  const set = queries.map(({token}) => token).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal tokens are equal queries, whatever objects they come in.
  const source = useMemo(() => new ResultSource(store, queries, journals), [store, set, journals]);
  return useSyncExternalStore(source.subscribe, source.current, source.initial);
}

/** A set of queries, in the form that `useSyncExternalStore` requires. */
class ResultSource {
  readonly #store: QueryStore;
  readonly #queries: readonly WatchedQuery[];
  /** The ends of pages at the last unsubscribe, so that a list that is hidden and shown again has the same pages. */
  readonly #journals: Map<QueryToken, string>;
  readonly #nothing: Results;
  #last: Results;

  constructor(store: QueryStore, queries: readonly WatchedQuery[], journals: Map<QueryToken, string>) {
    this.#store = store;
    this.#queries = queries;
    this.#journals = journals;
    this.#nothing = queries.map(() => undefined);
    this.#last = this.#nothing;
  }

  readonly current = (): Results => {
    const now = this.#queries.map(query => this.#store.result(query));
    if (now.some((result, index) => result !== this.#last[index])) this.#last = now;
    return this.#last;
  };

  /** Used on a server, and in the browser's first render of server HTML. */
  readonly initial = (): Results => this.#nothing;

  readonly subscribe = (listener: () => void): (() => void) => {
    const wanted = new Set(this.#queries.map(({token}) => token));
    for (const token of this.#journals.keys()) if (!wanted.has(token)) this.#journals.delete(token);
    const stops = this.#queries.map(query => this.#watch(query, listener));
    return () => {
      for (const stop of stops) stop();
    };
  };

  #watch(query: WatchedQuery, listener: () => void): () => void {
    const stop = this.#store.watch(query, listener, this.#journals.get(query.token));
    return () => {
      const journal = this.#store.journal(query);
      if (journal !== undefined) this.#journals.set(query.token, journal);
      stop();
    };
  }
}
