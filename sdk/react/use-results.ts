/**
 * The hook under all that show queries. A component subscribes when it is on the page and not when it is rendered, and what it reads
 * while rendering is checked again before it is shown: React never shows two components results of different moments.
 */
import {useMemo, useState, useSyncExternalStore} from 'react';
import type {QueryToken} from '../client/function-call.ts';
import type {QueryResult} from '../client/watched-query.ts';
import type {QueryStore, WatchedQuery} from './query-store.ts';

/** In the order of the queries; undefined: not there yet. */
export type Results = readonly (QueryResult | undefined)[];

/** The same array until one of the results is another one. */
export function useResults(store: QueryStore, queries: readonly WatchedQuery[]): Results {
  const [journals] = useState(() => new Map<QueryToken, string>());
  const set = queries.map(({token}) => token).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal tokens are equal queries, whatever objects they come in.
  const source = useMemo(() => new ResultSource(store, queries, journals), [store, set, journals]);
  return useSyncExternalStore(source.subscribe, source.current, source.initial);
}

/** A set of queries as `useSyncExternalStore` wants a store. */
class ResultSource {
  readonly #store: QueryStore;
  readonly #queries: readonly WatchedQuery[];
  /** Where pages ended when they were last unsubscribed: hidden and shown again, a list has the pages it had. */
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

  /** On a server, and in the first render in a browser of what a server rendered. */
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
