'use client';
/**
 * Entry point `svc/react`, with React hooks for an app's functions. The first line marks the module as client-side for
 * frameworks that run components on servers.
 */
export type {ConnectionState} from '../client/connection-state.ts';
export type {AuthTokenFetcher} from '../client/identity.ts';
export type {
  LoadedPages,
  PaginatedQueryArgs,
  PaginatedQueryItem,
  PaginatedQueryReference,
} from '../client/live-pages.ts';
export {
  type InsertedItem,
  insertAtBottomIfLoaded,
  insertAtPosition,
  insertAtTop,
  optimisticallyUpdateValueInPaginatedQuery,
  type PositionedItem,
} from '../client/optimistic-pages.ts';
export type {OptimisticLocalStore} from '../client/optimistic-updates.ts';
export type {PaginationStatus} from '../client/pages.ts';
export type {Preloaded} from '../client/preloaded.ts';
export {type SvcAuthState, SvcProviderWithAuth, type UseAuth, useSvcAuth} from './auth.ts';
export {Authenticated, AuthLoading, Unauthenticated} from './auth-components.ts';
export {
  type ArgsAndOptions,
  type MutationOptions,
  type Prewarmed,
  SvcReactClient,
  type SvcReactClientOptions,
  type Watch,
  type WatchedPages,
  type WatchQueryOptions,
} from './client.ts';
export {useSvcConnectionState} from './connection-state.ts';
export {SvcProvider, useSvc} from './context.ts';
export type {OptimisticUpdate} from './optimistic-update.ts';
export {type ReactAction, type ReactMutation, useAction, useMutation} from './use-mutation.ts';
export {
  type UsePaginatedQueryResult,
  type UsePaginatedQueryReturnType,
  usePaginatedQuery,
} from './use-paginated-query.ts';
export {usePreloadedQuery} from './use-preloaded-query.ts';
export {type RequestForQueries, type ResultsOfQueries, useQueries} from './use-queries.ts';
export {type OptionalRestArgsOrSkip, useQuery} from './use-query.ts';
