/** The client `SvcClient`, with live queries, mutations and actions over one socket, for use without a framework. */
import type {ConnectionState} from '../client/connection-state.ts';
import {NOT_CONNECTED} from '../client/connection-state.ts';
import {deploymentUrl} from '../client/deployment-url.ts';
import type {QueryToken} from '../client/function-call.ts';
import type {AuthTokenFetcher} from '../client/identity.ts';
import {type Logger, loggerOf} from '../client/logger.ts';
import type {OptimisticLocalStore} from '../client/optimistic-updates.ts';
import {SyncClient, type SyncClientOptions} from '../client/sync-client.ts';
import type {MutationCallOptions, SyncEngine} from '../client/sync-engine.ts';
import type {QueryResult} from '../client/watched-query.ts';
import type {
  FunctionArgs,
  FunctionReference,
  FunctionReturnType,
  OptionalRestArgs,
} from '../server/function-reference.ts';
import type {ArgsAndOptions} from './args-and-options.ts';

export interface SvcClientOptions extends SyncClientOptions {
  /** For rendering on a server: every method does nothing, and its promises stay pending. Default: false. */
  disabled?: boolean | undefined;
}

export interface MutationOptions<Args = never> {
  /**
   * Shows the mutation's expected effect at once. It runs again whenever the server's results change, until they
   * include the mutation, so it must be pure and synchronous.
   */
  optimisticUpdate?: (localStore: OptimisticLocalStore, args: Args) => unknown;
}

/** Call it to end the subscription. */
export interface Unsubscribe<T> {
  (): void;
  unsubscribe(): void;
  /** The result shown last; undefined while there is none. @throws Error when the query has failed */
  getCurrentValue(): T | undefined;
}

type Watcher = {
  readonly token: QueryToken;
  /** The result last passed to the callback. Undefined: none yet. */
  notified: QueryResult | undefined;
  tell(result: QueryResult): void;
};

export class SvcClient {
  readonly #url: string;
  readonly #logger: Logger;
  /** Null: disabled. */
  readonly #sync: SyncClient | null;
  readonly #watchers = new Map<QueryToken, Set<Watcher>>();
  /** Watchers that started when a result was already present; a microtask passes it to their callbacks. */
  readonly #beginning = new Set<Watcher>();

  /** @param url of the deployment: `https://host/svc/{tenant_id}`. @throws Error when it is not such an address */
  constructor(url: string, options: SvcClientOptions = {}) {
    const {disabled, ...rest} = options;
    this.#url = deploymentUrl(url);
    this.#logger = loggerOf(options.logger);
    this.#sync = disabled === true ? null : new SyncClient(url, rest);
    this.#sync?.onChange(changed => {
      for (const token of changed) for (const watcher of [...(this.#watchers.get(token) ?? [])]) this.#update(watcher);
    });
  }

  /** @internal */
  static partsOf(client: SvcClient): {engine: SyncEngine | null; logger: Logger} {
    return {engine: client.#sync, logger: client.#logger};
  }

  get url(): string {
    return this.#url;
  }

  get disabled(): boolean {
    return this.#sync === null;
  }

  get closed(): boolean {
    return this.#sync?.isClosed ?? false;
  }

  /**
   * Calls `callback` with the first result and with each new one, never before this method returns. Results are shared,
   * so do not change them.
   * @param onError is called when the query fails. Without it, errors go to the logger
   */
  onUpdate<Query extends FunctionReference<'query'>>(
    query: Query,
    args: FunctionArgs<Query>,
    callback: (result: FunctionReturnType<Query>) => unknown,
    onError?: (error: Error) => unknown,
  ): Unsubscribe<FunctionReturnType<Query>> {
    if (this.#sync === null)
      return unsubscribe(
        () => {},
        () => undefined,
      );
    const sync = this.#sync;
    const subscription = sync.subscribe(query, args);
    const {token} = subscription;
    const watcher: Watcher = {
      token,
      notified: undefined,
      tell: result => {
        if (result.ok) callback(result.value);
        else if (onError !== undefined) onError(result.error);
        else this.#logger.error(result.error);
      },
    };
    this.#watch(watcher);
    const stop = () => {
      this.#unwatch(watcher);
      subscription.unsubscribe();
    };
    return unsubscribe(stop, () => {
      const result = sync.localResult(token);
      if (result?.ok === false) throw result.error;
      return result?.value as FunctionReturnType<Query> | undefined;
    });
  }

  /**
   * Resolves with the current result, which a subscription to the same query provides if there is one. Rejects when the
   * query fails.
   */
  async query<Query extends FunctionReference<'query'>>(
    query: Query,
    ...args: OptionalRestArgs<Query>
  ): Promise<FunctionReturnType<Query>> {
    return await new Promise((resolve, reject) => {
      // No callback runs before `stop` is assigned.
      const stop = this.onUpdate(query, args[0] as FunctionArgs<Query>, settled(resolve), settled(reject));
      function settled<T>(settle: (outcome: T) => void) {
        return (outcome: T) => {
          stop();
          settle(outcome);
        };
      }
    });
  }

  /**
   * Runs once, after the mutations called before it. Resolves when subscriptions show its effects; rejects as soon as
   * it has failed. Without a connection it waits for one.
   */
  async mutation<Mutation extends FunctionReference<'mutation'>>(
    mutation: Mutation,
    ...[args, options]: ArgsAndOptions<Mutation, MutationOptions<FunctionArgs<Mutation>>>
  ): Promise<FunctionReturnType<Mutation>> {
    if (this.#sync === null) return await never();
    const calls = options as MutationCallOptions | undefined;
    return (await this.#sync.mutation(mutation, args, calls)) as FunctionReturnType<Mutation>;
  }

  /** Runs at most once. Rejects when the action fails or the connection is lost before the result arrives. */
  async action<Action extends FunctionReference<'action'>>(
    action: Action,
    ...args: OptionalRestArgs<Action>
  ): Promise<FunctionReturnType<Action>> {
    if (this.#sync === null) return await never();
    return (await this.#sync.action(action, args[0])) as FunctionReturnType<Action>;
  }

  /**
   * Authenticates all later calls with the tokens that `fetchToken` returns. A new token is fetched before the current
   * one expires.
   * @param onChange is called with true when the server has confirmed the user, and with false when no user is signed
   * in
   */
  setAuth(fetchToken: AuthTokenFetcher, onChange?: (isAuthenticated: boolean) => void): void {
    this.#sync?.setAuth(fetchToken, onChange);
  }

  /** Makes all later calls without a user. */
  clearAuth(): void {
    this.#sync?.clearAuth();
  }

  /**
   * The current token and its unverified claims. Undefined while no user is signed in or the first token is being
   * fetched.
   */
  getAuth(): {token: string; decoded: Record<string, unknown>} | undefined {
    return this.#sync?.getAuth();
  }

  connectionState(): ConnectionState {
    return this.#sync?.connectionState() ?? NOT_CONNECTED;
  }

  /** @param listener is called on a microtask after each change. @returns a function that removes the listener */
  subscribeToConnectionState(listener: (state: ConnectionState) => void): () => void {
    return this.#sync?.subscribeToConnectionState(listener) ?? (() => {});
  }

  /** Ends all subscriptions and the connection permanently. Promises of calls stay pending. */
  async close(): Promise<void> {
    this.#watchers.clear();
    this.#beginning.clear();
    await this.#sync?.close();
  }

  #watch(watcher: Watcher): void {
    const watchers = this.#watchers.get(watcher.token) ?? new Set();
    watchers.add(watcher);
    this.#watchers.set(watcher.token, watchers);
    if (this.#sync?.localResult(watcher.token) === undefined) return;
    if (this.#beginning.size === 0) queueMicrotask(() => this.#begin());
    this.#beginning.add(watcher);
  }

  #begin(): void {
    const beginning = [...this.#beginning];
    this.#beginning.clear();
    for (const watcher of beginning) this.#update(watcher);
  }

  #unwatch(watcher: Watcher): void {
    const watchers = this.#watchers.get(watcher.token);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#watchers.delete(watcher.token);
  }

  /** Skips results that are not loaded, watchers that have ended, and results already passed to the callback. */
  #update(watcher: Watcher): void {
    const result = this.#sync?.localResult(watcher.token);
    const isWatching = this.#watchers.get(watcher.token)?.has(watcher) === true;
    if (!isWatching || result === undefined || result === watcher.notified) return;
    watcher.notified = result;
    try {
      watcher.tell(result);
    } catch (caught) {
      this.#logger.error('A callback of onUpdate failed:', caught); // Other callbacks still run.
    }
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => {});
}

export function unsubscribe<T>(stop: () => void, getCurrentValue: () => T | undefined): Unsubscribe<T> {
  return Object.assign(() => stop(), {unsubscribe: stop, getCurrentValue});
}
