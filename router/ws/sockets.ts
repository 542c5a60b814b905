/**
 * GET /ws. Checks before the upgrade, in this order (the first violation is answered as an HTTP envelope): Origin and
 * Host, credential (for a page in a browser: a key among the subprotocols), subprotocol, tenant given, tenant exists,
 * rate limits. After the upgrade the socket is a Connection.
 */
import type {HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket} from 'uWebSockets.js';
import type {BufferedBytes} from '../../shared/byte-accounts.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {PROTOCOL} from '../../shared/protocol/ws/version.ts';
import {RIGHTS} from '../../shared/rights.ts';
import type {Credentials, Principal} from '../auth/credentials.ts';
import {
  type FailedCredentials,
  RATE_LIMIT_RETRY_S,
  showsCredential,
  tooManyFailures,
} from '../auth/failed-credentials.ts';
import {credentialHint, noteRefusal} from '../auth/refusal.ts';
import {judgeOperation, judgePageKey, judgeTenant, keyEnded, refuseKeyInUrl} from '../auth/rights.ts';
import type {Callers} from '../edge/callers.ts';
import {Exchange, type ExchangeObserver} from '../http/exchange.ts';
import type {OriginRule} from '../http/origin.ts';
import type {RequestIds} from '../http/reply-head.ts';
import {
  FUNCTION_SOCKET_POLL_MS,
  SOCKET_BUFFERED_BYTES_MAX,
  SOCKET_FRAME_BYTES_READ,
  SOCKET_IDLE_SECONDS,
} from '../limits.ts';
import {type Allowance, type RateLimits, spendAll} from '../rates/rate-limits.ts';
import type {TenantDirectory} from '../tenants/directory.ts';
import {type PlacedTenant, tenantNotFound} from '../tenants/placed-tenant.ts';
import {Connection, type SocketData} from './connection.ts';
import {checkOffered, offeredKey} from './offered-protocols.ts';

const NEEDS_CREDENTIAL = 'the upgrade needs the access token, the admin token or a key';
/** "Service restart": clients reconnect at once. */
const RESTARTING = 1012;

export type SocketParts = {
  originRule: OriginRule;
  credentials: Credentials;
  failedCredentials: FailedCredentials;
  directory: TenantDirectory;
  requestIds: RequestIds;
  observer: ExchangeObserver;
  callers: Callers;
  rateLimits: RateLimits;
  metrics: RouterMetrics;
  /** Simultaneously open sockets, in this router. */
  socketsMax: number;
  /** Bytes buffered for all its sockets. */
  buffered: BufferedBytes;
};

export class Sockets {
  readonly #parts: SocketParts;
  readonly #open = new Set<Connection>();
  #isDraining = false;

  constructor(parts: SocketParts) {
    this.#parts = parts;
    const {metrics, directory} = parts;
    metrics.measure('svc_socket_connections', () => this.#open.size);
    metrics.measure('svc_socket_subscriptions', () =>
      [...this.#open].reduce((sum, {subscriptions}) => sum + subscriptions.size, 0),
    );
    metrics.measure('svc_router_live_queries', () => directory.liveQueries());
    setInterval(() => this.#poll(), FUNCTION_SOCKET_POLL_MS).unref();
  }

  mount(app: TemplatedApp): void {
    app.ws<SocketData>('/ws', {
      maxPayloadLength: SOCKET_FRAME_BYTES_READ,
      maxBackpressure: SOCKET_BUFFERED_BYTES_MAX,
      closeOnBackpressureLimit: true,
      idleTimeout: SOCKET_IDLE_SECONDS,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: ws => this.#opened(ws),
      message: (ws, message, isBinary) => ws.getUserData().connection?.receive(message, isBinary),
      drain: ws => ws.getUserData().connection?.subscriptions.drained(),
      close: ws => this.#closed(ws),
    });
  }

  /** Sends every client the request to reconnect; upgrades are refused from now on. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of [...this.#open]) connection.end(RESTARTING, 'the server restarts');
  }

  /** Closes connections whose keys are no longer valid, with the reason. */
  endInvalid(nowMs: number): void {
    for (const connection of [...this.#open]) {
      if (connection.principal?.isValid(nowMs) === false) connection.fatal(keyEnded());
    }
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    let principal: Principal = null;
    try {
      const {originRule, credentials} = this.#parts;
      originRule.checkUpgrade(req);
      refuseKeyInUrl(req);
      const known = credentials.of(req);
      // Set before it is judged, because the record of a refusal names it.
      principal = known === undefined ? this.#principalOfPage(req) : known;
      if (known === undefined && principal !== null) judgePageKey(principal, Date.now());
      const tenant = this.#check(req, principal);
      const data: SocketData = {connection: null, tenant, principal};
      const key = req.getHeader('sec-websocket-key');
      res.upgrade(data, key, PROTOCOL, req.getHeader('sec-websocket-extensions'), context);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      const requestId = this.#parts.requestIds.next(req.getHeader('x-request-id'));
      const exchange = new Exchange(res, 'GET', requestId, this.#isDraining, this.#parts.observer);
      this.#parts.callers.note(exchange, req);
      exchange.principal = principal;
      this.#refuse(exchange, caught, req);
    }
  }

  #refuse(exchange: Exchange, error: ServiceError, req: HttpRequest): void {
    const {failedCredentials} = this.#parts;
    const offered = offeredKey(req);
    const isJudged = exchange.principal !== null || error.code === 'auth.origin_forbidden';
    const hint = () => credentialHint(req.getHeader('authorization'), req.getHeader('x-svc-admin-token'), offered);
    const refused = {operation: 'socket', tenant: tenantNamed(req) || null, shown: isJudged ? null : hint()};
    noteRefusal(exchange, error.code, refused);
    const isWrong = error.code === 'auth.unauthorized' && (showsCredential(req) || offered !== null);
    if (!isWrong || !failedCredentials.failed(exchange.address)) exchange.fail(error);
    else failedCredentials.delay(() => exchange.fail(tooManyFailures(), RATE_LIMIT_RETRY_S));
  }

  #check(req: HttpRequest, principal: Principal): PlacedTenant {
    const {directory} = this.#parts;
    judgeOperation(principal, RIGHTS.socket);
    checkOffered(req, PROTOCOL);
    const tenantId = tenantNamed(req);
    if (tenantId === '') {
      throw new ServiceError('op.invalid_input', 'name the tenant in X-Tenant-Id or in the query parameter tenant_id');
    }
    judgeTenant(principal, tenantId);
    const tenant = directory.find(tenantId);
    if (tenant === undefined) throw tenantNotFound(tenantId.slice(0, 64));
    spendAll(this.#allowances(principal, tenant));
    if (this.#isDraining) throw new ServiceError('session.worker_unavailable', 'the server is stopping');
    if (this.#open.size >= this.#parts.socketsMax)
      throw new ServiceError('session.overloaded', 'too many sockets are open');
    return tenant;
  }

  /**
   * The holder of a key that is offered as a subprotocol, the only way for a page in a browser to send one.
   * @throws auth.unauthorized 401
   */
  #principalOfPage(req: HttpRequest): NonNullable<Principal> {
    const {credentials} = this.#parts;
    const secret = offeredKey(req);
    if (secret === null) {
      const shown = [req.getHeader('authorization'), req.getHeader('x-svc-admin-token')] as const;
      throw new ServiceError('auth.unauthorized', credentials.refusal(...shown, NEEDS_CREDENTIAL));
    }
    const caller = credentials.ofKey(secret);
    if (caller === null) throw new ServiceError('auth.unauthorized', credentials.refusal('', secret, NEEDS_CREDENTIAL));
    return caller;
  }

  #allowances(principal: Principal, tenant: PlacedTenant): (Allowance | null)[] {
    const {rateLimits} = this.#parts;
    return [rateLimits.ofPrincipal(principal), rateLimits.ofTenant(tenant)];
  }

  #opened(ws: WebSocket<SocketData>): void {
    const data = ws.getUserData();
    const connection = new Connection(
      ws,
      data.tenant,
      data.principal,
      this.#parts.buffered,
      this.#allowances(data.principal, data.tenant),
    );
    data.connection = connection;
    this.#open.add(connection);
    this.#parts.directory.socketOpened(data.tenant, connection);
  }

  #closed(ws: WebSocket<SocketData>): void {
    const {connection, tenant} = ws.getUserData();
    if (connection === null) return;
    this.#open.delete(connection);
    tenant.live.connections.delete(connection);
    connection.closed();
  }

  /**
   * Polls the buffered bytes, because published frames are buffered only later, and no event reports a network that
   * takes nothing.
   */
  #poll(): void {
    for (const connection of this.#open) connection.subscriptions.poll();
  }
}

/** Empty: no tenant is named. */
function tenantNamed(req: HttpRequest): string {
  return req.getHeader('x-tenant-id') || (req.getQuery('tenant_id') ?? '');
}
