/**
 * What is shown while mutations are under way: the server's results, and on top of them what optimistic updates make of them.
 *
 * Updates run again, in the order of their calls, on each new state of the server: each works on what those before it left. One is
 * dropped with the very transition that includes its mutation, so that neither both are shown nor none.
 */
import type {
  AnyFunctionReference,
  FunctionArgs,
  FunctionReference,
  FunctionReturnType,
  OptionalRestArgs,
} from '../server/function-reference.ts';
import type {Value} from '../values/value.ts';
import {FunctionCall, type QueryToken} from './function-call.ts';
import {keepReferences} from './keep-references.ts';
import type {Logger} from './logger.ts';
import type {QuerySet} from './query-set.ts';
import type {QueryResult} from './watched-query.ts';

type QueryReference = FunctionReference<'query'> | FunctionReference<'paginatedQuery'>;

/** What an optimistic update sees and changes. Values that it got must not be changed: it sets others. */
export interface OptimisticLocalStore {
  /** Undefined: not loaded, or failed. */
  getQuery<Query extends QueryReference>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): FunctionReturnType<Query> | undefined;
  /** All that are watched of one function, whatever their arguments. */
  getAllQueries<Query extends QueryReference>(
    query: Query,
  ): {args: FunctionArgs<Query>; value: FunctionReturnType<Query> | undefined}[];
  /** Undefined: shown as not loaded. */
  setQuery<Query extends QueryReference>(
    query: Query,
    args: FunctionArgs<Query>,
    value: FunctionReturnType<Query> | undefined,
  ): void;
}

export type OptimisticUpdate = (localStore: OptimisticLocalStore, args: Record<string, Value>) => unknown;

type Pending = {readonly update: OptimisticUpdate; readonly args: Record<string, Value>};
/** `result`, undefined: not loaded. */
type Overlaid = {readonly call: FunctionCall; readonly result: QueryResult | undefined};
type Overlay = Map<QueryToken, Overlaid>;

export class OptimisticUpdates {
  readonly #queries: QuerySet;
  readonly #logger: Logger;
  /** By the number of the mutation. */
  readonly #pending = new Map<number, Pending>();
  #overlay: Overlay = new Map();

  constructor(queries: QuerySet, logger: Logger) {
    this.#queries = queries;
    this.#logger = logger;
  }

  /** What is to be shown of a query. */
  result(token: QueryToken): QueryResult | undefined {
    const overlaid = this.#overlay.get(token);
    return overlaid === undefined ? this.#queries.get(token)?.result : overlaid.result;
  }

  has(id: number): boolean {
    return this.#pending.has(id);
  }

  /** @throws what the update throws; then nothing is changed. @returns queries that are shown otherwise than before */
  add(id: number, update: OptimisticUpdate, args: Record<string, Value>): Set<QueryToken> {
    const overlay = new Map(this.#overlay);
    this.#run({update, args}, overlay, this.#overlay);
    this.#pending.set(id, {update, args});
    return this.#changes([], () => {
      this.#overlay = overlay;
    });
  }

  /**
   * Puts the server's results in place, drops what they include, and runs the rest on top.
   * @param tokens queries that `apply` changes
   * @returns queries that are shown otherwise than before
   */
  replace(tokens: Iterable<QueryToken>, apply: () => void, dropped: Iterable<number>): Set<QueryToken> {
    return this.#changes(tokens, () => {
      apply();
      for (const id of dropped) this.#pending.delete(id);
      this.#replay();
    });
  }

  /** Their mutations have failed, or what is shown includes them. @returns queries that are shown otherwise than before */
  drop(ids: Iterable<number>): Set<QueryToken> {
    return this.replace([], () => {}, ids);
  }

  #replay(): void {
    const before = this.#overlay;
    let overlay: Overlay = new Map();
    for (const [id, pending] of this.#pending) {
      const next = new Map(overlay);
      try {
        this.#run(pending, next, before);
        overlay = next;
      } catch (caught) {
        // It ran once, on another state. The mutation goes on; what it would look like is not known any more.
        this.#logger.error('An optimistic update failed when it ran again, and is dropped:', caught);
        this.#pending.delete(id);
      }
    }
    this.#overlay = overlay;
  }

  #changes(tokens: Iterable<QueryToken>, apply: () => void): Set<QueryToken> {
    const overlay = this.#overlay;
    const before = new Map<QueryToken, QueryResult | undefined>();
    for (const token of [...tokens, ...overlay.keys()]) before.set(token, this.result(token));
    apply();
    for (const token of overlay.keys()) this.#keepShown(token, before.get(token));
    // What is newly overlaid was shown as the server has it, and that did not change: it would be among the tokens.
    for (const token of this.#overlay.keys()) {
      if (!before.has(token)) before.set(token, this.#queries.get(token)?.result);
    }
    return new Set([...before].filter(([token, result]) => this.result(token) !== result).map(([token]) => token));
  }

  /** An update was right: what the server says now is what was shown, and stays the same object. */
  #keepShown(token: QueryToken, shown: QueryResult | undefined): void {
    const query = this.#queries.get(token);
    if (query?.result?.ok && !this.#overlay.has(token))
      query.result = resultLike([shown, query.result], query.result.value);
  }

  /** @param before what was shown on top: results that come out equal are the same objects */
  #run({update, args}: Pending, overlay: Overlay, before: Overlay): void {
    const resultOf = (token: QueryToken) => {
      const overlaid = overlay.get(token);
      return overlaid === undefined ? this.#queries.get(token)?.result : overlaid.result;
    };
    const loadedValue = (token: QueryToken) => {
      const result = resultOf(token);
      return result?.ok ? result.value : undefined;
    };
    const store: OptimisticLocalStore = {
      getQuery: (query: AnyFunctionReference, queryArgs?: unknown) =>
        loadedValue(this.#token(new FunctionCall(query, queryArgs))) as never,
      getAllQueries: (query: AnyFunctionReference) => {
        const {path} = new FunctionCall(query, {});
        const calls = new Map<QueryToken, FunctionCall>();
        for (const {token, call} of this.#queries.all()) if (call.path === path) calls.set(token, call);
        for (const [token, {call}] of overlay) if (call.path === path) calls.set(token, call);
        return [...calls].map(([token, call]) => ({args: call.args(), value: loadedValue(token)})) as never;
      },
      setQuery: (query: AnyFunctionReference, queryArgs: unknown, value: Value | undefined) => {
        const call = new FunctionCall(query, queryArgs);
        const token = this.#token(call);
        const candidates = [before.get(token)?.result, this.#queries.get(token)?.result];
        overlay.set(token, {call, result: value === undefined ? undefined : resultLike(candidates, value)});
      },
    };
    const returned: unknown = update(store, args);
    if (returned instanceof Promise) {
      this.#logger.warn('An optimistic update returned a promise: it must be synchronous');
    }
  }

  /** A query may be watched as a paginated one. */
  #token(call: FunctionCall): QueryToken {
    const paginated = call.token(true);
    return this.#queries.get(paginated) === undefined ? call.token(false) : paginated;
  }
}

/** One of the candidates, if it has this value; else a new one, which shares with the first of them what is equal. */
function resultLike(candidates: (QueryResult | undefined)[], value: Value): QueryResult {
  let kept = value;
  for (const candidate of candidates) {
    if (!candidate?.ok) continue;
    kept = keepReferences(candidate.value, kept);
    if (Object.is(kept, candidate.value)) return candidate;
  }
  return {ok: true, value: kept};
}
