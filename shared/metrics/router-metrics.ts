/** The metrics of routers. The supervisor adds up those of all routers. */
import {Metrics, type MetricTable} from './metrics.ts';

/** Seconds: from a read served from memory to a write behind a stalled disk. */
const DURATION = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Seconds from a commit until the result is handed to the sockets. */
const LATENCY = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

export const ROUTER_METRICS = {
  svc_http_requests_total: {
    type: 'counter',
    help: 'Requests answered, by route and status; status "aborted": the client went before the answer.',
    labels: ['method', 'route', 'status'],
  },
  svc_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the last byte of the request head to the answer being handed over, by route.',
    labels: ['method', 'route'],
    buckets: DURATION,
  },
  svc_http_body_bytes_total: {
    type: 'counter',
    help: 'Bytes of request bodies read and of reply bodies handed over.',
    labels: ['direction'],
    from: ['in', 'out'],
  },
  svc_http_unsent_reply_bytes: {type: 'gauge', help: 'Bytes of large replies kept for clients that read slowly.'},
  svc_http_requests_in_flight: {type: 'gauge', help: 'Requests that are not answered yet.'},
  svc_router_requests_total: {
    type: 'counter',
    help: 'Requests answered, by the place of the router that answered: how evenly the system spreads connections.',
    labels: ['router'],
  },
  svc_router_links: {type: 'gauge', help: 'Connections of routers to workers.'},
  svc_peer_links: {type: 'gauge', help: 'Connections of routers to workers of other hosts.'},
  svc_peer_dials_total: {
    type: 'counter',
    help: 'Attempts to reach a worker of another host; "moved": that host does not serve the tenant.',
    labels: ['outcome'],
    from: ['linked', 'moved', 'refused', 'lost'],
  },
  svc_peer_incoming_routers: {type: 'gauge', help: 'Routers of other hosts that are connected to the peer port.'},
  svc_peer_incoming_links: {
    type: 'gauge',
    help: 'Connections of routers of other hosts to workers of this host, open or waiting for a worker.',
  },
  svc_peer_bytes_total: {
    type: 'counter',
    help: 'Bytes passed between routers of other hosts and workers of this host; "in": to the workers.',
    labels: ['direction'],
    from: ['in', 'out'],
  },
  svc_peer_refused_total: {
    type: 'counter',
    help: 'Connections to the peer port without a valid certificate, or that violated the protocol.',
  },
  svc_router_waiting_requests: {type: 'gauge', help: 'Requests that wait for their tenant to wake.'},
  svc_router_held_bytes: {type: 'gauge', help: 'Bytes of requests that routers buffer.'},
  svc_router_cached_bytes: {
    type: 'gauge',
    help: 'Bytes of documents and results of query functions that routers cache.',
  },
  svc_router_cached_answers_total: {
    type: 'counter',
    help: 'Gets and calls of query functions that a router looked up in its cache and found, so that no worker was needed.',
  },
  svc_router_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'Longest delay of the event loop of a router in the last one to two minutes.',
    aggregator: 'max',
  },
  svc_ipc_in_flight_requests: {type: 'gauge', help: 'Requests sent to workers and not answered.'},
  svc_ipc_in_flight_bytes: {
    type: 'gauge',
    help: 'Bytes of the bodies of requests sent to workers and not answered.',
  },
  svc_ipc_buffered_bytes: {
    type: 'gauge',
    help: 'Bytes that routers have for workers and that workers have not read yet.',
  },
  svc_quarantined_calls_total: {
    type: 'counter',
    help: 'Calls of functions refused because the same call crashed a worker before.',
  },
  svc_malformed_links_total: {
    type: 'counter',
    help: 'Connections to workers that were closed because the worker violated the protocol.',
  },
  svc_refusals_total: {
    type: 'counter',
    help: 'Requests refused with 401 or 403, by whether they carried a valid key.',
    labels: ['by'],
    from: ['key', 'other'],
  },
  /** The supervisor has this one, too. */
  svc_refusals_unrecorded_total: {
    type: 'counter',
    help: 'Refused requests that were counted only, because the log of refusals records a limited number of kinds per minute.',
  },
  svc_rate_limited_total: {
    type: 'counter',
    help: 'Requests, subscriptions and messages of function sockets that were refused, by the limit that was used up.',
    labels: ['limit'],
    from: ['tenant', 'key'],
  },
  svc_socket_connections: {type: 'gauge', help: 'Open sockets of the native API (svc.v2).'},
  svc_socket_subscriptions: {type: 'gauge', help: 'Subscriptions of open sockets of the native API.'},
  svc_router_live_queries: {type: 'gauge', help: 'Distinct live queries held by sockets.'},
  svc_live_fanout_frames_total: {type: 'counter', help: 'Live results handed to sockets after the first one.'},
  svc_live_fanout_bytes_total: {
    type: 'counter',
    help: 'Bytes of live results handed to sockets after the first one.',
  },
  svc_live_coalesced_total: {
    type: 'counter',
    help: 'Live results that slow sockets did not get, because a newer one replaced them.',
  },
  svc_live_commit_to_send_seconds: {
    type: 'histogram',
    help: 'Time from a commit to its results being handed to the sockets.',
    buckets: LATENCY,
  },
  svc_function_sockets: {type: 'gauge', help: 'Open function sockets.'},
  svc_socket_owed_bytes: {type: 'gauge', help: 'Bytes of messages that the networks of sockets have not taken.'},
  svc_function_sockets_displaced_total: {
    type: 'counter',
    help: 'Function sockets closed to make room for other clients.',
  },
  svc_function_socket_received_total: {type: 'counter', help: 'Messages of clients on function sockets.'},
  svc_function_socket_received_bytes_total: {
    type: 'counter',
    help: 'Bytes of the messages that clients sent on function sockets.',
  },
  svc_function_socket_sent_total: {type: 'counter', help: 'Messages handed to function sockets.'},
  svc_function_socket_sent_bytes_total: {type: 'counter', help: 'Bytes of the messages handed to function sockets.'},
} as const satisfies MetricTable;

export class RouterMetrics extends Metrics<typeof ROUTER_METRICS> {
  /** Counted per message or result of a socket, so looked up once. */
  readonly socketReceived = this.series('svc_function_socket_received_total');
  readonly socketReceivedBytes = this.series('svc_function_socket_received_bytes_total');
  readonly socketSent = this.series('svc_function_socket_sent_total');
  readonly socketSentBytes = this.series('svc_function_socket_sent_bytes_total');
  readonly fanoutFrames = this.series('svc_live_fanout_frames_total');
  readonly fanoutBytes = this.series('svc_live_fanout_bytes_total');
  readonly commitToSend = this.histogram('svc_live_commit_to_send_seconds');

  constructor() {
    super(ROUTER_METRICS);
  }
}
