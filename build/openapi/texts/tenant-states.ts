/** Texts of the states of tenants, and of what an operator does to their workers. */
import type {OperationTexts} from './text.ts';

const tenant = {
  id: 'acme',
  state: 'awake',
  serves: 'all',
  error: null,
  created_at: 1767225600000,
  disk_bytes: 139264,
  documents: 3,
  requests_per_second: 0.5,
  error_rate: 0,
  p50_ms: 0.4,
  p99_ms: 2.5,
  sockets: 0,
  last_active_at: 1767225660000,
  wakes: [{at: 1767225600100, cause: 'request', ms: 42}],
};
const range = {from: 1767225600000, to: 1767229200000, step_seconds: 300};
const point = {
  at: 1767225600000,
  requests: 60,
  errors: 0,
  error_rate: 0,
  p50_ms: 0.4,
  p99_ms: 2.5,
  bytes_in: 4096,
  bytes_out: 9216,
  sockets: 2,
};
const FIGURES_DESCRIPTION =
  'Stored by minute for 24 hours, or for less with very many busy tenants; the present minute is not among them. ' +
  'A time without traffic has no point.';
const states = {asleep: 0, waking: 0, awake: 1, cool_down: 0, paused: 0, damaged: 0};

export const TENANT_STATE_TEXTS: OperationTexts<
  | 'figures.server'
  | 'figures.tenant'
  | 'figures.functions'
  | 'tenants.overview'
  | 'tenants.status'
  | 'tenants.wake'
  | 'tenants.sleep'
  | 'tenants.pause'
  | 'tenants.clone'
  | 'tenants.import'
  | 'tenants.resume'
> = {
  'tenants.overview': {
    tag: 'tenants',
    summary: 'Tenants with their states and figures, in pages',
    description:
      'The tenants that the credential can use. A cursor is only valid with the order of its page. Figures change ' +
      'while you page, so in other orders than `id` a tenant can appear twice or be missed.',
    example: {
      query: {search: 'acme', limit: 10},
      answer: {tenants: [tenant], next_cursor: null, has_more: false, total: 1, states},
    },
  },
  'tenants.status': {
    tag: 'tenants',
    summary: 'State and figures of a tenant',
    description: 'Does not wake it.',
    errors: ['session.tenant_not_found'],
    example: {answer: {tenant}},
  },
  'figures.server': {
    tag: 'server',
    summary: 'Figures over time of the server',
    description: `The sum of all tenants. ${FIGURES_DESCRIPTION}`,
    example: {query: {step: 300}, answer: {...range, points: [point]}},
  },
  'figures.tenant': {
    tag: 'tenants',
    summary: 'Figures over time of a tenant',
    description: `Its HTTP requests and its sockets. ${FIGURES_DESCRIPTION}`,
    errors: ['session.tenant_not_found'],
    example: {query: {step: 300}, answer: {...range, points: [point]}},
  },
  'figures.functions': {
    tag: 'functions',
    summary: 'Figures over time of functions',
    description: `Calls over HTTP and sockets and by jobs. ${FIGURES_DESCRIPTION}`,
    errors: ['session.tenant_not_found'],
    example: {
      query: {step: 300},
      answer: {
        ...range,
        functions: [{name: 'messages:list', calls: 60, errors: 0, error_rate: 0, p50_ms: 0.4, p99_ms: 2.5}],
        points: null,
      },
    },
  },
  'tenants.wake': {
    tag: 'tenants',
    summary: 'Start the worker of a tenant',
    description: 'Answers once it serves, or with the error that a request of the tenant would get.',
    errors: ['session.tenant_not_found', 'session.tenant_paused', 'session.overloaded', 'op.storage_damaged'],
    example: {answer: {tenant, took_ms: 42}},
  },
  'tenants.sleep': {
    tag: 'tenants',
    summary: 'Stop the worker of an idle tenant',
    description:
      'Answers once its worker has ended. A tenant that a request, a socket, a service or a sandbox needs is 409 ' +
      '`op.conflict`. The next request and the next due job wake it again.',
    errors: ['session.tenant_not_found', 'op.conflict'],
    example: {answer: {tenant: {...tenant, state: 'asleep'}}},
  },
  'tenants.pause': {
    tag: 'tenants',
    summary: 'Pause a tenant',
    description:
      'Lets requests under way finish for a few seconds, closes the sockets and the worker, and answers once it has ' +
      'ended. Until the tenant is resumed, its requests get 503 `session.tenant_paused`, and no job, cron or service of ' +
      'it runs. With `serve=reads` it goes on answering reads, queries, live queries and functions that are queries; ' +
      'all else gets 409 `session.tenant_read_only`. A pause survives restarts of the server.',
    errors: ['session.tenant_not_found', 'session.storage_full', 'session.storage_read_only'],
    example: {answer: {tenant: {...tenant, state: 'paused', serves: 'nothing'}}},
  },
  'tenants.clone': {
    tag: 'tenants',
    summary: 'Make a tenant that is a copy of another',
    description:
      'Copies the tenant as of one commit, inside the server, while writes go on. Where the file system of the data ' +
      'directory can share blocks between files (btrfs, XFS), the copy takes no space until one of the two changes. ' +
      'The copy has a timeline of its own. It is paused and answers reads, unless `live=true`. It has the external ' +
      'packages of its deployments.',
    errors: [
      'op.conflict',
      'session.tenant_exists',
      'session.tenant_not_found',
      'session.tenant_paused',
      'session.storage_full',
      'session.overloaded',
      'session.worker_unavailable',
    ],
    example: {
      query: {as: 'acme-test'},
      answer: {tenant: {...tenant, id: 'acme-test', state: 'paused', serves: 'reads'}},
    },
  },
  'tenants.import': {
    tag: 'tenants',
    summary: 'Make a tenant of a file',
    description:
      'The body is a file that an export of a tenant or `svc restore` wrote: a whole tenant. It is written to disk as it ' +
      'arrives, checked as `svc verify` does, and gets a new timeline, so followers of the journal of the original ' +
      'begin again. The tenant is paused and answers reads, unless `live=true`. A file that is damaged, of a later ' +
      'version, or with definitions that svc did not make, is 400 `op.invalid_input`, and nothing is changed. The file ' +
      'has no external packages: deploy the code again, unless the tenant replaces one that has them.',
    errors: [
      'session.tenant_exists',
      'session.tenant_not_found',
      'op.too_large',
      'session.storage_full',
      'session.overloaded',
    ],
    example: {query: {live: 'true'}, body: 'SQLite format 3…', answer: {tenant}},
  },
  'tenants.resume': {
    tag: 'tenants',
    summary: 'Resume a paused tenant',
    description: 'Jobs that were due meanwhile run now, as after a sleep. A tenant that is not paused stays as it is.',
    errors: ['session.tenant_not_found', 'session.storage_full', 'session.storage_read_only'],
    example: {answer: {tenant: {...tenant, state: 'asleep'}}},
  },
};
