/**
 * THE table of the operations of a tenant's worker: one row per operation, with everything that follows from the
 * operation alone. The router makes its routes from it, the router's connection decides by it which requests are
 * retried, and the worker which requests are queued and how a request's parameters are named. Each fact is stated once.
 * Operations that routers answer themselves are in their own table. The wire types of both, which a running service
 * does not load, are in `operation-types.ts`.
 */
import {assert} from './assert.ts';
import {DEPLOYMENT_BYTES_MAX, HTTP_ACTION_BODY_BYTES_MAX, IMPORT_BYTES_MAX, PACKAGE_BYTES_MAX} from './limits.ts';

export type OperationTraits = {
  /** HTTP status of a success. Only the HTTP edge uses it; handlers do not. */
  readonly success: number;
  /** Statuses of other kinds of success, by the name that the answer gives. */
  readonly variants?: Readonly<Record<string, number>>;
  /**
   * `read`: changes nothing. `write`: never sent twice; if its worker dies before the answer, its outcome is unknown.
   */
  readonly kind: 'read' | 'write';
  /**
   * `tenant`: an operator's operation, below /api/tenants/{tenant_id}. `session`: an operator's, below /api/sessions.
   * `deployment`: an operation of that tenant's users, below /svc/{tenant_id}.
   */
  readonly of: 'tenant' | 'session' | 'deployment';
  /**
   * For sessions: which parameter identifies the tenant, since the path does not. In query and body it is the member
   * `tenant`.
   */
  readonly tenantIn?: 'session_id' | 'query' | 'body';
  readonly routes: readonly OperationRoute[];
  /** Names of the path's parameters after the tenant, in path order. */
  readonly params: readonly string[];
  /** The query string has parameters. */
  readonly takesQuery?: true;
  /** `If-None-Match` is passed on, and for writes `If-Match` as well. */
  readonly takesConditions?: true;
  /** A request with one of these headers is refused, because its sender expects them to be evaluated. */
  readonly refusesConditions?: true;
  /** `Last-Event-ID` is passed on: the answer resumes from there. */
  readonly takesLastEventId?: true;
  /** `Content-Type` is passed on. */
  readonly takesContentType?: true;
  /**
   * A read that takes constant, short time whatever the tenant holds. It cannot have crashed a worker, so it can be
   * retried once.
   */
  readonly isShort?: true;
  /**
   * Runs on arrival, before reads that can take long: it reads by document id, or hands over at once. All writes run
   * like this, too.
   */
  readonly isAtOnce?: true;
  /** A router can answer it without the worker, while the worker allows. */
  readonly isCacheable?: true;
  /** Runs a tenant's own code. It is never sent twice, because it could be the cause of a worker's crash. */
  readonly runsUserCode?: true;
  /** A deployment can be active afterwards: only a worker that can hold isolates gets it. */
  readonly bringsCode?: true;
  /** The body is streamed to the worker as it arrives, up to this length. */
  readonly streamedBytesMax?: number;
  /** The answer never ends by itself: a drain cuts it off. */
  readonly isEndless?: true;
  /** Pages of other origins can call it: its answers carry CORS headers, and its paths answer preflights. */
  readonly hasCors?: true;
};

export type OperationRoute = {
  /** `*`: any. */
  readonly method: string;
  /** `{name}` takes one non-empty segment, `{*name}` the rest of the path unchanged. */
  readonly path: string;
  /** The value of the operation's one parameter, if it is not in the path. */
  readonly parameter?: string;
};

/** Where the paths of operations begin. */
export const PATH_PREFIX: Readonly<Record<OperationTraits['of'], string>> = {
  tenant: '/api/tenants/{tenant_id}',
  session: '/api/sessions',
  deployment: '/svc/{tenant_id}',
};

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? readonly [Name, ...NamesIn<Rest>]
  : readonly [];

/** One route, whose parameters are those that its path names. */
function at<Path extends string>(
  method: string,
  path: Path,
): {readonly routes: readonly OperationRoute[]; readonly params: NamesIn<Path>} {
  return {routes: [{method, path}], params: namesIn(path) as unknown as NamesIn<Path>};
}

function namesIn(path: string): string[] {
  return [...path.matchAll(/\{\*?(\w+)\}/g)].map(match => match[1]!);
}

const SWITCHING_PROTOCOLS = 101;
const OK = 200;
const CREATED = 201;
const ACCEPTED = 202;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

const read = {kind: 'read', of: 'tenant', success: OK} as const;
/** A write that answers with its result. */
const write = {kind: 'write', of: 'tenant', success: OK} as const;
const create = {kind: 'write', of: 'tenant', success: CREATED} as const;
/** A write that answers without a body. */
const change = {kind: 'write', of: 'tenant', success: NO_CONTENT} as const;
/** The session that the path names. */
const session = {of: 'session', tenantIn: 'session_id', success: OK} as const;
/** A function endpoint: its callers are the tenant's users, and their pages. */
const endpoint = {of: 'deployment', success: OK, hasCors: true} as const;
const none = [] as const;

export const OPERATIONS = {
  'documents.insert': {...create, ...at('POST', '/documents'), refusesConditions: true},
  'documents.list': {...read, ...at('GET', '/documents/{table}')},
  'documents.get': {
    ...read,
    ...at('GET', '/documents/{table}/{document_id}'),
    variants: {not_modified: NOT_MODIFIED},
    takesConditions: true,
    isShort: true,
    isAtOnce: true,
    isCacheable: true,
  },
  'documents.put': {
    ...write,
    ...at('PUT', '/documents/{table}/{document_id}'),
    variants: {created: CREATED},
    takesConditions: true,
  },
  'documents.patch': {...write, ...at('PATCH', '/documents/{table}/{document_id}'), takesConditions: true},
  'documents.delete': {...change, ...at('DELETE', '/documents/{table}/{document_id}'), takesConditions: true},
  'documents.upsert': {...write, ...at('POST', '/upsert'), variants: {created: CREATED}, takesConditions: true},
  'transactions.run': {...write, ...at('POST', '/transactions')},
  /** The body is processed as it arrives. */
  'imports.run': {
    ...write,
    ...at('POST', '/import'),
    takesQuery: true,
    takesContentType: true,
    streamedBytesMax: IMPORT_BYTES_MAX,
  },
  /** Documents at one sequence, one object per line. */
  'exports.run': {...read, ...at('GET', '/export'), takesQuery: true},
  /** The tenant's whole file, as of one commit. */
  'exports.file': {...read, ...at('GET', '/file')},
  'tasks.create': {...write, ...at('POST', '/tasks'), success: ACCEPTED},
  'tables.drop': {...write, ...at('DELETE', '/tables/{table}'), success: ACCEPTED},
  'tables.rename': {...change, ...at('POST', '/tables/{table}/rename')},
  'tasks.list': {...read, ...at('GET', '/tasks'), takesQuery: true, isShort: true},
  'tasks.get': {...read, ...at('GET', '/tasks/{task_id}'), isShort: true},
  'tasks.cancel': {...write, ...at('POST', '/tasks/{task_id}/cancel')},
  'imports.list': {...read, ...at('GET', '/import'), isShort: true},
  'imports.get': {...read, ...at('GET', '/import/{import_id}'), isShort: true},
  'query.run': {...read, ...at('POST', '/query')},
  'query.paginated': {...read, ...at('POST', '/query/paginated')},
  'query.count': {...read, ...at('POST', '/query/count')},
  'query.batch': {...read, ...at('POST', '/query/batch')},
  /** The result as events, now and after each change. */
  'query.stream': {...read, ...at('POST', '/query/stream'), takesQuery: true, isEndless: true},
  /** The same with the query object in the URL, for readers that can only GET. */
  'query.follow': {...read, ...at('GET', '/query/stream'), takesQuery: true, isEndless: true},
  /** Native live queries and those of functions, by the time that they have taken. */
  'live_queries.list': {...read, ...at('GET', '/live-queries'), takesQuery: true, isShort: true},
  'live_queries.get': {...read, ...at('GET', '/live-queries/{live_query_id}'), isShort: true},
  'journal.page': {...read, ...at('GET', '/journal'), takesQuery: true, isShort: true},
  'journal.counts': {...read, ...at('GET', '/journal/counts'), takesQuery: true, isShort: true},
  /** Its records as events, existing and future ones. */
  'journal.stream': {
    ...read,
    ...at('GET', '/journal/stream'),
    takesQuery: true,
    takesLastEventId: true,
    isEndless: true,
  },
  'journal.bootstrap': {...read, ...at('GET', '/journal/bootstrap')},
  'schema.all': {...read, ...at('GET', '/schema'), isShort: true},
  /** All indexes, with the progress of their builds and their last reads. */
  'schema.indexes': {...read, ...at('GET', '/indexes'), isShort: true},
  'schema.get': {...read, ...at('GET', '/schema/{table}'), isShort: true},
  'schema.put': {...change, ...at('PUT', '/schema/{table}')},
  'schema.delete': {...change, ...at('DELETE', '/schema/{table}')},
  'schedule.create': {...create, ...at('POST', '/schedule')},
  'schedule.list': {...read, ...at('GET', '/schedule'), takesQuery: true},
  'schedule.get': {...read, ...at('GET', '/schedule/{job_id}')},
  'schedule.cancel': {...change, ...at('DELETE', '/schedule/{job_id}')},
  /** Its work again, as a new job that is due now. */
  'schedule.retry': {...create, ...at('POST', '/schedule/history/{job_id}/retry')},
  'schedule.result': {...read, ...at('GET', '/schedule/history/{job_id}'), isShort: true},
  /** Jobs and crons, of this API and of functions, in one list, with their outcomes. */
  'schedule.all': {...read, ...at('GET', '/scheduled'), takesQuery: true},
  'schedule.history': {...read, ...at('GET', '/scheduled/history'), takesQuery: true},
  'crons.create': {...create, ...at('POST', '/crons')},
  'crons.list': {...read, ...at('GET', '/crons'), takesQuery: true, isShort: true},
  'crons.get': {...read, ...at('GET', '/crons/{name}'), isShort: true},
  'crons.next': {...read, ...at('GET', '/crons/{name}/next'), takesQuery: true, isShort: true},
  'crons.patch': {...write, ...at('PATCH', '/crons/{name}')},
  'crons.run': {...write, ...at('POST', '/crons/{name}/run')},
  'crons.history': {...read, ...at('GET', '/crons/{name}/history'), takesQuery: true, isShort: true},
  'crons.delete': {...change, ...at('DELETE', '/crons/{name}')},

  'deployments.create': {
    ...create,
    ...at('POST', '/deployments'),
    variants: {dry_run: OK},
    streamedBytesMax: DEPLOYMENT_BYTES_MAX,
    bringsCode: true,
  },
  /**
   * Which of these packages, which modules for Node import and which are not bundled, the server lacks; by the SHA-512
   * of their tarballs.
   */
  'packages.missing': {...read, ...at('POST', '/packages/missing')},
  'packages.put': {...change, ...at('PUT', '/packages/{sha512}'), streamedBytesMax: PACKAGE_BYTES_MAX},
  /** The steps of deploys that are not answered yet. */
  'deployments.progress': {...read, ...at('GET', '/deployments/progress'), isShort: true, isAtOnce: true},
  'deployments.list': {...read, ...at('GET', '/deployments'), isShort: true},
  'deployments.files': {...read, ...at('GET', '/deployments/{deployment_id}/files')},
  'deployments.file': {...read, ...at('GET', '/deployments/{deployment_id}/files/{file_path}'), takesQuery: true},
  /** What differs from the first to the second. */
  'deployments.diff': {...read, ...at('GET', '/deployments/{deployment_id}/diff/{other_id}')},
  /** What the next operation would do now. */
  'deployments.preview': {...read, ...at('GET', '/deployments/{deployment_id}/preview')},
  'deployments.activate': {...write, ...at('POST', '/deployments/{deployment_id}/activate'), bringsCode: true},
  'functions.list': {...read, ...at('GET', '/functions'), isShort: true},
  /** The result of a query as events, now and after each change. */
  'functions.watch': {
    ...read,
    ...at('POST', '/functions/watch'),
    takesQuery: true,
    isEndless: true,
    runsUserCode: true,
  },
  'functions.run': {...write, ...at('POST', '/functions/run'), runsUserCode: true},
  'env.list': {...read, ...at('GET', '/env'), isShort: true},
  'env.get': {...read, ...at('GET', '/env/{name}'), isShort: true},
  'env.set': {...change, ...at('PUT', '/env/{name}')},
  'env.delete': {...change, ...at('DELETE', '/env/{name}')},
  'logs.read': {...read, ...at('GET', '/logs'), takesQuery: true, isAtOnce: true, isEndless: true},
  'settings.get': {...read, ...at('GET', '/settings'), isShort: true},
  'settings.put': {...change, ...at('PUT', '/settings')},
  'limits.get': {...read, ...at('GET', '/limits')},
  'auth.get': {...read, ...at('GET', '/auth'), isShort: true},
  /** The token is in the body only; nothing of it is stored. */
  'auth.check': {...read, ...at('POST', '/auth/check')},
  'tables.list': {...read, ...at('GET', '/tables')},

  'services.create': {...create, ...at('POST', '/services')},
  'services.list': {...read, ...at('GET', '/services')},
  'services.get': {...read, ...at('GET', '/services/{service_name}')},
  'services.update': {...write, ...at('PUT', '/services/{service_name}')},
  'services.delete': {...change, ...at('DELETE', '/services/{service_name}')},
  'services.start': {...write, ...at('POST', '/services/{service_name}/start')},
  'services.stop': {...write, ...at('POST', '/services/{service_name}/stop')},
  'services.restart': {...write, ...at('POST', '/services/{service_name}/restart')},
  'services.logs': {
    ...read,
    ...at('GET', '/services/{service_name}/logs'),
    takesQuery: true,
    isAtOnce: true,
    isEndless: true,
  },
  'sandboxes.create': {...create, ...at('POST', '/sandboxes')},
  'sandboxes.list': {...read, ...at('GET', '/sandboxes')},
  'sandboxes.get': {...read, ...at('GET', '/sandboxes/{sandbox_id}')},
  'sandboxes.stop': {...write, ...at('POST', '/sandboxes/{sandbox_id}/stop')},
  'sandboxes.execute': {...write, ...at('POST', '/sandboxes/{sandbox_id}/execute')},
  'sessions.create': {...create, of: 'session', tenantIn: 'body', ...at('POST', '')},
  'sessions.list': {...read, of: 'session', tenantIn: 'query', ...at('GET', ''), takesQuery: true},
  'sessions.get': {kind: 'read', ...session, ...at('GET', '/{session_id}')},
  'sessions.close': {kind: 'write', ...session, ...at('POST', '/{session_id}/close')},
  'sessions.execute': {kind: 'write', ...session, ...at('POST', '/{session_id}/execute')},

  'functions.query': {
    kind: 'read',
    ...endpoint,
    ...at('POST', '/query'),
    isAtOnce: true,
    isCacheable: true,
    runsUserCode: true,
  },
  'functions.paginated': {
    kind: 'read',
    ...endpoint,
    ...at('POST', '/query/paginated'),
    isAtOnce: true,
    isCacheable: true,
    runsUserCode: true,
  },
  'functions.mutation': {kind: 'write', ...endpoint, ...at('POST', '/mutation'), runsUserCode: true},
  'functions.action': {kind: 'write', ...endpoint, ...at('POST', '/action'), runsUserCode: true},
  'functions.schedule': {
    kind: 'write',
    ...endpoint,
    routes: [
      {method: 'POST', path: '/schedule/run_after', parameter: 'run_after'},
      {method: 'POST', path: '/schedule/run_at', parameter: 'run_at'},
    ],
    params: ['how'],
  },
  'functions.unschedule': {kind: 'write', ...endpoint, success: NO_CONTENT, ...at('DELETE', '/schedule/{job_id}')},
  /** The app makes the answers, with its own statuses. */
  'functions.http': {
    kind: 'write',
    of: 'deployment',
    success: OK,
    routes: [
      {method: '*', path: '/http', parameter: '/'},
      {method: '*', path: '/http/{*path}'},
    ],
    params: ['path'],
    runsUserCode: true,
    streamedBytesMax: HTTP_ACTION_BODY_BYTES_MAX,
  },
  /** Preflights of browsers, on the paths of every operation with CORS. */
  'functions.preflight': {
    kind: 'read',
    of: 'deployment',
    success: NO_CONTENT,
    routes: none,
    params: none,
    isShort: true,
    isAtOnce: true,
  },
} as const satisfies Record<string, OperationTraits>;

export type Operation = keyof typeof OPERATIONS;

export type RouterOperationTraits = {
  readonly method: string;
  /** As in OperationRoute, from the root. */
  readonly path: string;
  /**
   * `open`: to everyone. `session`: to those who are signed in to the dashboard. `deployment`: to the tenant's own users,
   * whose tokens the worker verifies.
   */
  readonly access: 'open' | 'admin' | 'session' | 'deployment';
  readonly success: number;
  /** As in an operation's row. */
  readonly variants?: Readonly<Record<string, number>>;
};

const shipped = {method: 'GET', access: 'open', success: OK, variants: {not_modified: NOT_MODIFIED}} as const;

/** The operations that a router answers itself. */
export const ROUTER_OPERATIONS = {
  health: {method: 'GET', path: '/health', access: 'open', success: OK},
  metrics: {method: 'GET', path: '/metrics', access: 'admin', success: OK},
  /** Files from svc's build: they reveal nothing about what a server holds. */
  openapi: {...shipped, path: '/api/openapi.json'},
  'docs.page': {...shipped, path: '/api/docs'},
  'docs.file': {...shipped, path: '/api/docs/{file}'},
  socket: {method: 'GET', path: '/ws', access: 'admin', success: SWITCHING_PROTOCOLS},
  'functions.socket': {method: 'GET', path: '/svc/{tenant_id}/ws', access: 'deployment', success: SWITCHING_PROTOCOLS},
  'tenants.create': {method: 'POST', path: '/api/tenants', access: 'admin', success: CREATED},
  'tenants.list': {method: 'GET', path: '/api/tenants', access: 'admin', success: OK},
  'tenants.delete': {method: 'DELETE', path: '/api/tenants/{tenant_id}', access: 'admin', success: NO_CONTENT},
  /** Not below /api/tenants, where every name is a tenant's. */
  'tenants.overview': {method: 'GET', path: '/api/overview/tenants', access: 'admin', success: OK},
  'tenants.status': {method: 'GET', path: '/api/tenants/{tenant_id}/status', access: 'admin', success: OK},
  'server.status': {method: 'GET', path: '/api/server', access: 'admin', success: OK},
  'backup.status': {method: 'GET', path: '/api/backup', access: 'admin', success: OK},
  /** Copies everything now. */
  'backup.run': {method: 'POST', path: '/api/backup/run', access: 'admin', success: OK},
  /** Begins a drill; the state of the backups shows how far it is. */
  'backup.drill': {method: 'POST', path: '/api/backup/drill', access: 'admin', success: ACCEPTED},
  /** Makes a tenant of the copy of one. */
  'tenants.restore': {method: 'POST', path: '/api/tenants/{tenant_id}/restore', access: 'admin', success: CREATED},
  /** What can be restored. */
  'backup.points': {method: 'GET', path: '/api/tenants/{tenant_id}/backup', access: 'admin', success: OK},
  'upgrade.status': {method: 'GET', path: '/api/upgrade', access: 'admin', success: OK},
  'upgrade.start': {method: 'POST', path: '/api/upgrade', access: 'admin', success: OK},
  /** Hosts, and which of them owns which tenant. */
  'cluster.status': {method: 'GET', path: '/api/cluster', access: 'admin', success: OK},
  'cluster.members': {method: 'GET', path: '/api/cluster/members', access: 'admin', success: OK},
  'cluster.move': {method: 'POST', path: '/api/cluster/move', access: 'admin', success: OK},
  'cluster.pin': {method: 'POST', path: '/api/cluster/pin', access: 'admin', success: OK},
  /** Begins to hand over what a host has; the state of the cluster shows how far it is. */
  'cluster.drain': {method: 'POST', path: '/api/cluster/drain', access: 'admin', success: ACCEPTED},
  'figures.server': {method: 'GET', path: '/api/figures', access: 'admin', success: OK},
  'figures.tenant': {method: 'GET', path: '/api/tenants/{tenant_id}/figures', access: 'admin', success: OK},
  'figures.functions': {
    method: 'GET',
    path: '/api/tenants/{tenant_id}/functions/figures',
    access: 'admin',
    success: OK,
  },
  'tenants.wake': {method: 'POST', path: '/api/tenants/{tenant_id}/wake', access: 'admin', success: OK},
  'tenants.sleep': {method: 'POST', path: '/api/tenants/{tenant_id}/sleep', access: 'admin', success: OK},
  'tenants.pause': {method: 'POST', path: '/api/tenants/{tenant_id}/pause', access: 'admin', success: OK},
  'tenants.resume': {method: 'POST', path: '/api/tenants/{tenant_id}/resume', access: 'admin', success: OK},
  /** Makes a tenant that is a copy of this one. */
  'tenants.clone': {method: 'POST', path: '/api/tenants/{tenant_id}/clone', access: 'admin', success: CREATED},
  /** The body is the file of a tenant: one is made of it, or replaced. */
  'tenants.import': {method: 'PUT', path: '/api/tenants/{tenant_id}/file', access: 'admin', success: CREATED},
  'audit.page': {method: 'GET', path: '/api/audit', access: 'admin', success: OK},
  'audit.refusals': {method: 'GET', path: '/api/audit/refusals', access: 'admin', success: OK},
  whoami: {method: 'GET', path: '/api/whoami', access: 'admin', success: OK},
  'keys.create': {method: 'POST', path: '/api/keys', access: 'admin', success: CREATED},
  'keys.list': {method: 'GET', path: '/api/keys', access: 'admin', success: OK},
  'keys.get': {method: 'GET', path: '/api/keys/{key_id}', access: 'admin', success: OK},
  'keys.rotate': {method: 'POST', path: '/api/keys/{key_id}/rotate', access: 'admin', success: OK},
  'keys.revoke': {method: 'DELETE', path: '/api/keys/{key_id}', access: 'admin', success: NO_CONTENT},
  /** A one-time link to the dashboard, and the sessions of those who are signed in there. */
  'dashboard.code': {method: 'POST', path: '/api/dashboard/codes', access: 'admin', success: CREATED},
  'dashboard.sessions': {method: 'GET', path: '/api/dashboard/sessions', access: 'admin', success: OK},
  'dashboard.end_all': {method: 'DELETE', path: '/api/dashboard/sessions', access: 'admin', success: NO_CONTENT},
  'dashboard.end': {
    method: 'DELETE',
    path: '/api/dashboard/sessions/{session_id}',
    access: 'admin',
    success: NO_CONTENT,
  },
} as const satisfies Record<string, RouterOperationTraits>;

export type RouterOperation = keyof typeof ROUTER_OPERATIONS;

/**
 * The operations that only the dashboard's own origin has, because their credential is its cookie. They are not part of
 * the API: everything else that a page does is an operation of the other tables.
 */
export const DASHBOARD_OPERATIONS = {
  'dashboard.sign_in': {method: 'POST', path: '/_dashboard/session', access: 'open', success: OK},
  'dashboard.session': {method: 'GET', path: '/_dashboard/session', access: 'session', success: OK},
  /** The address of an export for a link, which cannot send the header that calls of the dashboard need. */
  'dashboard.download': {method: 'POST', path: '/_dashboard/downloads', access: 'session', success: OK},
  'dashboard.sign_out': {method: 'DELETE', path: '/_dashboard/session', access: 'session', success: NO_CONTENT},
} as const satisfies Record<string, RouterOperationTraits>;

export type DashboardOperation = keyof typeof DASHBOARD_OPERATIONS;

/** Everything that a router answers itself. */
export const OWN_OPERATIONS = {...ROUTER_OPERATIONS, ...DASHBOARD_OPERATIONS};

export function traitsOf(operation: Operation): OperationTraits {
  return OPERATIONS[operation];
}

for (const [operation, {routes, params}] of Object.entries<OperationTraits>(OPERATIONS)) {
  for (const {path, parameter} of routes) {
    const expected = parameter === undefined ? namesIn(path) : params;
    assert(
      expected.join() === params.join() && (parameter === undefined || params.length === 1),
      `the parameters of ${operation} are those of ${path}`,
    );
  }
}
