/**
 * Optimistic updates of paginated lists. Each page is a separate query with a fixed end, and while a page is being
 * split its two halves are watched too. So an item is inserted into every page that would contain it.
 */
import type {PaginationOptions, PaginationResult} from '../server/pagination.ts';
import {compareValues} from '../values/convert.ts';
import type {Value} from '../values/value.ts';
import type {PaginatedQueryArgs, PaginatedQueryItem, PaginatedQueryReference} from './live-pages.ts';
import type {OptimisticLocalStore} from './optimistic-updates.ts';

/** `argsToMatch`: lists whose arguments have other values are left unchanged. */
export type InsertedItem<Query extends PaginatedQueryReference> = {
  paginatedQuery: Query;
  argsToMatch?: Partial<PaginatedQueryArgs<Query>> | undefined;
  localQueryStore: OptimisticLocalStore;
  item: PaginatedQueryItem<Query>;
};

export type PositionedItem<Query extends PaginatedQueryReference> = InsertedItem<Query> & {
  /** The order of the list. */
  sortOrder: 'asc' | 'desc';
  /** The sort key of an item: the values of its index fields, in order. */
  sortKeyFromItem: (item: PaginatedQueryItem<Query>) => Value;
};

type Args = Record<string, Value | undefined> & {paginationOpts: PaginationOptions};
type LoadedPage = {args: Args; value: PaginationResult<unknown>};

/** Inserts the item at the start of each list. */
export function insertAtTop<Query extends PaginatedQueryReference>(inserted: InsertedItem<Query>): void {
  for (const page of loadedPages(inserted)) {
    if (page.args.paginationOpts.cursor === null) setItems(inserted, page, [inserted.item, ...page.value.page]);
  }
}

/** Appends the item to each list whose last page is loaded. */
export function insertAtBottomIfLoaded<Query extends PaginatedQueryReference>(inserted: InsertedItem<Query>): void {
  for (const page of loadedPages(inserted)) {
    if (page.value.isDone) setItems(inserted, page, [...page.value.page, inserted.item]);
  }
}

/** Inserts the item at its sorted position in each list, if the page that contains the position is loaded. */
export function insertAtPosition<Query extends PaginatedQueryReference>(positioned: PositionedItem<Query>): void {
  const {item, sortOrder, sortKeyFromItem} = positioned;
  const sign = sortOrder === 'asc' ? 1 : -1;
  const key = sortKeyFromItem(item);
  /** Negative: the item sorts before the other one. */
  const order = (other: unknown) => sign * compareValues(key, sortKeyFromItem(other as PaginatedQueryItem<Query>));
  const pages = loadedPages(positioned);
  for (const page of pages) {
    const {page: items, isDone, continueCursor} = page.value;
    const {cursor, id} = page.args.paginationOpts;
    const isBehindStart = cursor === null || (items.length > 0 && order(items[0]) >= 0);
    const next = pages.find(({args}) => args.paginationOpts.cursor === continueCursor && args.paginationOpts.id === id);
    const end = next?.value.page[0];
    const isBeforeEnd = isDone || (end !== undefined ? order(end) < 0 : items.length > 0 && order(items.at(-1)) <= 0);
    if (!isBehindStart || !isBeforeEnd) continue;
    const at = items.findIndex(other => order(other) < 0);
    const index = at === -1 ? items.length : at;
    setItems(positioned, page, [...items.slice(0, index), item, ...items.slice(index)]);
  }
}

/** Replaces each item in all lists of this query with these arguments by the result of the function. */
export function optimisticallyUpdateValueInPaginatedQuery<Query extends PaginatedQueryReference>(
  localQueryStore: OptimisticLocalStore,
  paginatedQuery: Query,
  args: PaginatedQueryArgs<Query>,
  updateValue: (item: PaginatedQueryItem<Query>) => PaginatedQueryItem<Query>,
): void {
  const lists = {paginatedQuery, argsToMatch: args, localQueryStore};
  for (const page of loadedPages(lists)) {
    setItems(
      lists,
      page,
      page.value.page.map(item => updateValue(item as PaginatedQueryItem<Query>)),
    );
  }
}

type Lists<Query extends PaginatedQueryReference> = Omit<InsertedItem<Query>, 'item'>;

function loadedPages<Query extends PaginatedQueryReference>(lists: Lists<Query>): LoadedPage[] {
  const wanted = Object.entries(lists.argsToMatch ?? {}) as [string, Value | undefined][];
  const queries = lists.localQueryStore.getAllQueries(lists.paginatedQuery) as unknown as LoadedPage[];
  return queries.filter(
    ({args, value}) => value !== undefined && wanted.every(([name, one]) => compareValues(args[name], one) === 0),
  );
}

function setItems<Query extends PaginatedQueryReference>(
  lists: Lists<Query>,
  page: LoadedPage,
  items: unknown[],
): void {
  const {localQueryStore, paginatedQuery} = lists;
  localQueryStore.setQuery(paginatedQuery, page.args as never, {...page.value, page: items} as never);
}
