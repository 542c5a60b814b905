/** The hook `usePreloadedQuery`, which shows a result that came with the page, then the live one. */
import {useMemo, useSyncExternalStore} from 'react';
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import {decodeValue} from '../../shared/values/wire-value.ts';
import {keepReferences} from '../client/keep-references.ts';
import type {Preloaded} from '../client/preloaded.ts';
import type {QueryResult} from '../client/watched-query.ts';
import type {FunctionReference, FunctionReturnType} from '../server/function-reference.ts';
import {useClient} from './context.ts';
import type {HeldResult, QueryStore, WatchedQuery} from './query-store.ts';
import {useResults} from './use-results.ts';

/**
 * Shows the result of `preloadQuery`, in the server's HTML and until the live result is of the same version or newer.
 * From then on it shows the live result. All preloaded results of a page are replaced together, so that the page never
 * mixes two versions.
 *
 * @returns the result, never undefined
 * @throws Error while rendering, when the live query failed; an error boundary can show it
 */
export function usePreloadedQuery<Query extends FunctionReference<'query'>>(
  preloaded: Preloaded<Query>,
): FunctionReturnType<Query> {
  const {store} = useClient('usePreloadedQuery');
  const {path, args, value, version} = preloaded;
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal versions are equal, whatever objects they come in.
  const held = useMemo(
    () => new PreloadedResult(store, path, args, value, version),
    [store, path, args, value, version?.timeline, version?.ts],
  );
  const [live] = useResults(store, [held.query]);
  const isHeld = useSyncExternalStore(held.subscribe, held.isHeld, () => true);
  const result = useMemo(() => held.shown(isHeld ? undefined : live), [held, isHeld, live]);
  if (!result.ok) throw result.error;
  return result.value as FunctionReturnType<Query>;
}

class PreloadedResult implements HeldResult {
  readonly query: WatchedQuery;
  readonly version: DataVersion | null;
  isReleased = false;
  listener = (): void => {};
  readonly #store: QueryStore;
  readonly #first: QueryResult & {ok: true};
  /** Shown while there is no live result. */
  #last: QueryResult;

  constructor(store: QueryStore, path: string, args: string, value: string, version: DataVersion | null) {
    this.#store = store;
    this.query = store.query(path, decodeValue(args));
    this.version = version;
    this.#first = {ok: true, value: decodeValue(value)};
    this.#last = this.#first;
  }

  readonly isHeld = (): boolean => this.#store.isHeld(this);

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listener = listener;
    const stop = this.#store.hold(this);
    return () => {
      // A component that is hidden and shown again continues with what it showed.
      if (this.isReleased) this.#last = this.shown(this.#store.result(this.query));
      stop();
    };
  };

  /** An equal live result changes nothing on the page: its references stay the same. */
  shown(live: QueryResult | undefined): QueryResult {
    if (live === undefined) return this.#last;
    const {value} = this.#first;
    return live.ok && Object.is(keepReferences(value, live.value), value) ? this.#first : live;
  }
}
