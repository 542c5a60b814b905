/**
 * The client `SvcReactClient`, an app's connection to its deployment. Create it once, outside of components, and pass
 * it to a provider.
 */
import {CLIENT_PREWARM_MS} from '../../shared/client-limits.ts';
import type {ConnectionState} from '../client/connection-state.ts';
import type {AuthTokenFetcher} from '../client/identity.ts';
import {
  LivePages,
  type LoadedPages,
  type PaginatedQueryArgs,
  type PaginatedQueryItem,
  type PaginatedQueryReference,
} from '../client/live-pages.ts';
import {SyncClient, type SyncClientOptions} from '../client/sync-client.ts';
import type {
  EmptyObject,
  FunctionArgs,
  FunctionReference,
  FunctionReturnType,
  OptionalRestArgs,
} from '../server/function-reference.ts';
import type {OptimisticUpdate} from './optimistic-update.ts';
import {callAll, QueryStore} from './query-store.ts';

export type SvcReactClientOptions = SyncClientOptions;

export type MutationOptions<Args> = {
  /** Shows the mutation's expected effect at once. */
  optimisticUpdate?: OptimisticUpdate<Args> | undefined;
};

export type WatchQueryOptions = {
  /** The ends of pages: `journal()` from the watch of an equal query. Default: none. */
  journal?: string | undefined;
};

/** A call's arguments, then its options. The arguments can be omitted when the function requires none. */
export type ArgsAndOptions<
  Reference extends FunctionReference<'query' | 'mutation'>,
  Options,
> = Reference['_args'] extends EmptyObject
  ? [args?: EmptyObject, options?: Options]
  : [args: Reference['_args'], options?: Options];

/** `extendSubscriptionFor` is in milliseconds. Default: 5000. */
export type Prewarmed<Query extends FunctionReference<'query'>> = {
  query: Query;
  args: FunctionArgs<Query>;
  extendSubscriptionFor?: number | undefined;
};

/** A query outside of components. Nothing is sent before the first `onUpdate`. */
export interface Watch<T> {
  /** @returns a function that removes the callback */
  onUpdate(callback: () => void): () => void;
  /** The current result. Undefined: not loaded yet. @throws Error when the query has failed */
  localQueryResult(): T | undefined;
  /** The ends of the result's pages. Undefined: it has none, or is not loaded yet. */
  journal(): string | undefined;
}

/**
 * A paginated list outside of components. Nothing is sent before the first `onUpdate`, and the list ends with its last
 * callback.
 */
export type WatchedPages<Query extends PaginatedQueryReference> = {
  /** @returns a function that removes the callback */
  onUpdate(callback: () => void): () => void;
  /** The loaded pages. Undefined: the first page is not loaded yet. @throws Error that a page failed with */
  localQueryResult(): LoadedPages<PaginatedQueryItem<Query>> | undefined;
};

export class SvcReactClient {
  /** @internal */
  readonly store: QueryStore;

  /**
   * Connects on first use.
   * @param url of the deployment: https://example.com/svc/TENANT.
   * @throws Error when it is not such an address
   */
  constructor(url: string, options: SvcReactClientOptions = {}) {
    this.store = new QueryStore(new SyncClient(url, options));
  }

  get url(): string {
    return this.store.engine.url;
  }

  /**
   * Authenticates all later calls with the tokens that `fetchToken` returns. Apps that use `SvcProviderWithAuth` do not
   * call this.
   * @param onChange is called with true when the server has confirmed the user, and with false when no user is signed
   * in
   */
  setAuth(fetchToken: AuthTokenFetcher, onChange?: (isAuthenticated: boolean) => void): void {
    this.store.engine.setAuth(fetchToken, onChange);
  }

  /** Makes all later calls without a user. */
  clearAuth(): void {
    this.store.engine.clearAuth();
  }

  watchQuery<Query extends FunctionReference<'query'>>(
    query: Query,
    ...[args, options]: ArgsAndOptions<Query, WatchQueryOptions>
  ): Watch<FunctionReturnType<Query>> {
    const {store} = this;
    const watched = store.query(query, args);
    return {
      onUpdate: callback => store.watch(watched, () => callback(), options?.journal),
      localQueryResult: () => {
        const result = store.result(watched);
        if (result?.ok === false) throw result.error;
        return result?.value as FunctionReturnType<Query> | undefined;
      },
      journal: () => store.journal(watched),
    };
  }

  /** `usePaginatedQuery` outside of components. */
  watchPaginatedQuery<Query extends PaginatedQueryReference>(
    query: Query,
    args: PaginatedQueryArgs<Query>,
    options: {initialNumItems: number},
  ): WatchedPages<Query> {
    const listeners = new Set<() => void>();
    let pages: LivePages | undefined;
    return {
      onUpdate: callback => {
        pages ??= new LivePages(this.store.engine, query, args, options, () => callAll(listeners));
        const listener = () => callback();
        listeners.add(listener);
        return () => {
          listeners.delete(listener);
          if (listeners.size > 0) return;
          pages?.end();
          pages = undefined;
        };
      },
      localQueryResult: () => pages?.current() as LoadedPages<PaginatedQueryItem<Query>> | undefined,
    };
  }

  /**
   * Watches a query for a limited time, so that its result is loaded when a component that is about to render needs it.
   */
  prewarmQuery<Query extends FunctionReference<'query'>>({query, args, extendSubscriptionFor}: Prewarmed<Query>): void {
    const end = this.store.watch(this.store.query(query, args), () => {});
    setTimeout(end, extendSubscriptionFor ?? CLIENT_PREWARM_MS);
  }

  /** Reads a query once, without a new request if its result is already loaded. Rejects when the query fails. */
  query<Query extends FunctionReference<'query'>>(
    query: Query,
    ...[args]: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>> {
    const watch = this.watchQuery<FunctionReference<'query'>>(query, args);
    return new Promise((resolve, reject) => {
      const settle = () => {
        try {
          const value = watch.localQueryResult();
          if (value === undefined) return;
          resolve(value);
        } catch (error) {
          reject(error);
        }
        end();
      };
      const end = watch.onUpdate(settle);
      settle();
    });
  }

  /**
   * Runs once, after the mutations called before it, even if the connection is lost meanwhile. Resolves when everything
   * shown includes it; rejects as soon as it has failed.
   */
  mutation<Mutation extends FunctionReference<'mutation'>>(
    mutation: Mutation,
    ...[args, options]: ArgsAndOptions<Mutation, MutationOptions<FunctionArgs<Mutation>>>
  ): Promise<FunctionReturnType<Mutation>> {
    return this.store.engine.mutation(mutation, args, options);
  }

  /** Runs at most once. Rejects when the action fails or the connection is lost before the result arrives. */
  action<Action extends FunctionReference<'action'>>(
    action: Action,
    ...[args]: OptionalRestArgs<Action>
  ): Promise<FunctionReturnType<Action>> {
    return this.store.engine.action(action, args);
  }

  /** Returns the same object until a member changes. */
  connectionState(): ConnectionState {
    return this.store.engine.connectionState();
  }

  /** @returns a function that removes the listener */
  subscribeToConnectionState(listener: (state: ConnectionState) => void): () => void {
    return this.store.engine.subscribeToConnectionState(listener);
  }

  /** Closes the connection permanently. Resolves when it is closed. */
  close(): Promise<void> {
    return this.store.engine.close();
  }
}
