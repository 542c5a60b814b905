/**
 * Dispatches a request in the worker: decodes it, calls its handler, and returns the outcome to the caller. Every
 * exception becomes an error of the contract here. One that is no ServiceError is logged with its cause and shown as
 * op.failed. Assertions and storage errors are not caught, and end the process.
 */
import {Buffer} from 'node:buffer';
import type {IncomingBody} from '../../engine/io/incoming-body.ts';
import type {LiveQueries} from '../../engine/live/live-queries.ts';
import {refusalOf} from '../../engine/storage/failure.ts';
import {checkWireType, wireType} from '../../engine/wire-type.ts';
import {asServiceError, readOnlyTenant, ServiceError} from '../../shared/errors.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {type Operation, traitsOf} from '../../shared/operations.ts';
import {LiveQueryObject} from '../../shared/protocol/queries.ts';
import {parseJson} from '../../shared/values/json.ts';
import {decoded} from '../ipc/decode.ts';
import {PendingRequest} from '../ipc/pending-request.ts';
import type {RouterLink} from '../ipc/router-link.ts';
import {judgeBodyScope, judgeBodyTables} from './body-rights.ts';
import {type Answer, type Handler, Later, type Outcome, Streamed} from './operations/answer.ts';
import {HANDLERS} from './operations/handlers.ts';
import type {OpenTenant} from './operations/open-tenant.ts';

export type DispatchParts = {
  tenant: OpenTenant;
  live: LiveQueries;
  metrics: WorkerMetrics;
  log: Logger;
};

export class Dispatch {
  readonly #parts: DispatchParts;
  /** Number of requests that have arrived. */
  requests = 0;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
  }

  /** What handlers get. */
  get tenant(): OpenTenant {
    return this.#parts.tenant;
  }

  handle(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer, incoming: IncomingBody | null): void {
    const {metrics, tenant} = this.#parts;
    this.requests++;
    metrics.count('svc_worker_operations_total', {op: meta.op});
    const request = decoded(meta, body, incoming);
    const pending = new PendingRequest(link, stream, request, tenant.functions);
    try {
      if (tenant.groups.isPaused && isRefusedForReads(request.op)) throw readOnlyTenant();
      if (meta.n !== undefined) judgeBodyScope(meta.op, meta.n, body);
      if (meta.t !== undefined) judgeBodyTables(meta.op, meta.t, body);
      this.#answer(pending, handlerOf(request.op)(request, tenant));
    } catch (caught) {
      this.#fail(pending, caught);
    }
  }

  /** Subscribes a router to a live query. */
  subscribe(link: RouterLink, stream: number, body: Buffer): void {
    const {live} = this.#parts;
    let query: LiveQueryObject;
    try {
      query = checkWireType(queryBody, parseJson(body), 'query.');
    } catch (caught) {
      link.liveFailed(stream, asServiceError(caught));
      link.liveEnd(0);
      return;
    }
    live.subscribe(link, stream, query);
  }

  #answer(pending: PendingRequest, outcome: Outcome): void {
    if (outcome instanceof Later) this.#answerLater(pending, outcome);
    else if (outcome instanceof Promise) {
      outcome.then(
        answer => succeed(pending, answer),
        caught => this.#fail(pending, caught),
      );
    } else if (outcome instanceof Streamed) {
      outcome.serve(pending)?.catch(caught => this.#fail(pending, caught));
    } else succeed(pending, outcome);
  }

  #answerLater(pending: PendingRequest, later: Later): void {
    let isSettled = false;
    const giveUp = later.begin(outcome => {
      isSettled = true;
      pending.settled();
      if (outcome instanceof ServiceError) this.#fail(pending, outcome);
      else if (Buffer.isBuffer(outcome)) pending.succeed(outcome);
      else succeed(pending, outcome);
    });
    if (giveUp !== undefined && !isSettled) pending.onCancel(giveUp);
  }

  #fail(pending: PendingRequest, caught: unknown): void {
    const error = refusalOf(caught);
    if (error.cause !== undefined) {
      // Client errors, such as a refused token, are not logged as errors: otherwise any client could fill the log.
      const level = error.isOurs ? 'error' : 'debug';
      const {op, requestId} = pending.request;
      this.#parts.log[level]('a request failed', {op, request: requestId, error: error.cause});
    }
    pending.fail(error);
  }
}

function succeed(pending: PendingRequest, answer: Answer): void {
  if (typeof answer === 'string') pending.succeed(answer);
  else pending.succeed(answer.json, answer.variant, answer.etag, answer.doc, answer.kept);
}

/**
 * A function that an operator runs can be a query; the others are refused where they would begin. A restore sends the
 * packages of the file's deployments, which changes nothing in the file.
 */
const NO_WRITES: ReadonlySet<Operation> = new Set(['functions.run', 'packages.put']);

function isRefusedForReads(op: Operation): boolean {
  return traitsOf(op).kind === 'write' && !NO_WRITES.has(op);
}

const queryBody = wireType(LiveQueryObject);

/** The table pairs each operation with its own handler; the type of one entry cannot express that. */
function handlerOf(op: Operation): Handler<Operation> {
  return HANDLERS[op] as Handler<Operation>;
}
