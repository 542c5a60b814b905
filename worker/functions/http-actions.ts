/**
 * HTTP actions: finds the route of a request and lets its handler answer, both bodies streamed. Nothing is added to the
 * answer: an app decides itself about CORS, methods and authorization. A route that is missing is 404, whatever the method.
 */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import type {HeaderList, RequestMeta} from '../../shared/ipc/operations.ts';
import type {HttpRoute} from '../../shared/protocol/functions.ts';
import type {IncomingBody} from '../ipc/incoming-body.ts';
import type {OutgoingBody} from '../ipc/outgoing-body.ts';
import {ActionLines} from './actions/action-lines.ts';
import type {ActionPool} from './actions/action-pool.ts';
import type {Verifier} from './auth/verifier.ts';
import type {EgressSettings} from './egress/policy.ts';
import type {Caller} from './execution.ts';
import {shownError} from './function-reply.ts';
import {type CallResult, ended, type Functions, inSources, type LiveDeployment} from './functions.ts';

/** The link's side of one request. */
export type HttpActionReply = {
  startStream(status: number, headers: HeaderList): OutgoingBody;
  replyWith(status: number, headers: HeaderList, body: string): void;
};

export type HttpActionParts = {
  functions: Functions;
  actions: ActionPool;
  live: () => LiveDeployment | null;
  routes: () => readonly HttpRoute[] | null;
  verifier: () => Verifier;
  env: () => Readonly<Record<string, string>>;
  egress: () => EgressSettings;
  clock: () => number;
  redactErrors: boolean;
};

const PLAIN_TEXT: HeaderList = [['Content-Type', 'text/plain; charset=utf-8']];
const JSON_TEXT: HeaderList = [['Content-Type', 'application/json']];
const MODULE = 'http';

export class HttpActions {
  readonly #parts: HttpActionParts;

  constructor(parts: HttpActionParts) {
    this.#parts = parts;
  }

  async serve(meta: RequestMeta, incoming: IncomingBody | null, reply: HttpActionReply): Promise<void> {
    const {live, routes, clock, functions} = this.#parts;
    const deployment = live();
    const method = meta.m ?? 'GET';
    const path = meta.p?.[0] ?? '/';
    const known = routes();
    const route = known === null ? null : findRoute(known, method, path);
    if (deployment === null || route === null) {
      incoming?.cancel();
      const why = known === null ? 'This deployment does not have HTTP actions enabled.' : 'No matching routes found.';
      reply.replyWith(404, PLAIN_TEXT, why);
      return;
    }
    const startedMs = clock();
    const result = await this.#run(deployment, route, meta, incoming, reply);
    functions.record({
      at: startedMs,
      request_id: meta.r ?? '',
      path: `${method} ${route.path ?? `${route.pathPrefix}*`}`,
      kind: 'httpAction',
      caller: 'client',
      ...ended(result, clock() - startedMs),
    });
  }

  async #run(
    deployment: LiveDeployment,
    route: HttpRoute,
    meta: RequestMeta,
    incoming: IncomingBody | null,
    reply: HttpActionReply,
  ): Promise<CallResult> {
    const {actions, functions, env, egress} = this.#parts;
    const requestId = meta.r ?? '';
    const caller = await this.#caller(meta.a);
    const lines = new ActionLines();
    const gone = new AbortController();
    const response = new ActionResponse(reply, () => gone.abort());
    const outcome = await actions.runHttp(
      {
        deployment: deployment.code,
        module: MODULE,
        name: String(route.index),
        kind: 'httpAction',
        args: JSON.stringify({method: meta.m, url: meta.u, headers: meta.h ?? [], hasBody: incoming !== null}),
        requestId,
        caller,
        env: env(),
        egress: egress(),
      },
      {lines, call: (operation, parameters) => functions.nested(operation, parameters, {caller, requestId}, lines)},
      incoming,
      response,
      gone.signal,
    );
    incoming?.cancel();
    const told = inSources(deployment.positions, {lines: lines.all, own: lines.own});
    if (outcome.ok) {
      response.end();
      return {ok: true, value: 'null', ...told};
    }
    const error = deployment.positions.describe(outcome.error);
    this.#fail(response, reply, error, requestId);
    return {ok: false, error, ...told};
  }

  /** Before the head went out it is a 500; afterwards all that can be done is to cut the body short. */
  #fail(response: ActionResponse, reply: HttpActionReply, error: string, requestId: string): void {
    if (response.hasStarted) {
      response.fail();
      return;
    }
    const {redactErrors} = this.#parts;
    const code = shownError('', requestId, true);
    const body = redactErrors ? {code} : {code: `${code}: ${error.split('\n', 1)[0]}`, trace: error};
    reply.replyWith(500, JSON_TEXT, JSON.stringify(body));
  }

  /** An app may use the header in its own way: only asking for the identity says that it is no token of ours. */
  async #caller(authorization: string | undefined): Promise<Caller> {
    if (authorization === undefined) return {identity: null};
    try {
      const verified = await this.#parts.verifier().verifyHeader(authorization);
      return {identity: verified === null ? null : JSON.stringify(verified.identity)};
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      return 'invalid';
    }
  }
}

/** The route that answers; null: none. HEAD is answered by the route for GET. */
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

/** What the handler's Response becomes. */
class ActionResponse {
  readonly #reply: HttpActionReply;
  readonly #onGone: () => void;
  #body: OutgoingBody | null = null;

  /** @param onGone called when the client leaves before the end */
  constructor(reply: HttpActionReply, onGone: () => void) {
    this.#reply = reply;
    this.#onGone = onGone;
  }

  get hasStarted(): boolean {
    return this.#body !== null;
  }

  start(status: number, headers: HeaderList): void {
    const body = this.#reply.startStream(status, headers);
    body.onCancel = this.#onGone;
    this.#body = body;
  }

  /** Resolves when the client has taken enough for more. */
  async write(piece: Uint8Array): Promise<void> {
    const body = this.#body!;
    body.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    await body.ready;
    if (!body.isOpen) throw new Error('the client has gone');
  }

  end(): void {
    this.#body?.end();
  }

  fail(): void {
    this.#body?.fail();
  }
}
