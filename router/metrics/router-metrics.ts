/**
 * Metrics of one router, as reported to the supervisor, which adds up those of all routers
 * (supervisor/metrics/metrics-page.ts).
 */
import {counter, gauge, type MetricJson} from '../../shared/metrics/metric-json.ts';
import type {Traffic} from '../http/traffic.ts';
import type {TenantDirectory} from '../tenants/directory.ts';
import {LongestDelay} from './longest-delay.ts';

export class RouterMetrics {
  readonly #place: number;
  readonly #traffic: Traffic;
  readonly #directory: TenantDirectory;
  readonly #lag = LongestDelay.ofThisProcess();
  /** Parts of the router that report themselves. */
  readonly #sources: (() => MetricJson[])[] = [];

  constructor(place: number, traffic: Traffic, directory: TenantDirectory) {
    this.#place = place;
    this.#traffic = traffic;
    this.#directory = directory;
  }

  addSource(source: () => MetricJson[]): void {
    this.#sources.push(source);
  }

  json(): MetricJson[] {
    const links = this.#directory.links();
    const sum = (of: (link: (typeof links)[number]) => number) => links.reduce((total, link) => total + of(link), 0);
    return [
      ...this.#traffic.json(),
      ...this.#sources.flatMap(source => source()),
      gauge('svc_router_links', 'Connections of routers to workers.', links.length),
      gauge('svc_router_waiting_requests', 'Requests that wait for their tenant to wake.', this.#directory.waiting()),
      gauge(
        'svc_ipc_in_flight_requests',
        'Requests sent to workers and not answered.',
        sum(link => link.inFlight),
      ),
      gauge(
        'svc_ipc_in_flight_bytes',
        'Bytes of the bodies of requests sent to workers and not answered.',
        sum(link => link.inFlightBytes),
      ),
      gauge('svc_router_held_bytes', 'Bytes of requests that routers buffer.', this.#directory.reservedBytes),
      counter(
        'svc_quarantined_calls_total',
        'Calls of functions refused because the same call crashed a worker before.',
        this.#directory.refused,
      ),
      counter(
        'svc_malformed_links_total',
        'Connections to workers that were closed because the worker violated the protocol.',
        this.#directory.malformedLinks,
      ),
      gauge(
        'svc_ipc_buffered_bytes',
        'Bytes that routers have for workers and that workers have not read yet.',
        sum(link => link.bufferedBytes),
      ),
      gauge(
        'svc_router_event_loop_lag_seconds',
        'Longest delay of the event loop of a router in the last one to two minutes.',
        this.#lag.seconds(),
        'max',
      ),
      {
        name: 'svc_router_requests_total',
        help: 'Requests answered, by the place of the router that answered: how evenly the system spreads connections.',
        type: 'counter',
        aggregator: 'sum',
        values: [{labels: {router: this.#place}, value: this.#traffic.requests}],
      },
    ];
  }
}
