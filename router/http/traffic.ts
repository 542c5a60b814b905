/**
 * Counts every request by route and status, and its duration by route, and reports those that someone waits for: the
 * outcomes of audited actions, refusals and failures. Counting takes a few typed-array stores, because it is on the
 * hottest path; the metrics are converted to prom-client's format only when requested.
 */
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import type {RouterToSupervisor} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import {Histogram, type MetricJson} from '../../shared/metrics/metric-json.ts';
import {refusedRequest} from '../auth/refusal.ts';
import {ROUTES} from '../routes.ts';
import type {Exchange, ExchangeObserver} from './exchange.ts';

/** Seconds: from a read served from memory to a write behind a stalled disk. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const STATUSES = 600;
/** Requests without a route (unknown paths, refused origins) are counted in one more slot after the last route. */
const NO_ROUTE = ROUTES.length;

/** Where ended requests are reported. */
type Reports = {
  readonly log: Logger;
  /** Every request is logged, not only failed ones. */
  readonly logsAll: boolean;
  readonly refusals: {note(refused: RefusedRequest): void};
  send(message: RouterToSupervisor): void;
};

export class Traffic implements ExchangeObserver {
  readonly #counts = new Float64Array((ROUTES.length + 1) * STATUSES);
  /** By route. */
  readonly #seconds = Array.from({length: ROUTES.length + 1}, () => new Histogram(BUCKETS));
  readonly #reports: Reports;
  #onIdle: (() => void) | null = null;
  #bytesIn = 0;
  #bytesOut = 0;
  #inFlight = 0;
  unsentBytes = 0;
  readonly unsentBytesMax: number;

  constructor(unsentBytesMax: number, reports: Reports) {
    this.unsentBytesMax = unsentBytesMax;
    this.#reports = reports;
  }

  /**
   * Calls back when no request is under way, in the event-loop turn after the last answer so that its bytes are on
   * their way.
   */
  whenIdle(onIdle: () => void): void {
    this.#onIdle = onIdle;
    if (this.#inFlight === 0) setImmediate(onIdle);
  }

  began(): void {
    this.#inFlight++;
  }

  ended(exchange: Exchange, status: number): void {
    this.#inFlight--;
    const seconds = (performance.now() - exchange.startedMs) / 1000;
    const route = exchange.route === null ? NO_ROUTE : exchange.route.index;
    this.#counts[route * STATUSES + status]!++;
    this.#seconds[route]!.observe(seconds);
    this.#bytesIn += exchange.bytesIn;
    this.#bytesOut += exchange.bytesOut;
    const {log, logsAll} = this.#reports;
    if (exchange.audited !== 0) this.#reports.send(outcomeOf(exchange, status));
    if (exchange.refusal !== null) this.#reports.refusals.note(refusedRequest(exchange, exchange.refusal));
    if (status >= 500) log.warn('a request failed', requestFields(exchange, status, seconds));
    else if (logsAll) log.debug('request', requestFields(exchange, status, seconds));
    if (this.#inFlight === 0 && this.#onIdle !== null) setImmediate(this.#onIdle);
  }

  /** Answered so far. */
  get requests(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  json(): MetricJson[] {
    const bytes = [
      {labels: {direction: 'in'}, value: this.#bytesIn},
      {labels: {direction: 'out'}, value: this.#bytesOut},
    ];
    return [
      {
        name: 'svc_http_requests_total',
        help: 'Requests answered, by route and status; status "aborted": the client went before the answer.',
        type: 'counter',
        aggregator: 'sum',
        values: this.#requests(),
      },
      {
        name: 'svc_http_request_duration_seconds',
        help: 'Time from the last byte of the request head to the answer being handed over, by route.',
        type: 'histogram',
        aggregator: 'sum',
        values: this.#durations('svc_http_request_duration_seconds'),
      },
      {
        name: 'svc_http_body_bytes_total',
        help: 'Bytes of request bodies read and of reply bodies handed over.',
        type: 'counter',
        aggregator: 'sum',
        values: bytes,
      },
      {
        name: 'svc_http_unsent_reply_bytes',
        help: 'Bytes of large replies kept for clients that read slowly.',
        type: 'gauge',
        aggregator: 'sum',
        values: [{labels: {}, value: this.unsentBytes}],
      },
      {
        name: 'svc_http_requests_in_flight',
        help: 'Requests that are not answered yet.',
        type: 'gauge',
        aggregator: 'sum',
        values: [{labels: {}, value: this.#inFlight}],
      },
    ];
  }

  #requests(): MetricJson['values'] {
    const values: MetricJson['values'] = [];
    for (const [i, value] of this.#counts.entries()) {
      if (value === 0) continue;
      const status = i % STATUSES;
      const labels = {...routeLabels(Math.floor(i / STATUSES)), status: status === 0 ? 'aborted' : String(status)};
      values.push({labels, value});
    }
    return values;
  }

  #durations(name: string): MetricJson['values'] {
    const used = [...this.#seconds.entries()].filter(([, histogram]) => !histogram.isEmpty);
    return used.flatMap(([route, histogram]) => histogram.values(name, routeLabels(route)));
  }
}

function routeLabels(index: number): {method: string; route: string} {
  const route = ROUTES[index];
  return route === undefined ? {method: 'other', route: 'none'} : {method: route.method, route: route.pattern};
}

function outcomeOf({audited, errorCode}: Exchange, status: number): RouterToSupervisor {
  const code = errorCode === '' ? null : errorCode;
  return {type: 'audit_outcome', of: audited, status: status === 0 ? null : status, code};
}

function requestFields(exchange: Exchange, status: number, seconds: number): Record<string, unknown> {
  return {
    request: exchange.requestId,
    method: exchange.method,
    route: exchange.route?.pattern ?? 'none',
    tenant: exchange.tenantId,
    address: exchange.knownAddress || undefined,
    status,
    ms: Math.round(seconds * 1e5) / 100,
  };
}
