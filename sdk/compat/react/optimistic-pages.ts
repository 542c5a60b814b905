/** Optimistically updates single items, in all loaded pages of a paginated list. */
import type {OptimisticLocalStore} from '../../client/optimistic-updates.ts';
import type {PaginatedQueryArgs, PaginatedQueryItem, PaginatedQueryReference} from '../../react/index.ts';
import type {Any} from '../../values/any.ts';

/** @param update returns the new item, or the same one if it stays */
export function optimisticallyUpdateValueInPaginatedQuery<Query extends PaginatedQueryReference>(
  store: OptimisticLocalStore,
  query: Query,
  wanted: PaginatedQueryArgs<Query>,
  update: (value: PaginatedQueryItem<Query>) => PaginatedQueryItem<Query>,
): void {
  const own = JSON.stringify(sorted(wanted as Record<string, unknown>));
  for (const {args, value} of store.getAllQueries(query)) {
    if (value === undefined) continue;
    const {paginationOpts: _, ...others} = args as Record<string, unknown>;
    if (JSON.stringify(sorted(others)) !== own) continue;
    const {page, ...rest} = value as {page: PaginatedQueryItem<Query>[]};
    store.setQuery(query, args, {...rest, page: page.map(update)} as Any);
  }
}

function sorted(args: Record<string, unknown>): [string, unknown][] {
  return Object.entries(args).sort(([one], [other]) => (one < other ? -1 : 1));
}
