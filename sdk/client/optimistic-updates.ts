/**
 * Computes what is shown while mutations are under way. That is the server's results, with the changes of optimistic
 * updates on top.
 *
 * Updates run again, in the order of their calls, on each new state of the server, and each sees the changes of those
 * before it. An update is dropped in the same transition that includes its mutation, so the effect is never shown twice
 * and never missing.
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

/** What an optimistic update reads and changes. Do not modify values that it returns; set new ones. */
export interface OptimisticLocalStore {
  /** Undefined: not loaded, or failed. */
  getQuery<Query extends QueryReference>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): FunctionReturnType<Query> | undefined;
  /** All watched queries of one function, whatever their arguments. */
  getAllQueries<Query extends QueryReference>(
    query: Query,
  ): {args: FunctionArgs<Query>; value: FunctionReturnType<Query> | undefined}[];
  /** An undefined value shows the query as not loaded. */
  setQuery<Query extends QueryReference>(
    query: Query,
    args: FunctionArgs<Query>,
    value: FunctionReturnType<Query> | undefined,
  ): void;
}

export type OptimisticUpdate = (localStore: OptimisticLocalStore, args: Record<string, Value>) => unknown;

type Pending = {readonly update: OptimisticUpdate; readonly args: Record<string, Value>};
/** An undefined `result` means not loaded. */
type Overlaid = {readonly call: FunctionCall; readonly result: QueryResult | undefined};
type Overlay = Map<QueryToken, Overlaid>;

export class OptimisticUpdates {
  readonly #queries: QuerySet;
  readonly #logger: Logger;
  /** By the mutation's request number. */
  readonly #pending = new Map<number, Pending>();
  #overlay: Overlay = new Map();

  constructor(queries: QuerySet, logger: Logger) {
    this.#queries = queries;
    this.#logger = logger;
  }

  /** The result to show for a query. */
  result(token: QueryToken): QueryResult | undefined {
    const overlaid = this.#overlay.get(token);
    return overlaid === undefined ? this.#queries.get(token)?.result : overlaid.result;
  }

  has(id: number): boolean {
    return this.#pending.has(id);
  }

  /**
   * @throws what the update throws, in which case nothing changes.
   * @returns the queries whose shown result has changed
   */
  add(id: number, update: OptimisticUpdate, args: Record<string, Value>): Set<QueryToken> {
    const overlay = new Map(this.#overlay);
    this.#run({update, args}, overlay, this.#overlay);
    this.#pending.set(id, {update, args});
    return this.#changes([], () => {
      this.#overlay = overlay;
    });
  }

  /**
   * Applies the server's results, drops the updates that they include, and runs the others on top.
   * @param tokens queries that `apply` changes
   * @returns the queries whose shown result has changed
   */
  replace(tokens: Iterable<QueryToken>, apply: () => void, dropped: Iterable<number>): Set<QueryToken> {
    return this.#changes(tokens, () => {
      apply();
      for (const id of dropped) this.#pending.delete(id);
      this.#replay();
    });
  }

  /**
   * Drops updates whose mutations have failed or are included in what is shown.
   * @returns the queries whose shown result has changed
   */
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
        // It succeeded before, on another state. The mutation goes on, but its expected effect is no longer known.
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
    // A newly overlaid query showed the server's result, which did not change, or it would be among the tokens.
    for (const token of this.#overlay.keys()) {
      if (!before.has(token)) before.set(token, this.#queries.get(token)?.result);
    }
    return new Set([...before].filter(([token, result]) => this.result(token) !== result).map(([token]) => token));
  }

  /** When an update predicted the server's result exactly, the object shown before stays in use. */
  #keepShown(token: QueryToken, shown: QueryResult | undefined): void {
    const query = this.#queries.get(token);
    if (query?.result?.ok && !this.#overlay.has(token))
      query.result = resultLike([shown, query.result], query.result.value);
  }

  /** @param before the previous overlay: results that come out equal keep their objects */
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

  /** The query might be watched as a paginated one. */
  #token(call: FunctionCall): QueryToken {
    const paginated = call.token(true);
    return this.#queries.get(paginated) === undefined ? call.token(false) : paginated;
  }
}

/** Returns a candidate that has this value, or a new result that shares all equal parts with the first candidate. */
function resultLike(candidates: (QueryResult | undefined)[], value: Value): QueryResult {
  let kept = value;
  for (const candidate of candidates) {
    if (!candidate?.ok) continue;
    kept = keepReferences(candidate.value, kept);
    if (Object.is(kept, candidate.value)) return candidate;
  }
  return {ok: true, value: kept};
}
