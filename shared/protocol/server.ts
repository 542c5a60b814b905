/** Wire types of the state of a server. GET /api/server */
import Type, {type Static} from 'typebox';
import {SERVER_TENANTS_SHOWN} from '../limits.ts';
import {PROCESS_KINDS} from '../process-kinds.ts';
import {TENANT_STATES} from './tenant-status.ts';

const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});
const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Bytes = (description?: string) => Type.Number(description === undefined ? {} : {description});
const BytesOrNull = orNull(Type.Number(), 'null: this system does not say');
const Names = Type.Array(Type.String());
const RatePerSecond = orNull(Type.Object({requests_per_second: Type.Number(), burst: Type.Number()}), 'null: no limit');

export const ServerProcesses = Type.Object({
  kind: Type.Enum([...PROCESS_KINDS], {
    description:
      '`spare`: a started worker without a tenant; `isolates`, `node`, `sandbox`, `analysis`, `other`: below workers',
  }),
  count: Type.Integer(),
  private_bytes: Bytes('resident, without mapped files'),
  resident_bytes: Bytes('a shared page counts once per process'),
  cpu: Type.Number({description: 'cores in use: 0.5 is half of one, since the measurement before'}),
  cpu_seconds: Type.Number({description: 'since the server started, of ended processes, too'}),
});
export type ServerProcesses = Static<typeof ServerProcesses>;

export const ServerRouter = Type.Object({
  router: Type.Integer({description: 'from 0'}),
  is_answering: Type.Boolean({description: 'false: it starts, or is too busy to report; its figures are 0'}),
  requests: Type.Integer({description: 'answered since this router started'}),
  requests_in_flight: Type.Integer(),
  waiting_requests: Type.Integer({description: 'for their tenant to wake'}),
  sockets: Type.Integer({description: 'of the native API'}),
  function_sockets: Type.Integer(),
  worker_connections: Type.Integer(),
  buffered_bytes: Bytes(),
  event_loop_delay_ms: Type.Number({description: 'the longest of the last one to two minutes'}),
});
export type ServerRouter = Static<typeof ServerRouter>;

export const ServerLayer = Type.Object({
  name: Type.String(),
  is_active: Type.Boolean(),
  is_required: Type.Boolean({description: 'by --require-sandbox; false: few machines support it'}),
  effect: Type.String({description: 'what it confines'}),
  missing: orNull(Type.String(), 'why it is not active; null: it is'),
  to_do: orNull(Type.String(), 'how to get it; null: it is active'),
});
export type ServerLayer = Static<typeof ServerLayer>;

export const ServerWarning = Type.Object({
  level: Type.Enum(['warning', 'problem']),
  text: Type.String(),
  to_do: Type.String(),
});
export type ServerWarning = Static<typeof ServerWarning>;

const ServerSettings = Type.Object(
  {
    host: Type.String(),
    port: Type.Integer(),
    metrics_port: orNull(Type.Integer(), 'null: there is no such listener'),
    data: Type.String(),
    routers: Type.Integer(),
    spare_workers: Type.Integer(),
    max_awake: Type.Integer(),
    idle_stop_ms: Type.Number({description: '0: idle tenants stay awake'}),
    worker_users: Type.String({description: '`auto`, `none`, or a range of user ids'}),
    require_sandbox: Type.Boolean(),
    allowed_hosts: Names,
    allowed_origins: Names,
    trusted_proxies: Names,
    dashboard: orNull(
      Type.Object({
        origin: orNull(Type.String(), 'null: dashboard.localhost'),
        port: orNull(Type.Integer(), 'null: that of the API'),
      }),
      'null: there is none',
    ),
    rate_limit_tenant: RatePerSecond,
    rate_limit_key: RatePerSecond,
    journal_keep_records: Type.Integer(),
    tenant_storage_max_bytes: Type.Number({description: '0: no limit'}),
    tenant_services_memory_mb: Type.Integer(),
    redact_errors: Type.Boolean(),
    backup_to: orNull(Type.String(), 'null: no backups are made, as for the next three'),
    backup_every_ms: orNull(Type.Number(), 'null: no backups'),
    backup_drill_ms: orNull(Type.Number(), 'null: no backups; 0: drills only on request'),
    backup_keep: orNull(
      Type.Partial(
        Type.Object({
          last: Type.Integer(),
          hourly: Type.Integer(),
          daily: Type.Integer(),
          weekly: Type.Integer(),
          monthly: Type.Integer(),
        }),
      ),
      'numbers of points that stay; null: all, or no backups',
    ),
    copies_spool_max_bytes: orNull(Type.Number(), 'null: no backups'),
    cluster: orNull(
      Type.Object({
        name: Type.String(),
        host: Type.String({description: 'the name of this server in the cluster'}),
        nats: Type.Array(Type.String()),
        peer_address: Type.String({description: 'where other hosts reach this one'}),
        ack: Type.Union([Type.Literal('replicated'), Type.Literal('local')]),
        lag_max_ms: orNull(Type.Number(), 'null: ack is replicated'),
        standbys: Type.Integer(),
        lease_ms: Type.Number(),
        capacity: Type.Number(),
        copy_rate_bytes: Type.Number({description: 'bytes a second; 0: no limit'}),
        drain_timeout_ms: Type.Number(),
      }),
      'null: this server is no host of a cluster',
    ),
    log_level: Type.String(),
    log_format: Type.String(),
  },
  {description: 'in force, named as the flags of `svc start`'},
);

/** GET /api/server */
export const ServerStatus = Type.Object({
  version: Type.String(),
  build: Type.String(),
  node: Type.String(),
  started_at: EpochMs,
  uptime_seconds: Type.Number(),
  warnings: Type.Array(ServerWarning, {description: 'problems first; empty: nothing to do'}),
  host: Type.Object({
    platform: Type.String({description: 'as Node names it'}),
    cores: Type.Integer(),
    load: Type.Number({description: 'processes that ran or waited to, on average over the last minute'}),
    memory_bytes: Bytes('of the machine or the container'),
    memory_available_bytes: Bytes(),
  }),
  disk: Type.Object({
    bytes: BytesOrNull,
    free_bytes: BytesOrNull,
    tenants_bytes: Bytes("of all tenants' files and their logs"),
    tenants: Type.Array(Type.Object({id: Type.String(), bytes: Type.Number()}), {
      description: `the ${SERVER_TENANTS_SHOWN} largest ones`,
    }),
    measured_at: EpochMs,
  }),
  tenants: Type.Object({
    total: Type.Integer(),
    states: Type.Object(Object.fromEntries(TENANT_STATES.map(state => [state, Type.Integer()]))),
  }),
  processes: Type.Array(ServerProcesses),
  routers: Type.Array(ServerRouter),
  sandbox_layers: Type.Array(ServerLayer),
  settings: ServerSettings,
});
export type ServerStatus = Static<typeof ServerStatus>;
