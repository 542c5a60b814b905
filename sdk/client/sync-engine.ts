/**
 * What the reactive clients (`SvcClient`, and the hooks of `svc/react`) are built on: one socket to one deployment, the queries that are
 * watched over it, the calls under way, and who the caller is. This file is the interface; `sync-client.ts` is what is behind it.
 *
 * What holds for whoever uses it:
 * - Results of all queries are of one moment. They change together, before anybody is told, and everybody is told once.
 * - `localResult` gives the same object until the result is another one, and parts of a result that did not change are the same objects.
 *   They are shared: nobody may change them.
 * - A mutation's promise resolves after the results that include it are there and listeners have been told.
 */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import type {AnyFunctionReference} from '../server/function-reference.ts';
import type {Value} from '../values/value.ts';
import type {ConnectionState} from './connection-state.ts';
import type {QueryToken} from './function-call.ts';
import type {AuthTokenFetcher} from './identity.ts';
import type {OptimisticLocalStore} from './optimistic-updates.ts';
import type {QueryResult} from './watched-query.ts';

export type SubscribeOptions = {
  /** The function is wanted as a paginated query. One that is of the other kind gives an error as its result. */
  paginated?: boolean;
  /** Where pages end, from `journal` of an equal query that was watched before. */
  journal?: string | undefined;
};

export type Subscription = {
  readonly token: QueryToken;
  /** The result and the subscription at the server go with the last subscriber, at the next microtask: who comes back before keeps them. */
  unsubscribe(): void;
};

export type MutationCallOptions = {
  /**
   * Shows at once what the mutation is expected to do. Runs again on top of each result from the server, until one of them
   * includes the mutation or it has failed.
   */
  optimisticUpdate?: ((localStore: OptimisticLocalStore, args: Record<string, Value>) => unknown) | undefined;
};

export interface SyncEngine {
  readonly url: string;
  readonly isClosed: boolean;

  /** Names a query and its arguments: equal arguments, equal token. No traffic. @throws Error for arguments that are no values */
  queryToken(reference: AnyFunctionReference | string, args?: unknown, options?: {paginated?: boolean}): QueryToken;
  /** Watches a query. Equal queries are watched once. */
  subscribe(reference: AnyFunctionReference | string, args?: unknown, options?: SubscribeOptions): Subscription;
  /** What is to be shown, optimistic updates included. Undefined: nothing yet. */
  localResult(token: QueryToken): QueryResult | undefined;
  /** Where the pages of a watched query end, to be given to `subscribe` of an equal one. */
  journal(token: QueryToken): string | undefined;
  /** For results that came another way: from here on nothing older than this version is shown. */
  notBefore(version: DataVersion): void;
  /** Whether results may be older than this version. */
  isBehind(version: DataVersion): boolean;
  /**
   * @param listener is told once after each change, with all tokens whose `localResult` is another than before; and after each transition,
   *   for which `isBehind` may be another
   */
  onChange(listener: (changed: ReadonlySet<QueryToken>) => void): () => void;

  /** Runs once, after the mutations called before it. Rejects as soon as it is known to have failed. */
  mutation(reference: AnyFunctionReference | string, args?: unknown, options?: MutationCallOptions): Promise<Value>;
  /** Runs at most once. Rejects when the connection is lost before its answer is there. */
  action(reference: AnyFunctionReference | string, args?: unknown): Promise<Value>;

  /**
   * @param onChange is told true when the server has confirmed the caller's identity, and false when there is none
   */
  setAuth(fetchToken: AuthTokenFetcher, onChange?: (isAuthenticated: boolean) => void): void;
  clearAuth(): void;
  getAuth(): {token: string; decoded: Record<string, unknown>} | undefined;

  /** The same object until something in it changes. */
  connectionState(): ConnectionState;
  /** Told on a microtask, only after a change. */
  subscribeToConnectionState(listener: (state: ConnectionState) => void): () => void;

  /** For good: nothing is shown or sent any more, and promises of calls stay pending. Resolves when the socket is closed. */
  close(): Promise<void>;
}
