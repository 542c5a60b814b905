/**
 * Counts every request by route and status, and its duration by route, and reports those that someone waits for: the
 * outcomes of audited actions, refusals and failures. Counting is on the hottest path, so each series is looked up once.
 */
import {BufferedBytes} from '../../shared/byte-accounts.ts';
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import type {RouterToSupervisor} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {Histogram} from '../../shared/metrics/metric-json.ts';
import type {Series} from '../../shared/metrics/metrics.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {refusedRequest} from '../auth/refusal.ts';
import {ROUTES} from '../routes.ts';
import type {Exchange, ExchangeObserver} from './exchange.ts';

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

type RouteSeries = {labels: {method: string; route: string}; seconds: Histogram; byStatus: Series[]};

export class Traffic implements ExchangeObserver {
  readonly #metrics: RouterMetrics;
  readonly #byRoute: RouteSeries[] = [];
  readonly #bytesIn: Series;
  readonly #bytesOut: Series;
  readonly #reports: Reports;
  #onIdle: (() => void) | null = null;
  #inFlight = 0;
  /** Answered so far. */
  requests = 0;
  readonly unsent: BufferedBytes;

  constructor(metrics: RouterMetrics, unsentBytesMax: number, reports: Reports) {
    this.#metrics = metrics;
    this.#bytesIn = metrics.series('svc_http_body_bytes_total', {direction: 'in'});
    this.#bytesOut = metrics.series('svc_http_body_bytes_total', {direction: 'out'});
    metrics.measure('svc_http_unsent_reply_bytes', () => this.unsent.buffered);
    metrics.measure('svc_http_requests_in_flight', () => this.#inFlight);
    this.unsent = new BufferedBytes(unsentBytesMax);
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
    const route = this.#seriesOf(exchange.route?.index ?? NO_ROUTE);
    route.byStatus[status] ??= this.#metrics.series('svc_http_requests_total', {
      ...route.labels,
      status: status === 0 ? 'aborted' : String(status),
    });
    route.byStatus[status].value++;
    route.seconds.observe(seconds);
    this.requests++;
    exchange.traffic?.counted(
      status,
      exchange.route?.isEndless === true ? null : seconds * 1_000,
      exchange.bytesIn,
      exchange.bytesOut,
    );
    this.#bytesIn.value += exchange.bytesIn;
    this.#bytesOut.value += exchange.bytesOut;
    const {log, logsAll} = this.#reports;
    if (exchange.audited !== 0) this.#reports.send(outcomeOf(exchange, status));
    if (exchange.refusal !== null) this.#reports.refusals.note(refusedRequest(exchange, exchange.refusal));
    if (status >= 500) log.warn('a request failed', requestFields(exchange, status, seconds));
    else if (logsAll) log.debug('request', requestFields(exchange, status, seconds));
    if (this.#inFlight === 0 && this.#onIdle !== null) setImmediate(this.#onIdle);
  }

  #seriesOf(index: number): RouteSeries {
    const known = this.#byRoute[index];
    if (known !== undefined) return known;
    const labels = routeLabels(index);
    const seconds = this.#metrics.histogram('svc_http_request_duration_seconds', labels);
    const series: RouteSeries = {labels, seconds, byStatus: []};
    this.#byRoute[index] = series;
    return series;
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
