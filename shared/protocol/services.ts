/**
 * Wire types of services, which are tenants' long-running code. …/api/tenants/{tenant_id}/services…
 *
 *                 ┌──────────────────────── start ────────────────────────────┐
 *   stopped ──start──▶ starting ──its function is called──▶ running           │
 *      ▲                  │  ▲                                │               │
 *      │                  │  └──the pause is over── backoff ◀─┤ it ended: start again
 *      │                  │                            ▲      │               │
 *      │                  ├──it ended: start again─────┘      │ it ended: do not start again
 *      │                  └──it ended: do not start again────▶├──failed──▶ failed
 *      ├─────────────────────────────────────────────────────┘ returned
 *      └──its process is gone── stopping ◀──stop | update | new code── starting, running
 *
 * `restart` decides whether it is started again: `always`; `on_failure`, which excludes a return; `never`. After an
 * update or new code `stopping` leads to `starting`. `desired_state` is the latest request, and persists across
 * processes and restarts of the server.
 */
import Type, {type Static} from 'typebox';
import {SERVICE_CODE_CHARS_MAX, SERVICE_MEMORY_MB_MAX, SERVICE_MEMORY_MB_MIN} from '../limits.ts';
import {NODE_VERSIONS} from '../node-version.ts';
import {AnyKey} from './any-key.ts';

/** Its name in paths. */
export const SERVICE_NAME = '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$';

export const ServiceSource = Type.Union([
  /** A module of the active deployment that begins with "use node", as `workers/mail`. */
  Type.Object({type: Type.Literal('module'), path: Type.String({minLength: 1, maxLength: 512})}),
  /** An ES module. */
  Type.Object({
    type: Type.Literal('inline'),
    code: Type.String({minLength: 1, maxLength: SERVICE_CODE_CHARS_MAX}),
  }),
]);
export type ServiceSource = Static<typeof ServiceSource>;

const definition = {
  source: ServiceSource,
  /** The process.env of its code, in addition to the tenant's variables, which it overrides. */
  env: Type.Optional(Type.Record(AnyKey, Type.String())),
  /** Null: the deployment's version for a module, 24 for inline code. */
  node_version: Type.Optional(Type.Union([Type.Enum(NODE_VERSIONS), Type.Null()])),
  memory_mb: Type.Optional(Type.Integer({minimum: SERVICE_MEMORY_MB_MIN, maximum: SERVICE_MEMORY_MB_MAX})),
  restart: Type.Optional(Type.Enum(['always', 'on_failure', 'never'])),
  /** Whether it is started on creation. */
  autostart: Type.Optional(Type.Boolean()),
};

/** POST …/services. Missing members have the defaults of shared/limits.ts. */
export const ServiceBody = Type.Object({name: Type.String({pattern: SERVICE_NAME}), ...definition});
export type ServiceBody = Static<typeof ServiceBody>;

/** PUT …/services/{service_name}: the complete new definition; a name must equal the path's. */
export const ServiceUpdateBody = Type.Object({name: Type.Optional(Type.String()), ...definition});
export type ServiceUpdateBody = Static<typeof ServiceUpdateBody>;

export const ServiceState = Type.Enum(['stopped', 'starting', 'running', 'stopping', 'backoff', 'failed']);
export type ServiceState = Static<typeof ServiceState>;

/** Why one of its processes ended. `not_started`: its code was unavailable or could not be loaded. */
export const ExitReason = Type.Enum(['returned', 'threw', 'crashed', 'out_of_memory', 'stopped', 'not_started']);
export type ExitReason = Static<typeof ExitReason>;

export const ServiceExit = Type.Object({
  at: Type.Integer(),
  reason: ExitReason,
  /** For the author of the code. */
  message: Type.Union([Type.String(), Type.Null()]),
});
export type ServiceExit = Static<typeof ServiceExit>;

/** A service as routes show it and as it is stored. Times are epoch milliseconds. */
export const ServiceRecord = Type.Object({
  name: Type.String(),
  source: ServiceSource,
  env: Type.Record(Type.String(), Type.String()),
  node_version: Type.Union([Type.Enum(NODE_VERSIONS), Type.Null()]),
  memory_mb: Type.Integer(),
  restart: Type.Enum(['always', 'on_failure', 'never']),
  autostart: Type.Boolean(),
  state: ServiceState,
  desired_state: Type.Enum(['running', 'stopped']),
  /** Number of automatic restarts since its last manual start or change. */
  restarts: Type.Integer(),
  /** When its function was last called; null: never. */
  started_at: Type.Union([Type.Integer(), Type.Null()]),
  last_exit: Type.Union([ServiceExit, Type.Null()]),
  created_at: Type.Integer(),
  updated_at: Type.Integer(),
});
export type ServiceRecord = Static<typeof ServiceRecord>;

/** POST …/services, GET and PUT …/services/{service_name}, POST …/start, …/stop, …/restart */
export const FoundService = Type.Object({service: ServiceRecord});
/** GET …/services, the oldest first */
export const ServiceList = Type.Object({services: Type.Array(ServiceRecord)});

/** Query string of GET …/logs */
export const ServiceLogQuery = Type.Object({
  history: Type.Optional(Type.Integer({minimum: 0})),
  follow: Type.Optional(Type.Enum(['true', 'false'])),
});

/** A line of GET …/logs. */
export const ServiceLogEntry = Type.Object({
  /** Increases within one process of the tenant. */
  n: Type.Integer(),
  at: Type.Integer(),
  /** `service`: a line from svc about the service. */
  level: Type.Enum(['debug', 'log', 'info', 'warn', 'error', 'service']),
  line: Type.String(),
});
export type ServiceLogEntry = Static<typeof ServiceLogEntry>;
