/** What one router counts, as it reports it to the supervisor, which adds up those of all (supervisor/metrics-page.ts). */
import {monitorEventLoopDelay} from 'node:perf_hooks';
import {gauge, type MetricJson} from '../../shared/metric-json.ts';
import type {TenantDirectory} from '../tenants/directory.ts';
import type {Traffic} from './traffic.ts';

/** How often the event loop's delay is sampled. */
const LAG_RESOLUTION_MS = 20;

export class RouterFigures {
  readonly #place: number;
  readonly #traffic: Traffic;
  readonly #directory: TenantDirectory;
  readonly #lag = monitorEventLoopDelay({resolution: LAG_RESOLUTION_MS});
  /** Parts of the router that report themselves. */
  readonly #sources: (() => MetricJson[])[] = [];

  constructor(place: number, traffic: Traffic, directory: TenantDirectory) {
    this.#place = place;
    this.#traffic = traffic;
    this.#directory = directory;
    this.#lag.enable();
  }

  addSource(source: () => MetricJson[]): void {
    this.#sources.push(source);
  }

  json(): MetricJson[] {
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
      counter(
        'svc_malformed_links_total',
        'Connections to workers that were closed because the worker sent what no worker sends.',
        this.#directory.malformedLinks,
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

function counter(name: string, help: string, value: number): MetricJson {
  return {name, help, type: 'counter', aggregator: 'sum', values: [{labels: {}, value}]};
}
