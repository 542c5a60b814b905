/** `onPaginatedUpdate`: lists in pages, of a client. A function of its own, so that pages without such lists do not load it. */
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
 * Shows a list in pages: calls back when its first page is there and after each change, never before this returns. `loadMore` of what the
 * callback gets asks for the next page.
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
