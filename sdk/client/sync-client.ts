/**
 * The engine of the reactive clients, which combines its parts and decides what to send. Each part has its own file,
 * most with a diagram of its states: the socket (`socket-link.ts`), the watched queries (`query-set.ts`), their updates
 * (`query-update.ts`), calls (`requests.ts`), the caller (`identity.ts`), what is shown (`optimistic-updates.ts`),
 * messages from the server (`incoming.ts`).
 *
 * There is no send queue: `#pump` compares what is wanted with what this socket has been sent. So a new socket gets
 * everything that still matters at once.
 */
import {CLIENT_ARGS_BYTES_MAX, CLIENT_QUERIES_MAX, CLIENT_TOKEN_LEEWAY_MS} from '../../shared/client-limits.ts';
import type {ClientHello} from '../../shared/protocol/function-socket/client-message.ts';
import type {DataVersion, Resumed} from '../../shared/protocol/function-socket/server-message.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import {hex} from '../../shared/values/text-digest.ts';
import type {AnyFunctionReference} from '../server/function-reference.ts';
import type {Value} from '../values/value.ts';
import {type ConnectionState, ConnectionStates} from './connection-state.ts';
import {deploymentUrl} from './deployment-url.ts';
import {type Explained, explained} from './explain.ts';
import {FunctionCall, type QueryToken} from './function-call.ts';
import {type AuthTokenFetcher, Identity} from './identity.ts';
import {Incoming} from './incoming.ts';
import {functionError, guarded, type Logger, type LoggerOption, loggerOf} from './logger.ts';
import {OptimisticUpdates} from './optimistic-updates.ts';
import {QuerySet} from './query-set.ts';
import {type Request, type RequestKind, Requests} from './requests.ts';
import {newSession, type Session} from './session.ts';
import {SocketLink, type WebSocketConstructor} from './socket-link.ts';
import type {MutationCallOptions, SubscribeOptions, Subscription, SyncEngine} from './sync-engine.ts';
import {warnOfUnsavedChanges} from './unsaved-changes.ts';
import {VersionFloor} from './version-floor.ts';
import type {Query, QueryResult} from './watched-query.ts';

export type SyncClientOptions = {
  /** Default: the global `WebSocket`. Required in runtimes that have none. */
  webSocketConstructor?: WebSocketConstructor | undefined;
  /** Ask for confirmation before the page is left while calls have no response. Default: true in browsers. */
  unsavedChangesWarning?: boolean | undefined;
  /** Default: the console. False: nothing is logged. */
  logger?: LoggerOption;
  /** Also log what the connection does. Default: false. */
  verbose?: boolean | undefined;
  /** Called with each transition: which queries ran again, and why, as far as the server reports it. */
  onExplain?: ((explained: Explained) => void) | undefined;
  /** Send nothing before `setAuth` or `clearAuth`, for apps that learn late who is signed in. Default: false. */
  expectAuth?: boolean | undefined;
  /** How many seconds before its expiry a token is refreshed. Default: 10. */
  authRefreshTokenLeewaySeconds?: number | undefined;
};

export class SyncClient implements SyncEngine {
  readonly url: string;
  readonly #options: SyncClientOptions;
  readonly #logger: Logger;
  readonly #clientId = randomId();
  readonly #link: SocketLink;
  readonly #queries = new QuerySet();
  readonly #requests = new Requests();
  readonly #identity: Identity;
  readonly #shown: OptimisticUpdates;
  readonly #floor = new VersionFloor();
  readonly #connection: ConnectionStates;
  readonly #listeners = new Set<(changed: ReadonlySet<QueryToken>) => void>();
  readonly #stopWarning: () => void;
  /** Null: no socket is open. */
  #session: Session | null = null;
  readonly #incoming: Incoming;
  #hasEverConnected = false;
  #isPumping = false;
  #isClosed = false;
  #closed: Promise<void> | undefined;
  /** The error with which the server permanently ended the connection. */
  #fatal: Error | undefined;

  /** Connects on first use. @throws Error when the address is not valid */
  constructor(url: string, options: SyncClientOptions = {}) {
    this.url = deploymentUrl(url);
    this.#options = options;
    this.#logger = loggerOf(options.logger);
    const leewayMs = (options.authRefreshTokenLeewaySeconds ?? CLIENT_TOKEN_LEEWAY_MS / 1000) * 1000;
    this.#identity = new Identity(this.#logger, leewayMs, () => this.#identityChanged(), options.expectAuth);
    this.#shown = new OptimisticUpdates(this.#queries, this.#logger);
    this.#connection = new ConnectionStates(this.#logger, () => this.#connectionState());
    this.#link = new SocketLink(`${this.url.replace(/^http/, 'ws')}/ws`, options.webSocketConstructor, {
      opened: lastCloseReason => this.#opened(lastCloseReason),
      frame: text => {
        if (this.#session !== null) this.#incoming.receive(this.#session, text);
      },
      lost: () => this.#lost(),
      changed: () => this.#connection.touch(),
      log: text => this.#verbose(text),
    });
    this.#incoming = new Incoming({
      link: this.#link,
      queries: this.#queries,
      requests: this.#requests,
      identity: this.#identity,
      shown: this.#shown,
      logger: this.#logger,
      pump: () => this.#pump(),
      tell: (changed, isMoved) => this.#tell(changed, isMoved),
      explain: (ts, updates) => {
        if (options.onExplain !== undefined) guarded(this.#logger, () => options.onExplain?.(explained(ts, updates)));
      },
      connectionChanged: () => {
        this.#hasEverConnected ||= this.#session?.timeline !== undefined;
        this.#connection.touch();
      },
      resumed: (id, resumed) => this.#resume(id, resumed),
      ended: error => this.#end(error),
      verbose: text => this.#verbose(text),
    });
    this.#stopWarning = warnOfUnsavedChanges(options.unsavedChangesWarning, () => this.#requests.oldest !== undefined);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  queryToken(reference: AnyFunctionReference | string, args?: unknown, options?: {paginated?: boolean}): QueryToken {
    return new FunctionCall(reference, args).token(options?.paginated);
  }

  subscribe(reference: AnyFunctionReference | string, args?: unknown, options: SubscribeOptions = {}): Subscription {
    const call = this.#call(reference, args);
    this.#start();
    const query = this.#queries.add(call, options.paginated ?? false, options.journal);
    if (this.#fatal !== undefined) query.result ??= {ok: false, error: this.#fatal};
    this.#pumpSoon();
    let isSubscribed = true;
    return {
      token: query.token,
      unsubscribe: () => {
        if (!isSubscribed || this.#isClosed) return;
        isSubscribed = false;
        this.#queries.release(query);
        this.#pumpSoon();
      },
    };
  }

  localResult(token: QueryToken): QueryResult | undefined {
    return this.#shown.result(token);
  }

  journal(token: QueryToken): string | undefined {
    return this.#queries.get(token)?.journal;
  }

  notBefore(version: DataVersion): void {
    this.#floor.raise(version);
    this.#pumpSoon();
  }

  isBehind(version: DataVersion): boolean {
    return this.#floor.isBehind(version, this.#incoming.seen, this.#session);
  }

  onChange(listener: (changed: ReadonlySet<QueryToken>) => void): () => void {
    const own = (changed: ReadonlySet<QueryToken>) => listener(changed);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async mutation(
    reference: AnyFunctionReference | string,
    args?: unknown,
    {optimisticUpdate}: MutationCallOptions = {},
  ): Promise<Value> {
    const call = this.#call(reference, args);
    return await this.#request('mutation', call, request => {
      if (optimisticUpdate !== undefined) this.#tell(this.#shown.add(request.id, optimisticUpdate, call.args()));
    });
  }

  async action(reference: AnyFunctionReference | string, args?: unknown): Promise<Value> {
    return await this.#request('action', this.#call(reference, args), () => {});
  }

  setAuth(fetchToken: AuthTokenFetcher, onChange?: (isAuthenticated: boolean) => void): void {
    this.#checkOpen();
    this.#start();
    this.#identity.set(fetchToken, onChange);
  }

  clearAuth(): void {
    this.#checkOpen();
    this.#identity.clear();
  }

  getAuth(): {token: string; decoded: Record<string, unknown>} | undefined {
    return this.#identity.get();
  }

  connectionState(): ConnectionState {
    return this.#connection.get();
  }

  subscribeToConnectionState(listener: (state: ConnectionState) => void): () => void {
    return this.#connection.listen(listener);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#connection.clear();
    this.#stopWarning();
    this.#closed ??= this.#link.end();
    this.#identity.end();
    return this.#closed;
  }

  /* Calls */

  #call(reference: AnyFunctionReference | string, args: unknown): FunctionCall {
    this.#checkOpen();
    const call = new FunctionCall(reference, args);
    if (byteLength(call.argsText) > CLIENT_ARGS_BYTES_MAX) {
      throw new Error(`Arguments for ${call.path} are too large (maximum ${CLIENT_ARGS_BYTES_MAX} bytes)`);
    }
    return call;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error('This svc client has already been closed');
  }

  /** @param begin runs before anything is sent; if it throws, nothing is sent */
  #request(kind: RequestKind, call: FunctionCall, begin: (request: Request) => void): Promise<Value> {
    if (this.#fatal !== undefined) return Promise.reject(this.#fatal);
    const {request, answer} = this.#requests.add(kind, call, this.#identity.who);
    try {
      begin(request);
      this.#start();
    } catch (caught) {
      this.#requests.remove(request);
      this.#tell(this.#shown.drop([request.id]));
      throw caught;
    }
    this.#pump();
    this.#connection.touch();
    return answer;
  }

  #start(): void {
    if (this.#fatal === undefined) this.#link.start();
  }

  /* Sending */

  #pumpSoon(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    queueMicrotask(() => {
      this.#isPumping = false;
      if (!this.#isClosed) this.#pump(true);
    });
  }

  /** Sends everything that is wanted and has not been sent on this socket. */
  #pump(isTurnOver = false): void {
    const session = this.#session;
    if (session === null || this.#identity.isPaused) {
      this.#queries.flush(false, isTurnOver);
      return;
    }
    this.#sayWho(session);
    this.#refuseOthers(session);
    const seen = this.#floor.tell(session, this.#incoming.seen, this.#queries.version + 1);
    for (const message of this.#queries.flush(true, isTurnOver, seen)) this.#link.send(message);
    this.#refuseHeldBack();
    if (this.#queries.isChanged) this.#pumpSoon();
    for (const message of this.#requests.toSend('mutation')) this.#link.send(message);
    if (session.greeted === undefined) {
      session.greeted = this.#queries.version;
      // No query is watched, so no transition will come, and no result can lack the effects of earlier mutations.
      if (session.greeted === 0) this.#incoming.settleReached(Number.POSITIVE_INFINITY);
    }
    // An action is lost with its socket, so it is sent only after the server has answered on this one.
    if (session.timeline === undefined) return;
    for (const message of this.#requests.toSend('action')) this.#link.send(message);
  }

  #sayWho(session: Session): void {
    const {token, revision} = this.#identity;
    if (session.revision === revision) return;
    const versions = {base_version: session.identityVersion, new_version: session.identityVersion + 1};
    const message = token === null ? {type: 'clear_auth', ...versions} : {type: 'authenticate', token, ...versions};
    this.#link.send(JSON.stringify(message));
    session.revision = revision;
    session.identityVersion++;
    session.isIdentityConfirmed = false;
  }

  /** Rejects queued calls of another user, so that they are not sent as the current one. */
  #refuseOthers(session: Session): void {
    const others = this.#requests.ofOthers(this.#identity.who.user);
    if (others.length === 0) return;
    this.#fail(others, ({kind, call, isRepeated}) =>
      functionError(
        kind,
        call.path,
        `Not sent${isRepeated ? ' again, though it may have run' : ''}: another user is signed in`,
      ),
    );
    this.#incoming.requestsGone(session);
  }

  #refuseHeldBack(): void {
    const queries = this.#queries.heldBack();
    if (queries.length === 0) return;
    const text = `a client watches at most ${CLIENT_QUERIES_MAX} queries`;
    this.#tell(
      this.#shown.replace(queries.map(({token}) => token), () => {
        for (const query of queries) query.result = {ok: false, error: functionError('query', query.call.path, text)};
      }, []),
    );
  }

  #identityChanged(): void {
    if (this.#isClosed || this.#fatal !== undefined) return;
    this.#pump();
  }

  /* The socket */

  /** @param answered the id of the session that the server has begun on this socket; undefined: the socket is new */
  #opened(lastCloseReason: string | undefined, answered?: string): Session {
    const session = newSession(this.#identity.token === null ? this.#identity.revision : -1);
    this.#session = session;
    const hello: ClientHello = {
      type: 'client_hello',
      protocol: FUNCTION_PROTOCOL,
      client_id: this.#clientId,
      connection_count: this.#link.opened - 1,
      resumes: true,
    };
    if (answered !== undefined) hello.session = answered;
    if (lastCloseReason !== undefined) hello.last_close_reason = lastCloseReason;
    let seen: DataVersion | undefined = this.#incoming.seen;
    if (seen !== undefined) seen = {...seen, ts: Math.max(seen.ts, this.#requests.awaitedTs)};
    seen = this.#floor.greet(session, seen);
    if (seen !== undefined) hello.seen = seen;
    if (this.#options.onExplain !== undefined) hello.explain = true;
    this.#link.send(JSON.stringify(hello));
    this.#pump();
    return session;
  }

  #lost(): void {
    if (this.#session !== null) this.#session.isLost = true;
    this.#session = null;
    if (this.#isClosed) return; // Promises stay pending.
    this.#queries.socketLost();
    this.#failLost(this.#requests.socketLost());
  }

  /** The socket is open, and the server begins another session on it. */
  #resume(id: string, resumed: Resumed): Session {
    if (this.#session !== null) this.#session.isLost = true;
    this.#queries.socketLost();
    const lost = this.#requests.socketLost(resumed === 'answered');
    const session = this.#opened(undefined, id);
    this.#failLost(lost);
    return session;
  }

  #failLost(actions: Request[]): void {
    this.#fail(actions, () => new Error('Connection lost while action was in flight'));
  }

  #tell(changed: ReadonlySet<QueryToken>, isMoved = false): void {
    if (changed.size === 0 && !isMoved) return;
    for (const listener of [...this.#listeners]) guarded(this.#logger, () => listener(changed));
  }

  /** The server permanently rejects this client, so it does not reconnect. What is shown stays. */
  #end(error: Error): void {
    this.#fatal = error;
    this.#logger.error(error.message);
    void this.#link.end();
    this.#identity.fail();
    const waiting = [...this.#queries.all()].filter(({result}) => result === undefined);
    this.#fail([...this.#requests.all()], () => error, waiting);
    this.#connection.touch();
  }

  /**
   * Rejects the calls last, when their optimistic updates are no longer shown.
   * @param queries fail with the same error
   */
  #fail(requests: Request[], errorOf: (request: Request) => Error, queries: Query[] = []): void {
    for (const request of requests) this.#requests.remove(request);
    const changed = this.#shown.replace(
      queries.map(({token}) => token),
      () => {
        for (const query of queries) query.result = {ok: false, error: this.#fatal!};
      },
      requests.map(({id}) => id),
    );
    this.#tell(changed);
    for (const request of requests) request.reject(errorOf(request));
  }

  #connectionState(): ConnectionState {
    const oldest = this.#requests.oldest;
    return {
      isWebSocketConnected: this.#session?.timeline !== undefined,
      hasEverConnected: this.#hasEverConnected,
      connectionCount: this.#link.opened,
      connectionRetries: this.#link.failures,
      hasInflightRequests: oldest !== undefined,
      timeOfOldestInflightRequest: oldest === undefined ? null : new Date(oldest.startedMs),
      inflightMutations: this.#requests.count('mutation'),
      inflightActions: this.#requests.count('action'),
      fatalError: this.#fatal ?? null,
    };
  }

  #verbose(text: string): void {
    if (this.#options.verbose === true) this.#logger.log(`[SVC] ${text}`);
  }
}

/** `crypto.randomUUID` is missing in pages loaded over plain HTTP. */
function randomId(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].map(hex).join('');
}

/** A UTF-16 unit takes at most three bytes, so most texts need no encoding. */
function byteLength(text: string): number {
  return text.length * 3 <= CLIENT_ARGS_BYTES_MAX ? text.length : new TextEncoder().encode(text).length;
}
