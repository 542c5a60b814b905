/**
 * Takes a request through the router. Its rules are checked in this order, and the first violation determines the
 * answer:
 *
 *   Origin and Host → length of the URL → route and method → credential → tenant → rate limits → body → forward to the worker
 *
 * Deployment routes (`/svc/…`) are exempt from the first rule, and the worker judges their credentials. Only requests
 * with a credential learn that a tenant is unknown. The body is read last and not parsed here, except for the tenant
 * routes' own bodies and where only the body names the tenant.
 */

import type {HttpRequest, HttpResponse, TemplatedApp} from 'uWebSockets.js';
import {AssertionError, unreachable} from '../../shared/assert.ts';
import type {BufferedBytes} from '../../shared/byte-accounts.ts';
import {signedGrantOf} from '../../shared/egress/signed-grant.ts';
import {asServiceError, ServiceError} from '../../shared/errors.ts';
import {corsHeaders} from '../../shared/ipc/cors.ts';
import {URL_BYTES_MAX} from '../../shared/limits.ts';
import {type Operation, ROUTER_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import {auditedAction, auditRequest} from '../auth/audited.ts';
import type {Credentials} from '../auth/credentials.ts';
import {
  type FailedCredentials,
  RATE_LIMIT_RETRY_S,
  showsCredential,
  tooManyFailures,
} from '../auth/failed-credentials.ts';
import {credentialHint, noteRefusal, refuseMisplaced} from '../auth/refusal.ts';
import {
  judgeOperation,
  judgeQuery,
  judgeTables,
  judgeTenant,
  keyEnded,
  lackingForBody,
  refuseKeyInUrl,
} from '../auth/rights.ts';
import type {ControlChannel} from '../control-channel.ts';
import {Exchange, type ExchangeObserver} from '../http/exchange.ts';
import {type OriginRule, pageHeaders, preflightHeaders} from '../http/origin.ts';
import {RequestIds} from '../http/reply-head.ts';
import {announcedBody} from '../http/request-body.ts';
import {WHOLE_UPLOAD_BYTES_MAX} from '../limits.ts';
import {PROMETHEUS_TEXT} from '../metrics/listener.ts';
import type {Allowance, RateLimits} from '../rates/rate-limits.ts';
import {decodedOrSame, decodeParameter, findPath, isDeploymentPath, type PathEntry, type Route} from '../routes.ts';
import type {TenantDirectory} from '../tenants/directory.ts';
import {type PlacedTenant, tenantNotFound} from '../tenants/placed-tenant.ts';
import type {Callers} from './callers.ts';
import {externalUrl} from './external-url.ts';
import {HOME_HEADERS, HOME_PAGE, HOME_TYPE, wantsPage} from './home.ts';
import {answerKeys, whoAmI} from './key-handlers.ts';
import {tenantOfBody, tenantOfQuery, tenantOfSessionPath} from './named-tenant.ts';
import {conditionsOf, deploymentMeta, metaWithGrant, requestMeta} from './request-meta.ts';
import type {ShippedFiles, ShippedRequest} from './shipped-files.ts';
import {controlTenant, createTenant, deleteTenant, listTenants, showOverview, showTenant} from './tenant-handlers.ts';

export type IntakeParts = {
  credentials: Credentials;
  /** Signs grants (shared/egress/signed-grant.ts). */
  grantKey: string;
  failedCredentials: FailedCredentials;
  directory: TenantDirectory;
  control: ControlChannel;
  observer: ExchangeObserver;
  callers: Callers;
  /** Bytes buffered for readers of endless answers and for sockets. */
  buffered: BufferedBytes;
  rateLimits: RateLimits;
  files: ShippedFiles;
  /** Called for a failure that the client did not cause. */
  onBug: (exchange: Exchange, error: unknown) => void;
};

/** One app method per HTTP method, so that the method need not be read from every request. */
const MOUNTS = [
  ['get', 'GET'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
  ['del', 'DELETE'],
] as const;

export class Intake {
  readonly #parts: IntakeParts;
  readonly requestIds = new RequestIds();
  readonly #originRule: OriginRule;
  /** Exchanges with endless answers. Ended ones are removed when the next one is added. */
  readonly #endless = new Set<Exchange>();
  /** As above: exchanges with a key whose bodies are streamed, for as long as their clients like. */
  readonly #uploads = new Set<Exchange>();
  #isDraining = false;

  constructor(parts: IntakeParts, originRule: OriginRule) {
    this.#parts = parts;
    this.#originRule = originRule;
  }

  /** From now on every answer closes its connection, and new work is refused. */
  drain(): void {
    this.#isDraining = true;
    for (const exchange of this.#endless) exchange.cut(stopping());
    this.#endless.clear();
  }

  /** Ends the endless answers and the arriving bodies whose keys are no longer valid. */
  endInvalid(nowMs: number): void {
    for (const exchanges of [this.#endless, this.#uploads]) {
      for (const exchange of exchanges) {
        if (exchange.principal?.isValid(nowMs) === false) exchange.cut(keyEnded());
      }
    }
  }

  mount(app: TemplatedApp): void {
    for (const [name, method] of MOUNTS) app[name]('/*', (res, req) => this.#handle(method, res, req));
    app.any('/*', (res, req) => this.#handle(req.getCaseSensitiveMethod(), res, req));
  }

  #handle(method: string, res: HttpResponse, req: HttpRequest): void {
    const requestId = this.requestIds.next(req.getHeader('x-request-id'));
    const exchange = new Exchange(res, method, requestId, this.#isDraining, this.#parts.observer);
    try {
      this.#parts.callers.note(exchange, req);
      this.#take(exchange, req);
    } catch (caught) {
      this.#fail(exchange, caught);
    }
  }

  #take(exchange: Exchange, req: HttpRequest): void {
    const announced = announcedBody(req);
    if (announced !== null) exchange.announce(announced);
    const path = req.getUrl();
    const origin = isDeploymentPath(path) ? '' : this.#originRule.check(req);
    exchange.edgeHeaders = pageHeaders(origin);
    // The types promise a string, but the value is undefined without a query string.
    const query = (req.getQuery() as string | undefined) ?? '';
    if (path.length + 1 + query.length > URL_BYTES_MAX) {
      throw new ServiceError('op.invalid_input', `the URL is longer than ${URL_BYTES_MAX} bytes`);
    }
    const parameters: string[] = [];
    const entry = findPath(path, parameters);
    if (entry === null) {
      if (wantsPage(exchange.method, path, req.getHeader('accept'))) {
        if (this.#isDraining) throw stopping();
        exchange.reply(200, HOME_PAGE, HOME_HEADERS, HOME_TYPE);
        return;
      }
      throw new ServiceError('op.not_found', 'there is no such route', {missing: 'route'});
    }
    if (entry.hasCors) exchange.errorHeaders = corsHeaders(undefined, null);
    const preflight = preflightHeaders(exchange.method, origin, req);
    if (preflight !== null) {
      exchange.reply(204, '', preflight);
      return;
    }
    const route = entry.methods.get(exchange.method) ?? entry.any;
    if (route === null) {
      this.#refuseMethod(exchange, entry);
      return;
    }
    exchange.route = route;
    exchange.path = path;
    exchange.query = query;
    if (announced !== null && !route.takesBody && route.streamedBytesMax === null) exchange.ignoreBody();
    if (this.#isDraining) throw stopping();
    if (route.access === 'admin') {
      if (query !== '') refuseKeyInUrl(req);
      const principal = this.#parts.credentials.of(req);
      if (principal === undefined) {
        this.#refuseCredential(exchange, req, NEEDS_CREDENTIAL, showsCredential(req));
        return;
      }
      exchange.principal = principal;
      judgeOperation(principal, route.rights);
      spend(exchange, this.#parts.rateLimits.ofPrincipal(principal));
    }
    if ('own' in route.answer) this.#answerHere(exchange, route.answer.own, parameters, query, req);
    else if (route.access === 'deployment') this.#operateDeployment(exchange, route, parameters, req);
    else this.#operate(exchange, route, route.answer.operation, parameters, query, req);
  }

  #refuseMethod(exchange: Exchange, entry: PathEntry): void {
    const error = new ServiceError('op.method_not_allowed', `this path takes ${entry.allow}`);
    exchange.fail(error, 0, [['Allow', entry.allow]]);
  }

  /** @param isWrong a credential was shown and is wrong: after too many of those, answers are delayed */
  #refuseCredential(exchange: Exchange, req: HttpRequest, otherwise: string, isWrong: boolean): void {
    const {failedCredentials, credentials} = this.#parts;
    const bearer = exchange.route?.access === 'admin' ? req.getHeader('authorization') : '';
    const adminToken = req.getHeader('x-svc-admin-token');
    const message = credentials.refusal(bearer, adminToken, otherwise);
    noteRefusal(exchange, 'auth.unauthorized', {shown: credentialHint(bearer, adminToken)});
    if (!isWrong || !failedCredentials.failed(exchange.address)) throw new ServiceError('auth.unauthorized', message);
    exchange.ignoreBody();
    failedCredentials.delay(() => exchange.fail(tooManyFailures(), RATE_LIMIT_RETRY_S));
  }

  #operate(
    exchange: Exchange,
    route: Route,
    operation: Operation,
    parameters: string[],
    query: string,
    req: HttpRequest,
  ): void {
    const tenant = this.#tenantOf(exchange, route, parameters, query);
    for (let i = 0; i < parameters.length; i++) parameters[i] = decodeParameter(parameters[i]!);
    const key = route.isRead ? '' : req.getHeader('idempotency-key');
    const conditions = conditionsOf(req, route);
    const {principal, requestId} = exchange;
    if (principal !== null) judgeQuery(principal, route.rights.queryScope, query);
    exchange.meta = requestMeta({
      operation,
      parameters,
      query: route.takesQuery ? query : '',
      idempotencyKey: key,
      family: principal === null || key === '' ? '' : principal.key.family,
      conditions,
      lastEventId: route.takesLastEventId ? req.getHeader('last-event-id') : '',
      contentType: route.takesContentType ? req.getHeader('content-type') : '',
      requestId,
      tables: judgeTables(principal, route.rights.tables, parameters[route.tableAt] ?? '', query),
      lacking: lackingForBody(principal, route.rights.bodyScope),
    });
    if (route.isEndless) this.#keepEndless(exchange);
    if (operation === 'settings.put' && tenant !== null) this.#forwardVouchedFor(exchange, route, tenant, req);
    else this.#forward(exchange, route, tenant, req);
  }

  /** Null: only the body names the tenant. */
  #tenantOf(exchange: Exchange, {tenantIn}: Route, parameters: string[], query: string): PlacedTenant | null {
    switch (tenantIn) {
      case 'path':
        return this.#tenant(exchange, parameters.shift()!);
      case 'session_id':
        return this.#tenantNamed(exchange, tenantOfSessionPath(parameters[0]!));
      case 'query':
        return this.#tenantNamed(exchange, tenantOfQuery(query));
      case 'body':
        return null;
      default:
        return unreachable(tenantIn);
    }
  }

  #operateDeployment(exchange: Exchange, route: Route, parameters: string[], req: HttpRequest): void {
    const adminToken = req.getHeader('x-svc-admin-token');
    if (adminToken !== '') {
      const principal = this.#parts.credentials.ofAdminToken(adminToken);
      if (principal === undefined) {
        this.#refuseCredential(exchange, req, 'X-Svc-Admin-Token is not the admin token', true);
        return;
      }
      exchange.principal = principal;
      judgeOperation(principal, route.rights);
      spend(exchange, this.#parts.rateLimits.ofPrincipal(principal));
    }
    const tenant = this.#tenant(exchange, parameters.shift()!);
    const {operation} = route.answer as {operation: Operation};
    // HTTP actions judge the header themselves.
    if (adminToken === '' && operation !== 'functions.http') refuseMisplaced(exchange, req.getHeader('authorization'));
    // The path of an HTTP action is not decoded, because the app decides what an encoded slash means.
    const known = operation === 'functions.http' ? parameters : parameters.map(decodeParameter);
    if (route.parameter !== null) known.push(route.parameter);
    const url = operation === 'functions.http' ? externalUrl(req, this.#parts.callers.believed(exchange)) : '';
    exchange.meta = deploymentMeta(operation, known, exchange.requestId, adminToken !== '', req, url);
    this.#forward(exchange, route, tenant, req);
  }

  #forward(exchange: Exchange, route: Route, tenant: PlacedTenant | null, req: HttpRequest): void {
    exchange.isRead = route.isRead;
    exchange.isShort = route.isShort;
    exchange.isUserCall = route.isUserCall;
    if (tenant === null) {
      this.#readBody(exchange, req, () =>
        this.#send(this.#tenantNamed(exchange, tenantOfBody(exchange.body)), exchange),
      );
    } else if (route.streamedBytesMax !== null) this.#forwardStreamed(exchange, route, tenant, req);
    else if (route.takesBody) this.#readBody(exchange, req, () => this.#send(tenant, exchange));
    else this.#send(tenant, exchange);
  }

  /** Sends the request to the worker; an operator's action is recorded on disk first. */
  #send(tenant: PlacedTenant, exchange: Exchange): void {
    const {directory} = this.#parts;
    if (exchange.route!.rights.trace !== 'audit') directory.forward(tenant, exchange);
    else this.#later(exchange, async () => directory.forward(tenant, exchange));
  }

  /**
   * Adds a signed grant that marks the body as an operator's. The worker passes the body to the supervisor, which
   * verifies the grant.
   */
  #forwardVouchedFor(exchange: Exchange, route: Route, tenant: PlacedTenant, req: HttpRequest): void {
    const {grantKey} = this.#parts;
    exchange.isRead = route.isRead;
    exchange.isShort = route.isShort;
    exchange.isUserCall = route.isUserCall;
    this.#readBody(exchange, req, () => {
      exchange.meta = metaWithGrant(exchange.meta, signedGrantOf(grantKey, exchange.tenantId, exchange.body));
      this.#send(tenant, exchange);
    });
  }

  /** Streams a body to the worker. Short bodies of known length are collected instead, which costs less. */
  #forwardStreamed(exchange: Exchange, route: Route, tenant: PlacedTenant, req: HttpRequest): void {
    if (route.access === 'admin') refuseEncoding(req); // an app may accept any encoding
    const {announcedBytes} = exchange;
    if (announcedBytes !== null && announcedBytes <= WHOLE_UPLOAD_BYTES_MAX) {
      if (announcedBytes === 0) this.#send(tenant, exchange);
      else this.#collectBody(exchange, () => this.#send(tenant, exchange));
      return;
    }
    exchange.streamBody(route.streamedBytesMax!);
    // An app's answer may have begun, so it is left to finish.
    if (route.access === 'admin' && exchange.principal !== null) keep(this.#uploads, exchange);
    this.#send(tenant, exchange);
  }

  #keepEndless(exchange: Exchange): void {
    exchange.buffered = this.#parts.buffered;
    keep(this.#endless, exchange);
  }

  /** @param segment of the path, percent-encoded; a segment that cannot be decoded names no tenant */
  #tenant(exchange: Exchange, segment: string): PlacedTenant {
    return this.#tenantNamed(exchange, decodedOrSame(segment));
  }

  #tenantNamed(exchange: Exchange, id: string): PlacedTenant {
    judgeTenant(exchange.principal, id);
    const tenant = this.#parts.directory.find(id);
    if (tenant === undefined) throw tenantNotFound(id);
    exchange.tenantId = id;
    exchange.account = tenant.reserved;
    exchange.traffic = tenant;
    spend(exchange, this.#parts.rateLimits.ofTenant(tenant));
    return tenant;
  }

  #answerHere(exchange: Exchange, own: RouterOperation, parameters: string[], query: string, req: HttpRequest): void {
    const {control, directory, files} = this.#parts;
    const {success} = ROUTER_OPERATIONS[own];
    switch (own) {
      case 'health':
        exchange.reply(success, '{"ok":true}');
        return;
      case 'metrics':
        this.#later(exchange, async () => exchange.reply(success, await control.metrics(), null, PROMETHEUS_TEXT));
        return;
      case 'openapi':
        files.answerDocument(exchange, shippedRequest(req));
        return;
      case 'docs.page':
        files.answerPage(exchange, shippedRequest(req));
        return;
      case 'docs.file':
        files.answerFile(exchange, decodeParameter(parameters[0]!), shippedRequest(req));
        return;
      case 'socket':
        throw new ServiceError('op.invalid_input', 'this path takes WebSocket upgrades of the subprotocol svc.v2');
      case 'functions.socket':
        this.#tenant(exchange, parameters[0]!);
        throw new ServiceError(
          'op.invalid_input',
          `this path takes WebSocket upgrades of the subprotocol ${FUNCTION_PROTOCOL}`,
        );
      case 'tenants.list':
        listTenants(directory, exchange);
        return;
      case 'tenants.create':
        this.#readBody(exchange, req, () => this.#later(exchange, () => createTenant(control, exchange)));
        return;
      case 'tenants.delete':
        this.#tenant(exchange, parameters[0]!);
        this.#later(exchange, () => deleteTenant(control, exchange));
        return;
      case 'tenants.overview':
        this.#later(exchange, () => showOverview(control, exchange, query));
        return;
      case 'tenants.status':
        this.#tenant(exchange, parameters[0]!);
        this.#later(exchange, () => showTenant(control, exchange));
        return;
      case 'tenants.wake':
      case 'tenants.sleep':
      case 'tenants.pause':
      case 'tenants.resume':
        this.#tenant(exchange, parameters[0]!);
        this.#later(exchange, () => controlTenant(control, exchange, own));
        return;
      case 'audit.page':
      case 'audit.refusals': {
        const request = auditRequest(own === 'audit.page' ? 'actions' : 'refusals', query);
        this.#later(exchange, async () => exchange.reply(success, await control.audit(request)));
        return;
      }
      case 'whoami':
        whoAmI(exchange);
        return;
      case 'keys.list':
      case 'keys.get':
      case 'keys.revoke':
        this.#later(exchange, () => answerKeys(control, exchange, own, decodedOrSame(parameters[0] ?? '')));
        return;
      case 'keys.create':
      case 'keys.rotate': {
        const id = decodedOrSame(parameters[0] ?? '');
        this.#readBody(exchange, req, () => this.#later(exchange, () => answerKeys(control, exchange, own, id)));
        return;
      }
      default:
        unreachable(own);
    }
  }

  /** Calls `then` when the whole body has arrived. `then` may throw. */
  #readBody(exchange: Exchange, req: HttpRequest, then: () => void): void {
    refuseEncoding(req);
    this.#collectBody(exchange, then);
  }

  #collectBody(exchange: Exchange, then: () => void): void {
    exchange.collectBody(() => {
      try {
        // The key may have been revoked or expired while the body arrived.
        if (exchange.principal?.isValid(Date.now()) === false) throw keyEnded();
        then();
      } catch (caught) {
        this.#fail(exchange, caught);
      }
    });
  }

  #later(exchange: Exchange, act: () => Promise<void>): void {
    this.#recorded(exchange, act).catch(caught => this.#fail(exchange, caught));
  }

  /** Runs an operator's action after its audit record is on disk; without a record it does not run. */
  async #recorded(exchange: Exchange, act: () => Promise<void>): Promise<void> {
    if (exchange.route!.rights.trace === 'audit') {
      const {control} = this.#parts;
      const sequence = await control.intent(auditedAction(exchange));
      if (exchange.aborted || exchange.hasBegun) {
        control.send({type: 'audit_outcome', of: sequence, status: null, code: NOT_BEGUN});
        return;
      }
      exchange.audited = sequence;
    }
    await act();
  }

  /**
   * Turns an error into an answer: a ServiceError into its envelope, anything else into op.failed, logged as a bug. A
   * failed assertion is not caught, because the router's state is wrong then: the process exits and is restarted.
   */
  #fail(exchange: Exchange, caught: unknown): void {
    if (caught instanceof AssertionError) throw caught;
    if (!(caught instanceof ServiceError)) this.#parts.onBug(exchange, caught);
    const error = asServiceError(caught);
    if (exchange.audited === 0) noteRefusal(exchange, error.code);
    exchange.fail(error);
  }
}

/** Also removes exchanges that are over. */
function keep(exchanges: Set<Exchange>, exchange: Exchange): void {
  for (const known of exchanges) if (known.isOver) exchanges.delete(known);
  exchanges.add(exchange);
}

/** @throws op.rate_limited 429 */
function spend(exchange: Exchange, allowance: Allowance | null): void {
  if (allowance === null) return;
  const error = allowance.spend();
  exchange.edgeHeaders = [...(exchange.edgeHeaders ?? []), ...allowance.headers()];
  if (error !== null) throw error;
}

function shippedRequest(req: HttpRequest): ShippedRequest {
  return {ifNoneMatch: req.getHeader('if-none-match'), acceptEncoding: req.getHeader('accept-encoding')};
}

/** The outcome of an action whose client disconnected before the action began. */
const NOT_BEGUN = 'not_begun';
const NEEDS_CREDENTIAL =
  'this route needs Authorization: Bearer with the access token or a key, or X-Svc-Admin-Token with the admin token';

function stopping(): ServiceError {
  return new ServiceError('session.worker_unavailable', 'the server is stopping');
}

function refuseEncoding(req: HttpRequest): void {
  const encoding = req.getHeader('content-encoding');
  if (encoding === '' || encoding.toLowerCase() === 'identity') return;
  throw new ServiceError('op.unsupported_media_type', 'bodies with a Content-Encoding are not taken; send it plain');
}
