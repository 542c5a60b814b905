/**
 * Takes a request through the router. Its rules are checked in this order, and the first violation determines the
 * answer:
 *
 *   surface → Origin and Host → length of the URL → route and method → credential → tenant → rate limits → body
 *   → forward to the worker
 *
 * The surface (`router/dashboard/surfaces.ts`) decides about the origin and the credential. Deployment routes (`/svc/…`)
 * take any origin, and the worker judges their credentials. Only requests with a credential learn that a tenant is
 * unknown. The body is read last and not parsed here, except for the tenant routes' own bodies and where only the body
 * names the tenant.
 */

import type {HttpRequest, HttpResponse, TemplatedApp} from 'uWebSockets.js';
import {unreachable} from '../../shared/assert.ts';
import type {BufferedBytes} from '../../shared/byte-accounts.ts';
import {signedGrantOf} from '../../shared/egress/signed-grant.ts';
import {notFound, ServiceError} from '../../shared/errors.ts';
import {corsHeaders} from '../../shared/ipc/cors.ts';
import {URL_BYTES_MAX} from '../../shared/limits.ts';
import type {Operation} from '../../shared/operations.ts';
import {keyOf, type Principal, sessionIdOf} from '../auth/credentials.ts';
import {showsCredential} from '../auth/failed-credentials.ts';
import type {KeyRing} from '../auth/key-ring.ts';
import {credentialHint, noteRefusal, refuseMisplaced} from '../auth/refusal.ts';
import {judgeOperation, judgeQuery, judgeTables, judgeTenant, lackingForBody, refuseKeyInUrl} from '../auth/rights.ts';
import type {SessionRing} from '../auth/session-ring.ts';
import {judgeCall, judgeDownload, refuseServiceWorker} from '../dashboard/calls.ts';
import {cookieIn, cookieName} from '../dashboard/cookie.ts';
import {downloadHeaders, downloadIn} from '../dashboard/downloads.ts';
import {answerElsewhere, answerPage, DASHBOARD_API_HEADERS, DASHBOARD_HEADERS} from '../dashboard/pages.ts';
import {isDashboardPath, type Surface} from '../dashboard/surfaces.ts';
import {Exchange, type ExchangeObserver} from '../http/exchange.ts';
import {type OriginRule, pageHeaders, preflightHeaders} from '../http/origin.ts';
import {preparedHead, RequestIds} from '../http/reply-head.ts';
import {announcedBody} from '../http/request-body.ts';
import type {ShippedFiles} from '../http/shipped-files.ts';
import {WHOLE_UPLOAD_BYTES_MAX} from '../limits.ts';
import type {RateLimits} from '../rates/rate-limits.ts';
import {decodedOrSame, decodeParameter, findPath, type PathEntry, type Route} from '../routes.ts';
import type {PlacedTenant} from '../tenants/placed-tenant.ts';
import {type CachedAnswer, type CacheName, statusOf} from '../workers/answer-cache.ts';
import {callName} from './cached-calls.ts';
import type {Callers} from './callers.ts';
import {externalUrl} from './external-url.ts';
import {HOME_HEADERS, HOME_PAGE, HOME_TYPE, wantsPage} from './home.ts';
import {tenantOfBody, tenantOfQuery, tenantOfSessionPath} from './named-tenant.ts';
import {OwnAnswers, type OwnParts} from './own-answers.ts';
import {anonymousMeta, conditionsOf, deploymentMeta, holderIds, metaWithGrant, requestMeta} from './request-meta.ts';
import {keep, refuseEncoding, type StepParts, Steps, shippedRequest, spend, stopping} from './steps.ts';

export type IntakeParts = OwnParts &
  StepParts & {
    /** Signs grants (shared/egress/signed-grant.ts). */
    grantKey: string;
    observer: ExchangeObserver;
    callers: Callers;
    /** Bytes buffered for readers of endless answers and for sockets. */
    buffered: BufferedBytes;
    rateLimits: RateLimits;
    keys: KeyRing;
    sessions: SessionRing;
    dashboardFiles: ShippedFiles;
  };

/** One app method per HTTP method, so that the method need not be read from every request. */
const MOUNTS = [
  ['get', 'GET'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
  ['del', 'DELETE'],
] as const;

/** The entry of every document's path. */
const DOCUMENT_PATH = findPath('/api/tenants/any/documents/any/any', []);

export class Intake {
  readonly #parts: IntakeParts;
  readonly requestIds = new RequestIds();
  readonly #originRule: OriginRule;
  /** Exchanges with endless answers. Ended ones are removed when the next one is added. */
  readonly #endless = new Set<Exchange>();
  /** As above: exchanges with a key whose bodies are streamed, for as long as their clients like. */
  readonly #uploads = new Set<Exchange>();
  #isDraining = false;
  readonly #steps: Steps;
  readonly #own: OwnAnswers;

  constructor(parts: IntakeParts, originRule: OriginRule) {
    this.#parts = parts;
    this.#originRule = originRule;
    this.#steps = new Steps(parts);
    this.#own = new OwnAnswers(parts, this.#steps, (exchange, segment) => this.#tenant(exchange, segment));
  }

  /** From now on every answer closes its connection, and new work is refused. */
  drain(): void {
    this.#isDraining = true;
    for (const exchange of this.#endless) exchange.cut(stopping());
    this.#endless.clear();
  }

  /** Ends the endless answers and the arriving bodies whose keys are no longer valid. */
  endInvalid(): void {
    for (const exchanges of [this.#endless, this.#uploads]) {
      for (const exchange of exchanges) {
        const fault = this.#parts.keys.faultOf(exchange.principal);
        if (fault !== null) exchange.cut(fault);
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
      this.#steps.fail(exchange, caught);
    }
    exchange.handled();
  }

  #take(exchange: Exchange, req: HttpRequest): void {
    const announced = announcedBody(req);
    if (announced !== null) exchange.announce(announced);
    const path = req.getUrl();
    const host = req.getHeader('host');
    // The types promise a string, but the value is undefined without a query string.
    const query = (req.getQuery() as string | undefined) ?? '';
    const {surfaces} = this.#parts;
    const surface = surfaces.of(host, path);
    if (surface === 'dashboard') {
      this.#takeDashboard(exchange, host, path, query, req);
      return;
    }
    const origin = surface === 'deployment' ? '' : this.#originRule.check(req, host);
    exchange.edgeHeaders = pageHeaders(origin);
    requireShort(path, query);
    if (isDashboardPath(path)) {
      answerElsewhere(exchange, surfaces.originFrom(host), path, query);
      return;
    }
    const names = exchange.method === 'GET' ? this.#parts.directory.namesIn(path) : undefined;
    const parameters: string[] = names === undefined ? [] : [...names];
    const entry = names === undefined ? findPath(path, parameters) : DOCUMENT_PATH;
    if (entry === null) {
      if (!wantsPage(exchange.method, path, req.getHeader('accept'))) throw noRoute();
      if (this.#isDraining) throw stopping();
      exchange.reply(200, HOME_PAGE, HOME_HEADERS, HOME_TYPE);
      return;
    }
    if (entry.hasCors) exchange.errorHeaders = corsHeaders(undefined, null);
    const preflight = preflightHeaders(exchange.method, origin, req);
    if (preflight !== null) {
      exchange.reply(204, '', preflight);
      return;
    }
    this.#takeRoute(surface, exchange, entry, parameters, path, query, req);
  }

  /** On the dashboard's host. Its API is `/_dashboard/api/…`, for `/api/…`, with session and metrics. */
  #takeDashboard(exchange: Exchange, host: string, path: string, query: string, req: HttpRequest): void {
    const {surfaces, dashboardFiles, downloads} = this.#parts;
    exchange.edgeHeaders = DASHBOARD_HEADERS;
    if (!surfaces.isNamed(host)) this.#originRule.checkHost(host);
    refuseServiceWorker(req);
    requireShort(path, query);
    const download = downloadIn(path);
    const called = download === null ? calledPath(path) : download.called;
    if (called === null) {
      if (this.#isDraining) throw stopping();
      if (path === '/') answerElsewhere(exchange, '', path, query);
      else if (path.startsWith('/_dashboard/')) answerPage(exchange, path, dashboardFiles, shippedRequest(req));
      else throw noRoute();
      return;
    }
    exchange.edgeHeaders = download === null ? DASHBOARD_API_HEADERS : downloadHeaders(query);
    if (download === null) judgeCall(req, exchange.method, surfaces.originOf(host));
    else {
      judgeDownload(req, exchange.method, surfaces.originOf(host));
      const session = sessionIdOf(this.#principalOf('dashboard', req) ?? null);
      if (session === null) throw new ServiceError('auth.unauthorized', NEEDS_SESSION);
      downloads.use(download.ticket, session, called, query);
    }
    const parameters: string[] = [];
    const entry = findPath(called, parameters);
    if (entry === null) throw noRoute();
    this.#takeRoute('dashboard', exchange, entry, parameters, called, query, req);
  }

  #takeRoute(
    surface: Surface,
    exchange: Exchange,
    entry: PathEntry,
    parameters: string[],
    path: string,
    query: string,
    req: HttpRequest,
  ): void {
    const route = entry.methods.get(exchange.method) ?? entry.any;
    if (route === null) {
      this.#refuseMethod(exchange, entry);
      return;
    }
    exchange.route = route;
    exchange.path = path;
    exchange.query = query;
    if (exchange.announcedBytes !== 0 && !route.takesBody && route.streamedBytesMax === null) exchange.ignoreBody();
    if (this.#isDraining) throw stopping();
    if (route.access === 'admin' || route.access === 'session') {
      if (query !== '') refuseKeyInUrl(req);
      const principal = this.#principalOf(surface, req);
      if (principal === undefined) {
        if (surface === 'dashboard') throw new ServiceError('auth.unauthorized', NEEDS_SESSION);
        this.#refuseCredential(exchange, req, NEEDS_CREDENTIAL, showsCredential(req));
        return;
      }
      exchange.principal = principal;
      judgeOperation(principal, route.rights);
      spend(exchange, this.#parts.rateLimits.ofKey(keyOf(principal)));
    }
    if ('own' in route.answer) this.#own.answer(exchange, route.answer.own, parameters, query, req);
    else if (route.access === 'deployment') this.#operateDeployment(exchange, route, parameters, req);
    else this.#operate(exchange, route, route.answer.operation, parameters, query, req);
  }

  /** Undefined: the request shows no valid credential. Each surface has one kind of credential, and no other counts. */
  #principalOf(surface: Surface, req: HttpRequest): Principal | undefined {
    const {credentials, sessions, surfaces} = this.#parts;
    if (surface !== 'dashboard') return credentials.of(req);
    const name = cookieName(surfaces.originOf(req.getHeader('host')));
    return sessions.find(cookieIn(req.getHeader('cookie'), name)) ?? undefined;
  }

  #refuseMethod(exchange: Exchange, entry: PathEntry): void {
    const error = new ServiceError('op.method_not_allowed', `this path takes ${entry.allow}`);
    exchange.fail(error, 0, [['Allow', entry.allow]]);
  }

  /** @param isWrong a credential was shown and is wrong: after too many of those, answers are delayed */
  #refuseCredential(exchange: Exchange, req: HttpRequest, otherwise: string, isWrong: boolean): void {
    const {credentials} = this.#parts;
    const bearer = exchange.route?.access === 'admin' ? req.getHeader('authorization') : '';
    const adminToken = req.getHeader('x-svc-admin-token');
    const message = credentials.refusal(bearer, adminToken, otherwise);
    noteRefusal(exchange, 'auth.unauthorized', {shown: credentialHint(bearer, adminToken)});
    if (isWrong) this.#steps.refuseWrong(exchange, message);
    else throw new ServiceError('auth.unauthorized', message);
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
    const tables = judgeTables(principal, route.rights.tables, parameters[route.tableAt] ?? '', query);
    if (route.isCacheable && this.#isAnswered(exchange, tenant!, parameters, conditions.ifNoneMatch)) return;
    exchange.meta = requestMeta({
      operation,
      parameters,
      query: route.takesQuery ? query : '',
      idempotencyKey: key,
      family: principal === null || key === '' ? '' : principal.key.family,
      conditions,
      isForCache: exchange.cacheAs !== null,
      lastEventId: route.takesLastEventId ? req.getHeader('last-event-id') : '',
      contentType: route.takesContentType ? req.getHeader('content-type') : '',
      requestId,
      ...holderIds(route.isRead ? null : principal),
      tables,
      lacking: lackingForBody(principal, route.rights.bodyScope),
    });
    if (route.isEndless) this.#keepEndless(exchange);
    if (operation === 'settings.put' && tenant !== null) this.#forwardVouchedFor(exchange, route, tenant, req);
    else this.#forward(exchange, route, tenant, req);
  }

  /** Answers a read of a document from memory, if the worker allows. @returns false: the worker answers */
  #isAnswered(exchange: Exchange, tenant: PlacedTenant, [table, id]: string[], ifNoneMatch: string): boolean {
    const name = {table: table!, id: id!};
    const cached = this.#parts.directory.cached(tenant, name, exchange.startedMs);
    const status = cached === null ? null : statusOf(cached, ifNoneMatch);
    if (cached === null || status === null) {
      if (cached === null && tenant.wantsCached(name)) exchange.cacheAs = name;
      return false;
    }
    tenant.link?.cache.note(cached, exchange.path, tenant.id);
    if (status === 304) exchange.reply(304, '', cached.headers);
    else answerFrom(cached, exchange);
    return true;
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
    let principal: Principal | undefined;
    if (adminToken !== '') {
      principal = this.#parts.credentials.ofAdminToken(adminToken);
      if (principal === undefined) {
        this.#refuseCredential(exchange, req, 'X-Svc-Admin-Token is not the admin token', true);
        return;
      }
      exchange.principal = principal;
      judgeOperation(principal, route.rights);
      spend(exchange, this.#parts.rateLimits.ofKey(keyOf(principal)));
    }
    const tenant = this.#tenant(exchange, parameters.shift()!);
    const {operation} = route.answer as {operation: Operation};
    const authorization = req.getHeader('authorization');
    // HTTP actions judge the header themselves.
    if (adminToken === '' && operation !== 'functions.http') refuseMisplaced(exchange, authorization);
    // The admin token makes no identity. Only the worker can verify others.
    if (route.isCacheable && (authorization === '' || principal !== undefined)) {
      this.#forwardAnonymous(exchange, route, operation, tenant, principal, req);
      return;
    }
    // The path of an HTTP action is not decoded, because the app decides what an encoded slash means.
    const known = operation === 'functions.http' ? parameters : parameters.map(decodeParameter);
    if (route.parameter !== null) known.push(route.parameter);
    const url = operation === 'functions.http' ? externalUrl(req, this.#parts.callers.believed(exchange)) : '';
    exchange.meta = deploymentMeta(operation, known, exchange.requestId, principal, req, url);
    this.#forward(exchange, route, tenant, req);
  }

  /** Answers a call without an identity from memory, if the worker allows. */
  #forwardAnonymous(
    exchange: Exchange,
    route: Route,
    operation: Operation,
    tenant: PlacedTenant,
    admin: Principal | undefined,
    req: HttpRequest,
  ): void {
    const {directory} = this.#parts;
    const origin = req.getHeader('origin');
    mark(exchange, route);
    let name: CacheName | null = null;
    const answers = (body: Uint8Array): boolean => {
      name = callName(operation, origin, body);
      const cached = name === null ? null : directory.cached(tenant, name, performance.now());
      if (cached === null) return false;
      tenant.link?.answered.add(cached.call, exchange.requestId);
      answerFrom(cached, exchange);
      return true;
    };
    const send = (): void => {
      const isForCache = name !== null && tenant.wantsCached(name);
      if (isForCache) exchange.cacheAs = name;
      exchange.meta = anonymousMeta(operation, exchange.requestId, admin, origin, isForCache);
      this.#send(tenant, exchange);
    };
    this.#steps.readBody(exchange, req, send, answers);
  }

  #forward(exchange: Exchange, route: Route, tenant: PlacedTenant | null, req: HttpRequest): void {
    mark(exchange, route);
    if (tenant === null) {
      this.#steps.readBody(exchange, req, () =>
        this.#send(this.#tenantNamed(exchange, tenantOfBody(exchange.body)), exchange),
      );
    } else if (route.streamedBytesMax !== null) this.#forwardStreamed(exchange, route, tenant, req);
    else if (route.takesBody) this.#steps.readBody(exchange, req, () => this.#send(tenant, exchange));
    else this.#send(tenant, exchange);
  }

  /** Sends the request to the worker; an operator's action is recorded on disk first. */
  #send(tenant: PlacedTenant, exchange: Exchange): void {
    const {directory} = this.#parts;
    if (exchange.route!.rights.trace !== 'audit') directory.forward(tenant, exchange);
    else this.#steps.later(exchange, async () => directory.forward(tenant, exchange));
  }

  /**
   * Adds a signed grant that marks the body as an operator's. The worker passes the body to the supervisor, which
   * verifies the grant.
   */
  #forwardVouchedFor(exchange: Exchange, route: Route, tenant: PlacedTenant, req: HttpRequest): void {
    const {grantKey} = this.#parts;
    mark(exchange, route);
    this.#steps.readBody(exchange, req, () => {
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
      else this.#steps.collectBody(exchange, () => this.#send(tenant, exchange));
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
    if (tenant === undefined) throw this.#parts.directory.refusalOf(id);
    exchange.tenantId = id;
    exchange.account = tenant.reserved;
    exchange.traffic = tenant;
    spend(exchange, this.#parts.rateLimits.ofTenant(tenant));
    return tenant;
  }
}

function answerFrom(cached: CachedAnswer, exchange: Exchange): void {
  cached.head ??= preparedHead(cached.headers);
  exchange.reply(200, cached.body, cached.head);
}

/** Notes what a link has to know of the request. */
function mark(exchange: Exchange, {isRead, isShort, isUserCall}: Route): void {
  exchange.isRead = isRead;
  exchange.isShort = isShort;
  exchange.isUserCall = isUserCall;
}

const NEEDS_CREDENTIAL =
  'this route needs Authorization: Bearer with the access token or a key, or X-Svc-Admin-Token with the admin token';
const NEEDS_SESSION = 'sign in to the dashboard: its session is over, or there was none';

/** @throws op.invalid_input 400 */
function requireShort(path: string, query: string): void {
  if (path.length + 1 + query.length <= URL_BYTES_MAX) return;
  throw new ServiceError('op.invalid_input', `the URL is longer than ${URL_BYTES_MAX} bytes`);
}

/** The path of the route that a path of the dashboard's API stands for; null: it is of a page or a file. */
function calledPath(path: string): string | null {
  if (path === '/_dashboard/session' || path === '/_dashboard/downloads') return path;
  if (path === '/_dashboard/metrics') return '/metrics';
  return path.startsWith('/_dashboard/api/') ? path.slice(11) : null;
}

function noRoute(): ServiceError {
  return notFound('there is no such route', {missing: 'route'});
}
