/** Texts of the operations that a router answers itself, except tenants. */
import {HELLO_TIMEOUT_MS} from '../../../shared/limits.ts';
import type {OperationTexts} from './text.ts';

const SERVER = {
  version: '0.1.0',
  build: 'a1b2c3d',
  node: '22.21.1',
  started_at: 1767225600000,
  uptime_seconds: 3600,
  warnings: [
    {
      level: 'warning',
      text: 'The disk of the data directory has 1200 MiB left.',
      to_do: 'Make space, or move the data directory to a larger disk. The largest tenant is acme.',
    },
  ],
  host: {
    platform: 'linux',
    cores: 2,
    load: 0.25,
    memory_bytes: 8589934592,
    memory_available_bytes: 6442450944,
  },
  disk: {
    bytes: 42949672960,
    free_bytes: 1258291200,
    tenants_bytes: 139264,
    tenants: [{id: 'acme', bytes: 139264}],
    measured_at: 1767229200000,
  },
  tenants: {total: 1, states: {asleep: 0, waking: 0, awake: 1, cool_down: 0, paused: 0, damaged: 0}},
  processes: [
    {kind: 'router', count: 1, private_bytes: 31457280, resident_bytes: 83886080, cpu: 0.02, cpu_seconds: 12.5},
  ],
  routers: [
    {
      router: 0,
      is_answering: true,
      requests: 4200,
      requests_in_flight: 1,
      waiting_requests: 0,
      sockets: 2,
      function_sockets: 0,
      worker_connections: 1,
      buffered_bytes: 0,
      event_loop_delay_ms: 3.5,
    },
  ],
  sandbox_layers: [
    {
      name: 'memory',
      is_active: false,
      is_required: false,
      effect: 'the kernel limits the memory of a worker and its children together',
      missing: 'the cgroup /sys/fs/cgroup has no controller memory and pids',
      to_do: 'Run the server as a systemd unit with Delegate=memory pids, on cgroup v2.',
    },
  ],
  settings: {
    host: '127.0.0.1',
    port: 3210,
    metrics_port: null,
    data: '/var/lib/svc',
    routers: 1,
    spare_workers: 1,
    max_awake: 128,
    idle_stop_ms: 300000,
    worker_users: 'auto',
    require_sandbox: false,
    allowed_hosts: [],
    allowed_origins: [],
    trusted_proxies: [],
    dashboard: {origin: null, port: null},
    rate_limit_tenant: null,
    rate_limit_key: null,
    journal_keep_records: 100000,
    tenant_storage_max_bytes: 10737418240,
    tenant_services_memory_mb: 1024,
    redact_errors: false,
    backup_to: null,
    backup_every_ms: null,
    backup_drill_ms: null,
    backup_keep: null,
    copies_spool_max_bytes: null,
    cluster: null,
    log_level: 'info',
    log_format: 'auto',
  },
};

export const SERVER_TEXTS: OperationTexts<
  'health' | 'server.status' | 'metrics' | 'openapi' | 'docs.page' | 'docs.file' | 'socket' | 'functions.socket'
> = {
  health: {
    summary: 'Whether the server takes clients',
    description: 'The `detail` of the error has the `reason`: `draining`, or `no_lease` in a cluster.',
    errors: ['session.worker_unavailable'],
    example: {answer: {ok: true}},
  },
  'server.status': {
    summary: 'The state of the server, with warnings that say what to do',
    description:
      'Processes, routers, memory, disk, sandbox layers and settings. It wakes no tenant. The sizes of tenants are ' +
      'measured at most once a minute.',
    example: {answer: SERVER},
  },
  metrics: {
    summary: 'Metrics in Prometheus text format',
    errors: ['session.worker_unavailable'],
    example: {answer: '# HELP svc_http_requests_total Requests answered.\n'},
  },
  openapi: {
    summary: 'This document',
    example: {answer: {openapi: '3.1.1', info: {title: 'svc', version: '0.1.0'}, paths: {}}},
  },
  'docs.page': {summary: 'This document as a page', example: {answer: '<!doctype html>'}},
  'docs.file': {
    summary: 'A file of that page',
    errors: ['op.not_found'],
    example: {path: {file: 'swagger-ui.css'}},
  },
  socket: {
    summary: 'Live queries: a WebSocket of the subprotocol svc.v2',
    description: `The tenant is \`X-Tenant-Id\` or \`tenant_id\`. Frames are JSON texts, an object with a \`type\` each.

1. The server sends \`hello\` with \`protocol\`, \`server\`, \`features\` and \`session\`; the client answers \`{"type": "client_hello", "protocol": "svc.v2"}\` within
   ${HELLO_TIMEOUT_MS / 1_000} seconds. Anything else is a \`fatal_error\`, and the socket closes with 1008 and the code as its reason.
2. \`{"type": "subscribe", "request_id", "query"}\` (a query object) is answered with \`subscription_result\`: \`subscription_id\`, \`data\`, all of it, and the
   \`request_id\`; and again, without \`request_id\`, whenever a write changes the result. \`op.error\` with the \`request_id\` as \`id\` says that it could not be.
3. \`{"type": "unsubscribe", "subscription_id"}\` ends it. \`{"type": "clear_auth"}\` is answered with \`authenticated\`.

Of what the socket cannot do, \`error\` tells, and it stays open. See docs/live-queries.md.`,
    errors: ['op.invalid_input', 'protocol.no_overlap', 'session.tenant_not_found', 'session.overloaded'],
    example: {query: {tenant_id: 'acme'}},
  },
  'functions.socket': {
    tag: 'live',
    summary: 'Live queries of functions: a WebSocket of the subprotocol svc.functions.v1',
    description:
      'The protocol of the clients in `svc/browser` and `svc/react`: a set of live queries whose results ' +
      'are of one version, mutations that run once, actions, and the caller’s identity. See ' +
      'docs/function-socket.md.',
    errors: ['op.invalid_input', 'protocol.no_overlap', 'session.tenant_not_found', 'session.overloaded'],
    example: {},
  },
};
