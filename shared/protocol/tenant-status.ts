/** Wire types of the states of tenants. GET /api/overview/tenants, GET /api/tenants/{tenant_id}/status, POST …/wake… */
import Type, {type Static} from 'typebox';
import {OVERVIEW_PAGE_TENANTS_MAX} from '../limits.ts';

const orNull = <T extends Type.TSchema>(type: T, description: string) => Type.Union([type, Type.Null()], {description});
const EpochMs = Type.Number({description: 'epoch milliseconds'});

export const TENANT_STATES = ['asleep', 'waking', 'awake', 'cool_down', 'paused', 'damaged'] as const;
export type TenantState = (typeof TENANT_STATES)[number];

/** What a paused tenant answers: nothing, or reads only. */
export const PAUSE_MODES = ['nothing', 'reads'] as const;
export type PauseMode = (typeof PAUSE_MODES)[number];

export const PauseQuery = Type.Object({
  serve: Type.Optional(
    Type.Enum([...PAUSE_MODES], {
      description:
        'what it answers meanwhile. `reads`: documents, queries, functions that are queries; default: nothing',
    }),
  ),
});

const LIVE = Type.Optional(
  Type.Enum(['true', 'false'], {description: 'the tenant runs at once; otherwise it is paused and answers reads'}),
);

export const FileImportQuery = Type.Object({
  replace: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'the tenant exists and is replaced: its directory is kept in `set-aside/` for seven days',
    }),
  ),
  live: LIVE,
});

export const CloneQuery = Type.Object({as: Type.String({description: 'the tenant to make'}), live: LIVE});

export const WAKE_CAUSES = ['request', 'due', 'start', 'crash', 'code', 'operator'] as const;
export type WakeCause = (typeof WAKE_CAUSES)[number];

export const WakeRecord = Type.Object({
  at: EpochMs,
  cause: Type.Enum([...WAKE_CAUSES], {
    description:
      '`due`: a job or a cron; `start`: of the server; `crash`: its worker ended; `code`: it needed a worker that runs code',
  }),
  ms: Type.Number({description: 'until it served'}),
});
export type WakeRecord = Static<typeof WakeRecord>;

export const TenantStatus = Type.Object({
  id: Type.String(),
  state: Type.Enum([...TENANT_STATES], {
    description:
      '`cool_down`: its worker crashed repeatedly, and is started again later; `damaged`: its file cannot be opened',
  }),
  serves: Type.Enum(['all', ...PAUSE_MODES], {description: 'a paused tenant serves `nothing`, or `reads` only'}),
  error: orNull(
    Type.Object({code: Type.String(), message: Type.String()}),
    'why it could not be opened, for `damaged` and `cool_down`',
  ),
  created_at: EpochMs,
  disk_bytes: Type.Integer({description: "of the tenant's file and its log"}),
  documents: orNull(
    Type.Integer(),
    'as of the last report of its worker; null: it was not awake since the server started',
  ),
  requests_per_second: Type.Number({description: 'over the last minute, as all figures here'}),
  error_rate: Type.Number({description: 'share of requests answered with 500 and above: 0 to 1'}),
  p50_ms: orNull(Type.Number(), 'null: there were no requests'),
  p99_ms: orNull(Type.Number(), 'null: there were no requests'),
  sockets: Type.Integer({description: 'open now'}),
  last_active_at: orNull(EpochMs, 'null: not since the server started'),
  wakes: Type.Array(WakeRecord, {description: 'the last ones since the server started, newest first'}),
});
export type TenantStatus = Static<typeof TenantStatus>;

export const OVERVIEW_ORDERS = ['id', 'requests', 'errors', 'p99', 'sockets', 'last_active'] as const;
export type OverviewOrder = (typeof OVERVIEW_ORDERS)[number];

export const OverviewQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({minimum: 1, description: `default 50; above ${OVERVIEW_PAGE_TENANTS_MAX} is that`}),
  ),
  cursor: Type.Optional(Type.String({description: 'next_cursor of the page before'})),
  search: Type.Optional(Type.String({description: 'a part of the id, in any case'})),
  state: Type.Optional(Type.Enum([...TENANT_STATES])),
  order: Type.Optional(
    Type.Enum([...OVERVIEW_ORDERS], {description: 'default `id`; all others begin with the highest'}),
  ),
});

/** GET /api/overview/tenants */
export const TenantOverview = Type.Object({
  tenants: Type.Array(TenantStatus),
  next_cursor: orNull(Type.String(), 'null: this is the last page'),
  has_more: Type.Boolean(),
  total: Type.Integer({description: 'tenants that match, on all pages'}),
  states: Type.Object(Object.fromEntries(TENANT_STATES.map(state => [state, Type.Integer()])), {
    description: 'tenants that match the search, by state',
  }),
});

export const FoundTenant = Type.Object({tenant: TenantStatus});
/** POST /api/tenants/{tenant_id}/wake */
export const WokenTenant = Type.Object({
  tenant: TenantStatus,
  took_ms: Type.Number({description: 'until its worker served; 0: it was awake'}),
});
