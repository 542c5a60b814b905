/**
 * A request's way through the worker: decoded, handed to its handler, and answered over the link it came by. Every throw becomes
 * an envelope here. What is not a ServiceError is logged with its cause and shown as op.failed; an assertion or a storage error
 * is not caught: it ends the process.
 */
import {AssertionError} from '../shared/assert.ts';
import {asServiceError, ServiceError} from '../shared/errors.ts';
import type {HeaderList, RequestMeta} from '../shared/ipc/operations.ts';
import {BOOTSTRAPS_MAX} from '../shared/limits.ts';
import type {Logger} from '../shared/log.ts';
import type {Operation} from '../shared/operations.ts';
import {QueryObject} from '../shared/protocol/queries.ts';
import {parseJson} from '../shared/values/json.ts';
import {decoded, type Request} from './ipc/decode.ts';
import type {IncomingBody} from './ipc/incoming-body.ts';
import type {RouterLink} from './ipc/router-link.ts';
import type {LiveQueries} from './live/live-queries.ts';
import type {WorkerMetrics} from './metrics.ts';
import {type Answer, type Handler, Later, type Outcome, Streamed, type StreamTarget} from './operations/answer.ts';
import {HANDLERS} from './operations/handlers.ts';
import type {OpenTenant} from './operations/open-tenant.ts';
import {isEngineDamage, storageDamaged} from './storage/damage.ts';
import {storageFailure} from './storage/database.ts';
import {checkWireType, wireType} from './wire-type.ts';

export type DispatchParts = {
  tenant: OpenTenant;
  live: LiveQueries;
  metrics: WorkerMetrics;
  log: Logger;
};

const OK = 200;

/** One request under way: where its answer goes. */
type Asked = {readonly link: RouterLink; readonly stream: number; readonly request: Request};

export class Dispatch {
  readonly #parts: DispatchParts;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
  }

  handle(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer, incoming: IncomingBody | null): void {
    const {metrics, tenant} = this.#parts;
    metrics.operation(meta.op);
    const request = decoded(meta, body, incoming);
    const asked = {link, stream, request};
    try {
      this.#answer(asked, handlerOf(request.op)(request, tenant));
    } catch (caught) {
      this.#fail(asked, caught);
    }
  }

  /** A router holds a live query from now on. */
  subscribe(link: RouterLink, stream: number, body: Buffer): void {
    const {live} = this.#parts;
    let query: QueryObject;
    try {
      query = checkWireType(queryBody, parseJson(body), 'query.');
    } catch (caught) {
      link.liveFailed(stream, asServiceError(caught));
      link.liveEnd(0);
      return;
    }
    live.subscribe(link, stream, query);
  }

  #answer(asked: Asked, outcome: Outcome): void {
    if (outcome instanceof Later) this.#answerLater(asked, outcome);
    else if (outcome instanceof Promise) {
      outcome.then(
        answer => this.#reply(asked, answer),
        caught => this.#fail(asked, caught),
      );
    } else if (outcome instanceof Streamed) {
      outcome.serve(new LinkTarget(asked.link, asked.stream))?.catch(caught => this.#fail(asked, caught));
    } else this.#reply(asked, outcome);
  }

  #answerLater(asked: Asked, later: Later): void {
    const {link, stream} = asked;
    let isSettled = false;
    const giveUp = later.begin(outcome => {
      isSettled = true;
      link.forget(stream);
      if (outcome instanceof ServiceError) this.#fail(asked, outcome);
      else if (Buffer.isBuffer(outcome)) link.replyBytes(stream, outcome);
      else this.#reply(asked, outcome);
    });
    if (giveUp !== undefined && !isSettled) link.onCancel(stream, giveUp);
  }

  #reply({link, stream, request}: Asked, answer: Answer): void {
    const headers = this.#headers(request);
    if (typeof answer === 'string') link.reply(stream, OK, answer, headers);
    else link.reply(stream, answer.status, answer.body, headers);
  }

  #headers(request: Request): HeaderList | null {
    return this.#parts.tenant.functions.headersOf(request);
  }

  #fail({link, stream, request}: Asked, caught: unknown): void {
    if (caught instanceof AssertionError || storageFailure(caught) === 'fatal') throw caught;
    const error = asServiceError(isEngineDamage(caught) ? storageDamaged({check: 'engine'}) : caught);
    if (error.cause !== undefined) {
      // What a client did wrong, a token that was refused for one, is the client's business: anybody could fill the log.
      const level = error.status !== null && error.status < 500 ? 'debug' : 'error';
      const {op, requestId} = request;
      this.#parts.log[level]('a request failed', {op, request: requestId, error: error.cause});
    }
    link.fail(stream, error, this.#headers(request));
  }
}

const queryBody = wireType(QueryObject);

/** The table pairs each operation with the handler of its requests; the type of one entry cannot say that it is the one. */
function handlerOf(op: Operation): Handler<Operation> {
  return HANDLERS[op] as Handler<Operation>;
}

/** A link, as an answer in pieces sees it. */
class LinkTarget implements StreamTarget {
  readonly #link: RouterLink;
  readonly #stream: number;

  constructor(link: RouterLink, stream: number) {
    this.#link = link;
    this.#stream = stream;
  }

  whole(...[status, headers, body]: Parameters<StreamTarget['whole']>): void {
    this.#link.replyWith(this.#stream, status, headers, body);
  }

  start(...[status, headers]: Parameters<StreamTarget['start']>): ReturnType<StreamTarget['start']> {
    return this.#link.startStream(this.#stream, status, headers);
  }

  pieces(make: () => Iterator<string, void, void>): void {
    if (this.#link.streams >= BOOTSTRAPS_MAX) {
      throw new ServiceError('session.overloaded', `${BOOTSTRAPS_MAX} bootstraps are under way; try again later`);
    }
    this.#link.stream(this.#stream, make());
  }

  fail(error: ServiceError): void {
    this.#link.fail(this.#stream, error);
  }
}
