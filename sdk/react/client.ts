/** `SvcReactClient`: the connection of an app to its deployment. Made once, outside of components, and given to a provider. */
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
  /** Shows at once what the mutation is expected to do. */
  optimisticUpdate?: OptimisticUpdate<Args> | undefined;
};

export type WatchQueryOptions = {
  /** Where pages end, of an equal query that was watched before: `journal()` of its watch. */
  journal?: string | undefined;
};

/** Arguments, which may be left out where none are needed, and options. */
export type ArgsAndOptions<
  Reference extends FunctionReference<'query' | 'mutation'>,
  Options,
> = Reference['_args'] extends EmptyObject
  ? [args?: EmptyObject, options?: Options]
  : [args: Reference['_args'], options?: Options];

/** `extendSubscriptionFor`: milliseconds. Default: 5 s. */
export type Prewarmed<Query extends FunctionReference<'query'>> = {
  query: Query;
  args: FunctionArgs<Query>;
  extendSubscriptionFor?: number | undefined;
};

/** A query outside of components. Nothing is asked before the first `onUpdate`. */
export interface Watch<T> {
  /** @returns ends it */
  onUpdate(callback: () => void): () => void;
  /** Undefined: not there yet. @throws Error when the query failed */
  localQueryResult(): T | undefined;
  /** Where the pages of its result end; undefined: it has none, or is not there yet. */
  journal(): string | undefined;
}

/** A list in pages outside of components. Nothing is asked before the first `onUpdate`, and the list ends with the last one. */
export type WatchedPages<Query extends PaginatedQueryReference> = {
  /** @returns ends it */
  onUpdate(callback: () => void): () => void;
  /** Undefined: the first page is not there yet. @throws Error that a page failed with */
  localQueryResult(): LoadedPages<PaginatedQueryItem<Query>> | undefined;
};

export class SvcReactClient {
  /** @internal */
  readonly store: QueryStore;

  /**
   * Connects with the first use.
   * @param url of the deployment: https://example.com/svc/TENANT. @throws Error for what is no such address
   */
  constructor(url: string, options: SvcReactClientOptions = {}) {
    this.store = new QueryStore(new SyncClient(url, options));
  }

  get url(): string {
    return this.store.engine.url;
  }

  /**
   * Calls are made as who this token says. Apps that use `SvcProviderWithAuth` do not call this.
   * @param onChange told true when the server has confirmed it, false when nobody is signed in (any more)
   */
  setAuth(fetchToken: AuthTokenFetcher, onChange?: (isAuthenticated: boolean) => void): void {
    this.store.engine.setAuth(fetchToken, onChange);
  }

  /** Calls are made as nobody. */
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

  /** Watches a query for a while, so that its result is there when a component that is about to be shown asks for it. */
  prewarmQuery<Query extends FunctionReference<'query'>>({query, args, extendSubscriptionFor}: Prewarmed<Query>): void {
    const end = this.store.watch(this.store.query(query, args), () => {});
    setTimeout(end, extendSubscriptionFor ?? CLIENT_PREWARM_MS);
  }

  /** Once. What is on the page already is not asked for again. */
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

  /** Runs once, after the mutations called before it, also across lost connections. Resolves when what is shown includes it. */
  mutation<Mutation extends FunctionReference<'mutation'>>(
    mutation: Mutation,
    ...[args, options]: ArgsAndOptions<Mutation, MutationOptions<FunctionArgs<Mutation>>>
  ): Promise<FunctionReturnType<Mutation>> {
    return this.store.engine.mutation(mutation, args, options);
  }

  /** Runs at most once: rejects when the connection is lost before the answer. */
  action<Action extends FunctionReference<'action'>>(
    action: Action,
    ...[args]: OptionalRestArgs<Action>
  ): Promise<FunctionReturnType<Action>> {
    return this.store.engine.action(action, args);
  }

  /** The same object until something in it changes. */
  connectionState(): ConnectionState {
    return this.store.engine.connectionState();
  }

  /** @returns ends it */
  subscribeToConnectionState(listener: (state: ConnectionState) => void): () => void {
    return this.store.engine.subscribeToConnectionState(listener);
  }

  /** For good. Resolves when the connection is closed. */
  close(): Promise<void> {
    return this.store.engine.close();
  }
}
