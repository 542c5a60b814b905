'use client';
/** Entry point `svc/compat/react`, which exports svc/react under the names that libraries for Convex import. */
export * from '../../react/index.ts';
export {
  SvcProvider as ConvexProvider,
  SvcProviderWithAuth as ConvexProviderWithAuth,
  SvcReactClient as ConvexReactClient,
  type SvcReactClientOptions as ConvexReactClientOptions,
  useSvc as useConvex,
  useSvcAuth as useConvexAuth,
  useSvcConnectionState as useConvexConnectionState,
} from '../../react/index.ts';
export {optimisticallyUpdateValueInPaginatedQuery} from './optimistic-pages.ts';
