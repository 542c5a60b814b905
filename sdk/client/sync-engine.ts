/**
 * The interface of the engine behind the reactive clients (`SvcClient`, and the hooks of `svc/react`). An engine has
 * one socket to one deployment, the queries watched over it, the calls under way, and the caller's identity.
 * `sync-client.ts` implements it.
 *
 * Guarantees:
 * - Results of all queries are of one version. They change together, before any listener runs, and each listener runs
 *   once.
 * - `localResult` returns the same object until the result changes, and unchanged parts of a result stay the same
 *   objects. They are shared, so callers must not modify them.
 * - A mutation's promise resolves after the results that include it have arrived and listeners have run.
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
  /** Expect a paginated query. A function of the other kind has an error as its result. Default: false. */
  paginated?: boolean;
  /** The ends of pages: `journal` of an equal query that was watched before. */
  journal?: string | undefined;
};

export type Subscription = {
  readonly token: QueryToken;
  /**
   * Ends at the next microtask, together with the result and the server's subscription if this was the last subscriber.
   * A new subscription before then keeps them.
   */
  unsubscribe(): void;
};

export type MutationCallOptions = {
  /**
   * Shows the mutation's expected effect at once. Runs again on top of each result from the server, until one of them
   * includes the mutation or the mutation has failed.
   */
  optimisticUpdate?: ((localStore: OptimisticLocalStore, args: Record<string, Value>) => unknown) | undefined;
};

export interface SyncEngine {
  readonly url: string;
  readonly isClosed: boolean;

  /**
   * Identifies a query and its arguments: equal arguments give equal tokens. Sends nothing.
   * @throws Error when the arguments are not values
   */
  queryToken(reference: AnyFunctionReference | string, args?: unknown, options?: {paginated?: boolean}): QueryToken;
  /** Watches a query. Equal queries are watched once. */
  subscribe(reference: AnyFunctionReference | string, args?: unknown, options?: SubscribeOptions): Subscription;
  /** The result to show, including optimistic updates. Undefined: none yet. */
  localResult(token: QueryToken): QueryResult | undefined;
  /** The ends of the pages of a watched query, to pass to `subscribe` of an equal one. */
  journal(token: QueryToken): string | undefined;
  /** For results from another source, such as a rendered page: from now on nothing older than this version is shown. */
  notBefore(version: DataVersion): void;
  /** Whether results can be older than this version. */
  isBehind(version: DataVersion): boolean;
  /**
   * @param listener is called once after each change, with the tokens whose `localResult` has changed, and after each
   * transition, which can change `isBehind`
   */
  onChange(listener: (changed: ReadonlySet<QueryToken>) => void): () => void;

  /** Runs once, after the mutations called before it. Rejects as soon as it is known to have failed. */
  mutation(reference: AnyFunctionReference | string, args?: unknown, options?: MutationCallOptions): Promise<Value>;
  /** Runs at most once. Rejects when the action fails or the connection is lost before the result arrives. */
  action(reference: AnyFunctionReference | string, args?: unknown): Promise<Value>;

  /**
   * @param onChange is called with true when the server has confirmed the user, and with false when no user is signed
   * in
   */
  setAuth(fetchToken: AuthTokenFetcher, onChange?: (isAuthenticated: boolean) => void): void;
  clearAuth(): void;
  getAuth(): {token: string; decoded: Record<string, unknown>} | undefined;

  /** Returns the same object until a member changes. */
  connectionState(): ConnectionState;
  /** Notifies on a microtask, only after a change. */
  subscribeToConnectionState(listener: (state: ConnectionState) => void): () => void;

  /**
   * Stops permanently: nothing is shown or sent any more, and promises of calls stay pending. Resolves when the socket
   * is closed.
   */
  close(): Promise<void>;
}
