/**
 * GET /ws, and GET /_dashboard/ws on the dashboard's host. Checks before the upgrade, in this order (the first violation is answered as an HTTP envelope): Origin and
 * Host, credential (for a page in a browser: a key among the subprotocols; for the dashboard: its cookie), subprotocol, tenant given, tenant exists,
 * rate limits. After the upgrade the socket is a Connection.
 */
import type {HttpRequest, WebSocket} from 'uWebSockets.js';
import {invalid, overloaded, ServiceError, unavailable} from '../../shared/errors.ts';
import {PROTOCOL} from '../../shared/protocol/ws/version.ts';
import {RIGHTS} from '../../shared/rights.ts';
import {type Credentials, keyOf, type Principal} from '../auth/credentials.ts';
import {
  type FailedCredentials,
  RATE_LIMIT_RETRY_S,
  showsCredential,
  tooManyFailures,
} from '../auth/failed-credentials.ts';
import type {KeyRing} from '../auth/key-ring.ts';
import {credentialHint, noteRefusal} from '../auth/refusal.ts';
import {judgeOperation, judgePageKey, judgeTenant, refuseKeyInUrl} from '../auth/rights.ts';
import type {SessionRing} from '../auth/session-ring.ts';
import {judgeUpgrade} from '../dashboard/calls.ts';
import {cookieIn, cookieName} from '../dashboard/cookie.ts';
import type {Exchange} from '../http/exchange.ts';
import type {OriginRule} from '../http/origin.ts';
import {SOCKET_FRAME_BYTES_READ} from '../limits.ts';
import {type Allowance, spendAll} from '../rates/rate-limits.ts';
import type {PlacedTenant} from '../tenants/placed-tenant.ts';
import {Connection, type SocketData} from './connection.ts';
import {type Attempt, checkOffered, offeredKey, requireSurface, type UpgradeParts, Upgrades} from './upgrades.ts';

const NEEDS_CREDENTIAL = 'the upgrade needs the access token, the admin token or a key';
const DASHBOARD_PATH = '/_dashboard/ws';
const ROUTE = {paths: ['/ws', DASHBOARD_PATH], protocol: PROTOCOL, messageBytesRead: SOCKET_FRAME_BYTES_READ};

export type SocketParts = UpgradeParts & {
  originRule: OriginRule;
  credentials: Credentials;
  failedCredentials: FailedCredentials;
  keys: KeyRing;
  sessions: SessionRing;
};

export class Sockets extends Upgrades<SocketData, Connection> {
  readonly #parts: SocketParts;

  constructor(parts: SocketParts) {
    super(ROUTE, parts);
    this.#parts = parts;
    const {metrics, directory} = parts;
    metrics.measure('svc_socket_connections', () => this.open.size);
    metrics.measure('svc_socket_subscriptions', () =>
      [...this.open].reduce((sum, {subscriptions}) => sum + subscriptions.size, 0),
    );
    metrics.measure('svc_router_live_queries', () => directory.liveQueries());
  }

  /** Closes connections whose keys are no longer valid, with the reason. */
  endInvalid(): void {
    for (const connection of [...this.open]) {
      const fault = this.#parts.keys.faultOf(connection.principal);
      if (fault !== null) connection.fatal(fault);
    }
  }

  protected admit(req: HttpRequest, attempt: Attempt): SocketData {
    const {originRule, credentials, surfaces} = this.#parts;
    if (req.getUrl() === DASHBOARD_PATH) return this.#admitSession(req, attempt);
    requireSurface(req, surfaces, 'api');
    originRule.checkUpgrade(req);
    refuseKeyInUrl(req);
    const known = credentials.of(req);
    const principal = known === undefined ? this.#principalOfPage(req) : known;
    attempt.principal = principal;
    if (known === undefined && principal !== null) judgePageKey(principal, Date.now());
    return {tenant: this.#tenantFor(req, principal), principal};
  }

  #admitSession(req: HttpRequest, attempt: Attempt): SocketData {
    const {surfaces, originRule, sessions} = this.#parts;
    requireSurface(req, surfaces, 'dashboard');
    const host = req.getHeader('host');
    if (!surfaces.isNamed(host)) originRule.checkHost(host);
    const origin = surfaces.originOf(host);
    judgeUpgrade(req, origin);
    const session = sessions.find(cookieIn(req.getHeader('cookie'), cookieName(origin)));
    if (session === null) throw new ServiceError('auth.unauthorized', 'sign in to the dashboard first');
    attempt.principal = session;
    return {tenant: this.#tenantFor(req, session), principal: session};
  }

  protected override refuse(exchange: Exchange, error: ServiceError, req: HttpRequest): void {
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

  #tenantFor(req: HttpRequest, principal: Principal): PlacedTenant {
    const {directory} = this.#parts;
    judgeOperation(principal, RIGHTS.socket);
    checkOffered(req, PROTOCOL);
    const tenantId = tenantNamed(req);
    if (tenantId === '') throw invalid('name the tenant in X-Tenant-Id or in the query parameter tenant_id');
    judgeTenant(principal, tenantId);
    const tenant = directory.find(tenantId);
    if (tenant === undefined) throw directory.refusalOf(tenantId.slice(0, 64));
    spendAll(this.#allowances(principal, tenant));
    if (this.isDraining) throw unavailable('the server is stopping');
    if (this.open.size >= this.#parts.socketsMax) throw overloaded('too many sockets are open');
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
    return [rateLimits.ofKey(keyOf(principal)), rateLimits.ofTenant(tenant)];
  }

  protected opened(ws: WebSocket<SocketData>): Connection {
    const {tenant, principal} = ws.getUserData();
    const allowances = this.#allowances(principal, tenant);
    const connection = new Connection(ws, tenant, principal, this.#parts.buffered, allowances);
    this.#parts.directory.socketOpened(tenant, connection);
    return connection;
  }

  protected left({tenant}: SocketData, connection: Connection): void {
    tenant.live.connections.delete(connection);
  }
}

/** Empty: no tenant is named. */
function tenantNamed(req: HttpRequest): string {
  return req.getHeader('x-tenant-id') || (req.getQuery('tenant_id') ?? '');
}
