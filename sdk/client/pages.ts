/**
 * A paginated list as a value, with the pages to watch and what to show of their results. Each page is a separate query
 * whose end stays where it was at the first read, so that the next page starts there whatever is inserted or deleted.
 *
 *   one page ──grown, or the server says so──▶ it and its two halves ──both halves are there──▶ two pages
 *   any page: InvalidCursor ──▶ the list begins again, with an id of its own
 */
import type {PaginationOptions, PaginationResult} from '../server/pagination.ts';
import type {Any} from '../values/any.ts';
import type {QueryResult} from './watched-query.ts';

/** A range of a query's results. Without `endCursor` it ends after `numItems` results. */
export type Page = {readonly cursor: string | null; readonly endCursor?: string; readonly numItems: number};

export type PagedList = {
  /** Distinguishes lists with equal arguments, because their pages end at different positions. */
  readonly id: number;
  readonly initialNumItems: number;
  /** In order, adjacent. */
  readonly pages: readonly Page[];
  /** The halves of pages that are being split. */
  readonly splits: ReadonlyMap<Page, readonly [Page, Page]>;
  /** How often more was requested. A caller that has not seen the last request cannot make another. */
  readonly timesLoadedMore: number;
};

export type PageResults = (page: Page) => QueryResult | undefined;

export type PaginationStatus = 'LoadingFirstPage' | 'CanLoadMore' | 'LoadingMore' | 'Exhausted';

export type ShownPages = {items: unknown[]; status: PaginationStatus; continueCursor: string | null};

let lastId = 0;

export function newList(initialNumItems: number): PagedList {
  lastId += 1;
  const first = {cursor: null, numItems: initialNumItems};
  return {id: lastId, initialNumItems, pages: [first], splits: new Map(), timesLoadedMore: 0};
}

/** The pages to watch, including the halves of pages being split. */
export function watchedPages({pages, splits}: PagedList): Page[] {
  return [...pages, ...[...splits.values()].flat()];
}

export function optionsOf({id}: PagedList, {numItems, cursor, endCursor}: Page): PaginationOptions {
  return {numItems, cursor, id, ...(endCursor === undefined ? {} : {endCursor})};
}

/** Adds a page of `numItems` from `cursor`, unless more was requested since `list` was shown. */
export function withNextPage(list: PagedList, shown: PagedList, cursor: string, numItems: number): PagedList {
  if (list.id !== shown.id || list.timesLoadedMore !== shown.timesLoadedMore) return list;
  return {...list, pages: [...list.pages, {cursor, numItems}], timesLoadedMore: list.timesLoadedMore + 1};
}

/**
 * The error of a page that cannot be shown, or null. `isCurable`: a cursor is no longer valid, so the list can start
 * over.
 */
export function failureOf(list: PagedList, results: PageResults): {error: Error; isCurable: boolean} | null {
  for (const page of watchedPages(list)) {
    const result = results(page);
    if (result?.ok === false) {
      // The first page has no cursor that could be invalid, so it would only fail again.
      const isCurable = result.error.message.includes('InvalidCursor') && watchedPages(list).length > 1;
      return {error: result.error, isCurable};
    }
  }
  return null;
}

/**
 * Replaces pages by their halves when both are loaded, and splits pages that have become too large.
 * @returns the same list when there is nothing to do
 */
export function split(list: PagedList, results: PageResults): PagedList {
  const splits = new Map(list.splits);
  const pages = list.pages.flatMap((page): readonly Page[] => {
    const halves = list.splits.get(page);
    if (halves !== undefined) {
      if (halves.some(half => results(half) === undefined)) return [page];
      splits.delete(page);
      return halves;
    }
    const newHalves = halvesOf(page, pageOf(results(page)), list.initialNumItems);
    if (newHalves !== null) splits.set(page, newHalves);
    return [page];
  });
  const isSame = splits.size === list.splits.size && pages.length === list.pages.length;
  return isSame ? list : {...list, pages, splits};
}

function halvesOf(
  {cursor, numItems}: Page,
  result: PaginationResult<unknown> | undefined,
  initialNumItems: number,
): readonly [Page, Page] | null {
  if (result === undefined) return null;
  const {page, pageStatus, splitCursor, continueCursor} = result;
  const isLarge = (pageStatus ?? null) !== null || page.length > 2 * initialNumItems;
  if (!isLarge || typeof splitCursor !== 'string' || splitCursor === cursor || splitCursor === continueCursor)
    return null;
  return [
    {cursor, endCursor: splitCursor, numItems},
    {cursor: splitCursor, endCursor: continueCursor, numItems},
  ];
}

/**
 * The items from the start up to the first gap, and whether there are more.
 * @throws Error when a result is not a page
 */
export function shownPages(list: PagedList, results: PageResults): ShownPages {
  const items: unknown[] = [];
  let last: PaginationResult<unknown> | undefined;
  for (const [index, page] of list.pages.entries()) {
    last = pageOf(results(page));
    // A truncated page does not say where it was cut, so its halves are shown when they arrive.
    const isHidden = last?.pageStatus === 'SplitRequired' && list.splits.has(page);
    if (last === undefined || isHidden) {
      return {items, status: index === 0 ? 'LoadingFirstPage' : 'LoadingMore', continueCursor: null};
    }
    items.push(...last.page);
  }
  if (last === undefined) return {items, status: 'LoadingFirstPage', continueCursor: null};
  if (last.isDone) return {items, status: 'Exhausted', continueCursor: null};
  return {items, status: 'CanLoadMore', continueCursor: last.continueCursor};
}

function pageOf(result: QueryResult | undefined): PaginationResult<Any> | undefined {
  if (result === undefined || !result.ok) return undefined;
  const value = result.value as Partial<PaginationResult<Any>> | null;
  const isPage =
    typeof value === 'object' &&
    Array.isArray(value?.page) &&
    typeof value.isDone === 'boolean' &&
    typeof value.continueCursor === 'string';
  if (isPage) return value as PaginationResult<Any>;
  throw new Error(
    'A list in pages got a result that is not a page: use it with functions registered with paginatedQuery, and let optimistic ' +
      'updates set results like {page, isDone, continueCursor}',
  );
}
