/**
 * Entry point `svc/browser`, with clients of a deployment for browsers and other runtimes with `fetch` and `WebSocket`.
 */

export type {ConnectionState} from '../client/connection-state.ts';
export type {Explained} from '../client/explain.ts';
export type {AuthTokenFetcher} from '../client/identity.ts';
export type {
  LoadedPages,
  PaginatedQueryArgs,
  PaginatedQueryItem,
  PaginatedQueryReference,
} from '../client/live-pages.ts';
export type {Logger} from '../client/logger.ts';
export {
  type InsertedItem,
  insertAtBottomIfLoaded,
  insertAtPosition,
  insertAtTop,
  optimisticallyUpdateValueInPaginatedQuery,
  type PositionedItem,
} from '../client/optimistic-pages.ts';
export type {OptimisticLocalStore} from '../client/optimistic-updates.ts';
export {type Preloaded, preloadedQueryResult} from '../client/preloaded.ts';
export type {WebSocketConstructor} from '../client/socket-link.ts';
export {type MutationOptions, SvcClient, type SvcClientOptions, type Unsubscribe} from './client.ts';
export {type Fetch, type HttpMutationOptions, SvcHttpClient, type SvcHttpClientOptions} from './http-client.ts';
export {onPaginatedUpdate} from './paginated-updates.ts';
export {preloadQuery} from './preload-query.ts';
