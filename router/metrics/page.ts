/**
 * The metrics page: the router's own figures, the supervisor's, and those of all workers added up. Each process has
 * METRICS_TIMEOUT_MS to report; one that does not is left out and counted, so a stuck worker shows instead of hiding the rest.
 */
import {monitorEventLoopDelay} from 'node:perf_hooks';
import {AggregatorRegistry, Registry} from 'prom-client';
import {METRICS_TIMEOUT_MS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {gauge, type MetricJson} from '../../shared/metric-json.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {TenantDirectory} from '../tenants/directory.ts';
import type {Traffic} from './traffic.ts';

export const PROMETHEUS_TEXT = Registry.PROMETHEUS_CONTENT_TYPE;
/** How often the event loop's delay is sampled. */
const LAG_RESOLUTION_MS = 20;

export class MetricsPage {
  readonly #traffic: Traffic;
  readonly #directory: TenantDirectory;
  readonly #control: ControlChannel;
  readonly #log: Logger;
  readonly #lag = monitorEventLoopDelay({resolution: LAG_RESOLUTION_MS});
  #missing = 0;
  /** Parts of the router that report themselves. */
  readonly #sources: (() => MetricJson[])[] = [];

  constructor(traffic: Traffic, directory: TenantDirectory, control: ControlChannel, log: Logger) {
    this.#traffic = traffic;
    this.#directory = directory;
    this.#control = control;
    this.#log = log;
    this.#lag.enable();
  }

  addSource(source: () => MetricJson[]): void {
    this.#sources.push(source);
  }

  /** Prometheus text. */
  async render(): Promise<string> {
    const links = this.#directory.links();
    const reports = await Promise.all([
      this.#supervisor(),
      ...links.map(async link => parseReport(await link.requestMetrics())),
    ]);
    const present = reports.filter(report => report !== null);
    this.#missing += reports.length - present.length;
    return AggregatorRegistry.aggregate([this.#own(), ...present]).metrics();
  }

  async #supervisor(): Promise<MetricJson[] | null> {
    const timedOut = Promise.withResolvers<null>();
    const timer = setTimeout(() => timedOut.resolve(null), METRICS_TIMEOUT_MS);
    try {
      return asReport(await Promise.race([this.#control.metrics(), timedOut.promise]));
    } catch (error) {
      this.#log.warn('the supervisor did not report its metrics', {error});
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  #own(): MetricJson[] {
    const links = this.#directory.links();
    const sum = (of: (link: (typeof links)[number]) => number) => links.reduce((total, link) => total + of(link), 0);
    const lagSeconds = Math.max(0, this.#lag.max / 1e9 - LAG_RESOLUTION_MS / 1e3);
    this.#lag.reset();
    return [
      ...this.#traffic.json(),
      ...this.#sources.flatMap(source => source()),
      gauge('svc_router_links', 'Workers this router is connected to.', links.length),
      gauge('svc_router_waiting_requests', 'Requests that wait for their tenant to wake.', this.#directory.waiting()),
      gauge(
        'svc_ipc_in_flight_requests',
        'Requests sent to workers and not answered.',
        sum(link => link.inFlight),
      ),
      gauge(
        'svc_ipc_in_flight_bytes',
        'Bytes of the bodies of these requests.',
        sum(link => link.inFlightBytes),
      ),
      gauge('svc_router_held_bytes', 'Bytes of requests that the router holds itself.', this.#directory.heldBytes),
      counter(
        'svc_quarantined_calls_total',
        'Calls of functions refused because they ended workers before.',
        this.#directory.refused,
      ),
      gauge(
        'svc_ipc_buffered_bytes',
        'Bytes that workers have not taken yet.',
        sum(link => link.bufferedBytes),
      ),
      gauge(
        'svc_router_event_loop_lag_seconds',
        'Longest delay of the router since the last scrape.',
        lagSeconds,
        'max',
      ),
      counter('svc_metrics_missing_total', 'Processes that did not report in time for a scrape.', this.#missing),
    ];
  }
}

function counter(name: string, help: string, value: number): MetricJson {
  return {name, help, type: 'counter', aggregator: 'sum', values: [{labels: {}, value}]};
}

function parseReport(body: string | null): MetricJson[] | null {
  return body === null ? null : asReport(JSON.parse(body));
}

/** Reports come from our own processes: their form is taken on trust, apart from being a list. */
function asReport(report: unknown): MetricJson[] | null {
  return Array.isArray(report) ? (report as MetricJson[]) : null;
}
