/** Metrics of the router's sockets. */
import {Histogram, type MetricJson} from '../../shared/metrics/metric-json.ts';

/** Seconds from a commit until the result is handed to the sockets. */
const LATENCY_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

export type SocketGauges = {connections: number; subscriptions: number; liveQueries: number};

export class SocketTraffic {
  #frames = 0;
  #bytes = 0;
  #coalesced = 0;
  readonly #latency = new Histogram(LATENCY_BUCKETS);

  /** A result was sent to `takers` sockets. */
  published(takers: number, bytes: number, committedMs: number): void {
    this.#frames += takers;
    this.#bytes += takers * bytes;
    this.#latency.observe(Math.max(0, (performance.timeOrigin + performance.now() - committedMs) / 1000));
  }

  /** A result was skipped for a socket that is behind; the socket will get a newer one. */
  coalesced(): void {
    this.#coalesced++;
  }

  json({connections, subscriptions, liveQueries}: SocketGauges): MetricJson[] {
    return [
      single('gauge', 'svc_socket_connections', 'Open sockets of the native API (svc.v2).', connections),
      single('gauge', 'svc_socket_subscriptions', 'Subscriptions of open sockets of the native API.', subscriptions),
      single('gauge', 'svc_router_live_queries', 'Distinct live queries held by sockets.', liveQueries),
      single(
        'counter',
        'svc_live_fanout_frames_total',
        'Live results handed to sockets after the first one.',
        this.#frames,
      ),
      single(
        'counter',
        'svc_live_fanout_bytes_total',
        'Bytes of live results handed to sockets after the first one.',
        this.#bytes,
      ),
      single(
        'counter',
        'svc_live_coalesced_total',
        'Live results that slow sockets did not get, because a newer one replaced them.',
        this.#coalesced,
      ),
      this.#latency.json(
        'svc_live_commit_to_send_seconds',
        'Time from a commit to its results being handed to the sockets.',
      ),
    ];
  }
}

function single(type: 'gauge' | 'counter', name: string, help: string, value: number): MetricJson {
  return {name, help, type, aggregator: 'sum', values: [{labels: {}, value}]};
}
