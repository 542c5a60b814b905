/**
 * Serves HTTP actions: finds the route of a request and lets its handler respond, with both bodies streamed. Nothing is
 * added to the response: the app itself decides about CORS, methods and authorization. A missing route is a 404,
 * whatever the method.
 */

import type {IncomingBody} from '../../engine/io/incoming-body.ts';
import type {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {notFound, overloaded, ServiceError} from '../../shared/errors.ts';
import type {EgressEndpoint} from '../../shared/ipc/egress.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import type {HttpRoute} from '../../shared/protocol/functions.ts';
import type {Request} from '../ipc/decode.ts';
import {ActionLines} from '../runtime/actions/action-lines.ts';
import type {ActionLink, HttpActionRunner} from '../runtime/actions/action-link.ts';
import type {ActionRequest} from '../runtime/actions/action-message.ts';
import type {LiveDeployment} from '../runtime/call.ts';
import {type CallResult, ended, inSources, shownError} from '../runtime/call-result.ts';
import type {Caller, Outcome} from '../runtime/execution.ts';
import type {UnnumberedEntry} from '../runtime/log/execution-log.ts';
import {callSpan, type Span} from '../runtime/log/span.ts';
import {ActionResponse} from './action-response.ts';
import type {Verifier} from './auth/verifier.ts';
import {scopedCookie} from './cookie-scope.ts';
import type {Functions} from './functions.ts';
import {HTTP_UPLOADS_MAX} from './limits.ts';

/** Sends the response to one request. */
export type HttpActionReply = {
  respond(status: number, headers: HeaderList): OutgoingBody;
  fail(error: ServiceError): void;
};

export type HttpActionParts = {
  functions: Functions;
  actions: HttpActionRunner;
  live: () => LiveDeployment | null;
  routes: () => readonly HttpRoute[] | null;
  verifier: () => Verifier;
  env: () => Readonly<Record<string, string>>;
  egress: () => EgressEndpoint;
  clock: () => number;
  redactErrors: boolean;
};

const MODULE = 'http';

type HttpRequest = NonNullable<Request['http']>;
/** Routers always send the request; this is the fallback for one that did not. */
const NOT_SENT: HttpRequest = {method: 'GET', url: '/', headers: []};

export class HttpActions {
  readonly #parts: HttpActionParts;
  /** Requests whose bodies are still arriving. */
  #uploads = 0;

  constructor(parts: HttpActionParts) {
    this.#parts = parts;
  }

  /** @throws session.overloaded 503 when too many bodies are arriving already */
  async serve(request: Request<'functions.http'>, reply: HttpActionReply): Promise<void> {
    const {live, routes, clock, functions} = this.#parts;
    const deployment = live();
    const {incoming, params, requestId} = request;
    const http = request.http ?? NOT_SENT;
    const {method} = http;
    const known = routes();
    const route = known === null ? null : findRoute(known, method, params.path);
    if (deployment === null || route === null) {
      incoming?.cancel();
      const why = known === null ? 'This deployment does not have HTTP actions enabled.' : 'No matching routes found.';
      reply.fail(notFound(why));
      return;
    }
    this.#takeUpload(incoming);
    const startedMs = clock();
    const span = callSpan(requestId);
    const result = await this.#run(deployment, route, request, http, reply, span);
    const entry: UnnumberedEntry = {
      at: startedMs,
      request_id: requestId,
      path: `${method} ${route.path ?? `${route.pathPrefix}*`}`,
      kind: 'httpAction',
      caller: 'client',
      ...ended(result, clock() - startedMs),
    };
    functions.record(entry, span);
  }

  /**
   * An action waits for its body, and clients can send slowly. This limit keeps such requests from taking every slot.
   */
  #takeUpload(incoming: IncomingBody | null): void {
    if (incoming === null || !incoming.isArriving) return;
    if (this.#uploads >= HTTP_UPLOADS_MAX) {
      incoming.cancel();
      throw overloaded('too many request bodies are arriving; try again shortly');
    }
    this.#uploads++;
    incoming.whenArrived(() => {
      this.#uploads--;
    });
  }

  async #run(
    deployment: LiveDeployment,
    route: HttpRoute,
    {incoming, requestId, caller: {authorization}}: Request<'functions.http'>,
    {method, url, headers}: HttpRequest,
    reply: HttpActionReply,
    span: Span,
  ): Promise<CallResult> {
    const {actions, functions, env, egress} = this.#parts;
    const caller = await this.#caller(authorization);
    const lines = new ActionLines();
    const gone = new AbortController();
    const scope = tenantPath(url);
    let damage: ServiceError | null = null;
    const onDamage = (error: ServiceError) => {
      damage = error;
    };
    const response = new ActionResponse(
      (status, own) => reply.respond(status, own.map(scopedHeader(scope))),
      () => gone.abort(),
    );
    const request: ActionRequest = {
      deployment: deployment.code,
      module: MODULE,
      name: String(route.index),
      kind: 'httpAction',
      args: JSON.stringify({method, url, headers, hasBody: incoming !== null}),
      requestId,
      caller,
      env: env(),
      egress: egress(),
    };
    const link: ActionLink = {
      lines,
      call: (operation, parameters) =>
        functions.nested(operation, parameters, {caller, requestId, span}, lines, onDamage),
    };
    let outcome: Outcome;
    try {
      outcome = await actions.runHttp(request, link, incoming, response, gone.signal);
    } catch (caught) {
      const hadStarted = response.hasStarted;
      response.fail();
      if (!hadStarted || !(caught instanceof ServiceError)) throw caught;
      // The head has been sent, so a response that cannot be finished is cut short.
      outcome = {ok: false, error: {name: 'Error', message: caught.message, stack: null}};
    } finally {
      incoming?.cancel();
    }
    const reported = inSources(deployment.positions, {lines: lines.all, own: lines.own});
    if (outcome.ok) {
      response.end();
      return {ok: true, value: 'null', ...reported};
    }
    const error = deployment.positions.describe(outcome.error);
    this.#fail(response, reply, error, requestId, damage);
    return {ok: false, error, ...reported};
  }

  /**
   * Before the head is sent a failure is a 500, or a 503 if the action read damaged data. Afterwards the body can only
   * be cut short.
   */
  #fail(
    response: ActionResponse,
    reply: HttpActionReply,
    error: string,
    requestId: string,
    damage: ServiceError | null,
  ): void {
    const hadStarted = response.hasStarted;
    response.fail();
    if (hadStarted) return;
    if (damage !== null) {
      reply.fail(damage);
      return;
    }
    const shown = shownError('', requestId, true);
    reply.fail(
      this.#parts.redactErrors
        ? new ServiceError('op.failed', shown)
        : new ServiceError('op.failed', `${shown}: ${error.split('\n', 1)[0]}`, {trace: error}),
    );
  }

  /**
   * An app can use the header in its own way, so an invalid token is only reported when the action asks for the
   * identity.
   */
  async #caller(authorization: string | null): Promise<Caller> {
    if (authorization === null) return {identity: null};
    try {
      const verified = await this.#parts.verifier().verifyHeader(authorization);
      return {identity: verified === null ? null : JSON.stringify(verified.identity)};
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      return {invalid: caught.message};
    }
  }
}

/** The route for a request; null: none. HEAD uses the route for GET. */
export function findRoute(routes: readonly HttpRoute[], method: string, path: string): HttpRoute | null {
  const wanted = method === 'HEAD' ? 'GET' : method;
  let longest: HttpRoute | null = null;
  for (const route of routes) {
    if (route.method !== wanted) continue;
    if (route.path === path) return route;
    if (route.pathPrefix === null || !path.startsWith(route.pathPrefix)) continue;
    if (longest === null || route.pathPrefix.length > longest.pathPrefix!.length) longest = route;
  }
  return longest;
}

/** `https://h/svc/acme/http/x` → `/svc/acme` */
function tenantPath(url: string): string {
  return new URL(url, 'http://svc').pathname.split('/', 3).join('/');
}

function scopedHeader(scope: string): (header: readonly [string, string]) => [string, string] {
  return ([name, value]) => [name, name.toLowerCase() === 'set-cookie' ? scopedCookie(value, scope) : value];
}
