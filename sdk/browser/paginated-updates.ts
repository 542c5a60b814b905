/**
 * The function `onPaginatedUpdate`, which shows paginated lists with `SvcClient`. It is separate so that pages without
 * such lists do not load it.
 */
import {
  LivePages,
  type LoadedPages,
  type PaginatedQueryArgs,
  type PaginatedQueryItem,
  type PaginatedQueryReference,
} from '../client/live-pages.ts';
import {guarded} from '../client/logger.ts';
import {SvcClient, type Unsubscribe, unsubscribe} from './client.ts';

/**
 * Shows a paginated list: calls back when the first page arrives and after each change, never before this function
 * returns. To request the next page, call `loadMore` of the value passed to the callback.
 * @param onError is called when a page fails. Without it, errors go to the logger
 */
export function onPaginatedUpdate<Query extends PaginatedQueryReference>(
  client: SvcClient,
  query: Query,
  args: PaginatedQueryArgs<Query>,
  options: {initialNumItems: number},
  callback: (pages: LoadedPages<PaginatedQueryItem<Query>>) => unknown,
  onError?: (error: Error) => unknown,
): Unsubscribe<LoadedPages<PaginatedQueryItem<Query>>> {
  const {engine, logger} = SvcClient.partsOf(client);
  if (engine === null)
    return unsubscribe<never>(
      () => {},
      () => undefined,
    );
  const pages = new LivePages(engine, query, args, options, ({shown, error}) =>
    guarded(logger, () => {
      if (error === undefined) callback(shown as LoadedPages<PaginatedQueryItem<Query>>);
      else if (onError !== undefined) onError(error);
      else logger.error(error);
    }),
  );
  return unsubscribe(
    () => pages.end(),
    () => pages.current() as LoadedPages<PaginatedQueryItem<Query>> | undefined,
  );
}
