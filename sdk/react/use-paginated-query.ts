/** The hook `usePaginatedQuery`, for a list that grows page by page and stays current as a whole. */
import {useCallback, useEffect, useMemo, useState} from 'react';
import type {PaginatedQueryArgs, PaginatedQueryItem, PaginatedQueryReference} from '../client/live-pages.ts';
import {
  failureOf,
  newList,
  optionsOf,
  type Page,
  type PagedList,
  type PaginationStatus,
  shownPages,
  split,
  watchedPages,
  withNextPage,
} from '../client/pages.ts';
import {getFunctionName} from '../server/function-reference.ts';
import {useClient} from './context.ts';
import type {QueryStore} from './query-store.ts';
import {useResults} from './use-results.ts';

export type UsePaginatedQueryResult<Item> = {
  /** The items of all pages so far, without gaps, current. The same array until something in it changes. */
  results: Item[];
  /**
   * Requests `numItems` more when the status is `CanLoadMore`; otherwise does nothing.
   * @throws Error when `numItems` is not positive
   */
  loadMore: (numItems: number) => void;
} & (
  | {status: 'LoadingFirstPage' | 'LoadingMore'; isLoading: true}
  | {status: 'CanLoadMore' | 'Exhausted'; isLoading: false}
);

export type UsePaginatedQueryReturnType<Query extends PaginatedQueryReference> = UsePaginatedQueryResult<
  PaginatedQueryItem<Query>
>;

/** Identifies the list; the hook starts over when the store or the token changes. */
type Subject = {store: QueryStore; token: string | null; list: PagedList};

/**
 * Shows a paginated query.
 *
 *     const {results, status, loadMore} = usePaginatedQuery(api.messages.list, {channel}, {initialNumItems: 20});
 *
 * @param args without `paginationOpts`; `"skip"` sends nothing
 * @param options `initialNumItems`: the size of the first page
 * @throws Error while rendering, when a page failed
 */
export function usePaginatedQuery<Query extends PaginatedQueryReference>(
  query: Query,
  args: PaginatedQueryArgs<Query> | 'skip',
  options: {initialNumItems: number},
): UsePaginatedQueryReturnType<Query> {
  const {store} = useClient('usePaginatedQuery');
  const initialNumItems = checkedInitialNumItems(options);
  // A wrong reference is reported even with `"skip"`.
  const name = getFunctionName(query);
  const token = args === 'skip' ? null : store.query(query, args, true).token;
  const begun = (): Subject => ({store, token, list: newList(initialNumItems)});
  const [kept, setSubject] = useState(begun);
  let subject = kept;
  if (kept.store !== store || kept.token !== token) {
    subject = begun();
    setSubject(subject);
  }

  const {list} = subject;
  const pages = token === null ? [] : watchedPages(list);
  const results = useResults(
    store,
    pages.map(page => store.query(query, {...(args as object), paginationOpts: optionsOf(list, page)}, true)),
  );
  const resultOf = (page: Page) => results[pages.indexOf(page)];

  const [restart, setRestart] = useState<Error | null>(null);
  useEffect(() => {
    if (restart !== null) console.warn(`usePaginatedQuery begins again with its first page: ${restart.message}`);
  }, [restart]);

  const failure = failureOf(list, resultOf);
  if (failure?.isCurable === true) {
    setRestart(failure.error);
    setSubject(begun());
  } else if (failure !== null) {
    throw failure.error;
  } else {
    const next = split(list, resultOf);
    if (next !== list) setSubject({...subject, list: next});
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: `resultOf` is of these results.
  const shown = useMemo(() => shownPages(list, resultOf), [list, results]);
  const {continueCursor} = shown;
  const loadMore = useCallback(
    (numItems: number) => {
      refuseNoNumber(numItems, name);
      if (continueCursor === null) return;
      setSubject(now => ({...now, list: withNextPage(now.list, list, continueCursor, numItems)}));
    },
    [list, continueCursor, name],
  );
  return useMemo(() => resultFor(shown.items, shown.status, loadMore), [shown, loadMore]) as never;
}

function resultFor(
  results: unknown[],
  status: PaginationStatus,
  loadMore: (numItems: number) => void,
): UsePaginatedQueryResult<unknown> {
  if (status === 'LoadingFirstPage' || status === 'LoadingMore') return {results, status, isLoading: true, loadMore};
  return {results, status, isLoading: false, loadMore};
}

function checkedInitialNumItems(options: {initialNumItems: number} | undefined): number {
  const initialNumItems: unknown = options?.initialNumItems;
  if (typeof initialNumItems === 'number' && initialNumItems >= 0) return initialNumItems;
  throw new Error(
    `usePaginatedQuery wants a non-negative number as options.initialNumItems, like {initialNumItems: 20}. ` +
      `Received: ${String(initialNumItems)}`,
  );
}

/** `onClick={loadMore}` passes the event. @throws Error when `numItems` is not a positive number */
function refuseNoNumber(numItems: unknown, name: string): void {
  if (typeof numItems === 'number' && numItems > 0) return;
  throw new Error(
    `loadMore of ${name} wants a number of items greater than 0, like onClick={() => loadMore(20)}. ` +
      `Received: ${typeof numItems === 'object' ? 'an object' : String(numItems)}`,
  );
}
