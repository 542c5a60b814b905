/**
 * THE table of the rights that operations require, parallel to the table of operations and as complete: an operation
 * without a row here does not compile. Keys are checked by it and by nothing else: scopes, tenants and tables in the
 * router (`router/auth/rights.ts`), rights that depend on the body in the worker (`worker/api/body-rights.ts`). It also
 * says which operations the audit log records.
 *
 * An operation requires the scopes of all its effects: one that contains another operation requires that one's as well.
 * `schedule` only covers when something is done; the work itself requires the scope that doing it now would.
 */
import type {
  DASHBOARD_OPERATIONS,
  DashboardOperation,
  OPERATIONS,
  Operation,
  ROUTER_OPERATIONS,
  RouterOperation,
} from './operations.ts';

/** Each allows the operations that name it; the two admin credentials hold them all. */
export const SCOPES = [
  'data:read',
  'data:write',
  'schema',
  'schedule',
  'deploy',
  'functions:run',
  'env',
  'settings',
  'logs',
  'services',
  'sandboxes',
  'tenants',
  'keys',
  'audit',
  'metrics',
] as const;
export type Scope = (typeof SCOPES)[number];

/** How to find the tables that an operation reads or writes, for keys that are limited to tables. */
export type TableRule =
  /** It touches no documents, and reveals none. */
  | 'none'
  /** The request does not say: such a key is refused the operation. */
  | 'unknown'
  /** The path's parameter `table`. */
  | 'path'
  /** This parameter of the query string, names separated by commas; without it such a key is refused the operation. */
  | {readonly query: string}
  | BodyTables;

/** Members of the JSON body, checked by the worker. */
export type BodyTables = {
  /** The member with an array of objects that name tables. Absent: the body itself is the only object. */
  readonly each?: string;
  /**
   * Paths of the members that can name a table, steps separated by dots. At least one must be present, and all present
   * ones count.
   */
  readonly at: readonly string[];
  /** The path's parameter `table` counts as well. */
  readonly path?: true;
};

/** A scope that some bodies require in addition to those of their operation, checked by the worker. */
export type BodyScope = {
  readonly scope: Scope;
  /** The member with an array of objects, each of which is checked. Absent: the body itself is the only object. */
  readonly each?: string;
  /** It is required if this member is present, with this value if one is given. */
  readonly at: string;
  readonly is?: string;
};

/** A scope that an operation needs in addition when this parameter of the query string has this value. */
export type QueryScope = {readonly scope: Scope; readonly parameter: string; readonly is: string};

export type Rights = {
  /** All of them are required. Empty: any key will do. */
  readonly scopes: readonly Scope[];
  readonly bodyScope?: BodyScope;
  readonly queryScope?: QueryScope;
  readonly tables: TableRule;
  /**
   * `tenant`: the one that its path, its body or a header names. `service`: all tenants, so a key that is limited to
   * tenants is refused it. `caller`: only what the key itself can see.
   */
  readonly concerns: 'tenant' | 'service' | 'caller';
  /** Where its effects are recorded; null: it changes nothing. */
  readonly trace: Trace | null;
  /**
   * If the path does not name the object of an audited action: the members of the JSON body that do, steps separated by
   * dots.
   */
  readonly subject?: readonly string[];
  /** The same for parameters of the query string. */
  readonly querySubject?: readonly string[];
};

/**
 * Every change is recorded in at least one place. An operator's action is a change that is not recorded document by
 * document: lasting changes (settings, code, crons, services, keys), and changes of more than the request names
 * (imports, tasks).
 *
 *   audit        an operator's action: who, from where, what, how it was answered
 *   journal      documents that it names, now or in a job: the tenant's journal has each
 *   logs         it runs code: the code's own logs and history
 *   deployments  it is part of a deployment, whose record names it
 */
export type Trace = 'audit' | 'journal' | 'logs' | 'deployments';
type Traced = Rights & {readonly trace: Trace};

type Scopes = Scope | readonly Scope[] | null;

/** Reads from one tenant. */
function needs(scopes: Scopes, tables: TableRule): Rights {
  return {scopes: scopes === null ? [] : [scopes].flat(), tables, concerns: 'tenant', trace: null};
}

/** An operator's action on one tenant. */
function action(scopes: Scopes, tables: TableRule): Traced {
  return {...needs(scopes, tables), trace: 'audit'};
}

/** Writes named documents of one tenant. */
function writes(scopes: Scopes, tables: TableRule): Traced {
  return {...needs(scopes, tables), trace: 'journal'};
}

/** Runs code of one tenant. */
function runs(scopes: Scopes): Traced {
  return {...needs(scopes, 'unknown'), trace: 'logs'};
}

/** An operation that changes something does not compile without saying where that is recorded. */
type Complete = {
  readonly [O in Operation]: (typeof OPERATIONS)[O]['kind'] extends 'write' ? Traced : Rights;
} & {
  readonly [O in RouterOperation]: (typeof ROUTER_OPERATIONS)[O]['method'] extends 'GET' ? Rights : Traced;
} & {
  readonly [O in DashboardOperation]: (typeof DASHBOARD_OPERATIONS)[O]['method'] extends 'GET' ? Rights : Traced;
};

export const RIGHTS: Complete = {
  health: {...needs(null, 'none'), concerns: 'caller'},
  metrics: {...needs('metrics', 'none'), concerns: 'service'},
  openapi: {...needs(null, 'none'), concerns: 'caller'},
  'docs.page': {...needs(null, 'none'), concerns: 'caller'},
  'docs.file': {...needs(null, 'none'), concerns: 'caller'},
  /** Tables are checked at each subscription. */
  socket: needs('data:read', 'none'),
  'functions.socket': needs(null, 'none'),
  'tenants.create': {...action('tenants', 'none'), subject: ['id']},
  'tenants.list': {...needs(null, 'none'), concerns: 'caller'},
  'tenants.delete': action('tenants', 'unknown'),
  'tenants.overview': {...needs(null, 'none'), concerns: 'caller'},
  'tenants.status': needs(null, 'none'),
  'server.status': {...needs('metrics', 'none'), concerns: 'service'},
  'backup.status': {...needs('metrics', 'none'), concerns: 'service'},
  'backup.run': {...action('tenants', 'none'), concerns: 'service'},
  'backup.drill': {...action('tenants', 'none'), concerns: 'service'},
  /** A copy has everything of its tenant: code, variables, settings, documents. */
  'tenants.restore': {...action(SCOPES, 'unknown'), querySubject: ['as', 'replace', 'live', 'to_time', 'to_sequence']},
  'backup.points': needs('tenants', 'none'),
  'upgrade.status': {...needs('metrics', 'none'), concerns: 'service'},
  'upgrade.start': {...action('tenants', 'none'), concerns: 'service'},
  'cluster.status': {...needs('metrics', 'none'), concerns: 'service'},
  'cluster.members': {...needs('metrics', 'none'), concerns: 'service'},
  'cluster.move': {...action('tenants', 'none'), concerns: 'service', subject: ['tenant', 'host']},
  'cluster.pin': {...action('tenants', 'none'), concerns: 'service', subject: ['tenant', 'host']},
  'cluster.drain': {...action('tenants', 'none'), concerns: 'service', subject: ['host']},
  'figures.server': {...needs('metrics', 'none'), concerns: 'service'},
  'figures.tenant': needs(null, 'none'),
  'figures.functions': needs('logs', 'unknown'),
  'tenants.wake': action('tenants', 'none'),
  'tenants.sleep': action('tenants', 'none'),
  'tenants.pause': action('tenants', 'none'),
  /** A file has everything of its tenant: code, variables, settings, documents. */
  'tenants.import': {...action(SCOPES, 'unknown'), querySubject: ['replace', 'live']},
  'tenants.clone': {...action(SCOPES, 'unknown'), querySubject: ['as', 'live']},
  'tenants.resume': action('tenants', 'none'),
  'audit.page': {...needs('audit', 'none'), concerns: 'service'},
  'audit.refusals': {...needs('audit', 'none'), concerns: 'service'},
  whoami: {...needs(null, 'none'), concerns: 'caller'},
  /** A key sees, creates and revokes keys with no more rights than its own. */
  'keys.create': {...action('keys', 'none'), concerns: 'caller', subject: ['name']},
  'keys.list': {...needs('keys', 'none'), concerns: 'caller'},
  'keys.get': {...needs('keys', 'none'), concerns: 'caller'},
  'keys.rotate': {...action('keys', 'none'), concerns: 'caller'},
  'keys.revoke': {...action('keys', 'none'), concerns: 'caller'},
  /** Of the caller's own credential; an admin credential sees and ends all. */
  'dashboard.code': {...action(null, 'none'), concerns: 'caller'},
  'dashboard.sessions': {...needs(null, 'none'), concerns: 'caller'},
  'dashboard.end_all': {...action(null, 'none'), concerns: 'caller'},
  'dashboard.end': {...action(null, 'none'), concerns: 'caller'},
  'dashboard.sign_in': {...action(null, 'none'), concerns: 'caller'},
  'dashboard.session': {...needs(null, 'none'), concerns: 'caller'},
  'dashboard.download': {...action(null, 'none'), concerns: 'caller', subject: ['path']},
  'dashboard.sign_out': {...action(null, 'none'), concerns: 'caller'},

  'documents.insert': writes('data:write', {at: ['table']}),
  'documents.list': needs('data:read', 'path'),
  'documents.get': needs('data:read', 'path'),
  'documents.put': writes('data:write', 'path'),
  'documents.patch': writes('data:write', 'path'),
  'documents.delete': writes('data:write', 'path'),
  'documents.upsert': writes('data:write', {at: ['table']}),
  'transactions.run': {
    ...writes('data:write', {each: 'operations', at: ['table', 'mutation.table']}),
    bodyScope: {scope: 'schedule', each: 'operations', at: 'type', is: 'schedule'},
  },
  /** A restore can bring schemas. */
  'imports.run': {
    ...action('data:write', {query: 'table'}),
    querySubject: ['table', 'import_id'],
    queryScope: {scope: 'schema', parameter: 'mode', is: 'restore'},
  },
  'exports.run': {
    ...needs('data:read', {query: 'table'}),
    queryScope: {scope: 'schema', parameter: 'for', is: 'restore'},
  },
  'exports.file': needs(SCOPES, 'unknown'),
  /** Deletes documents and their schema. */
  'tables.drop': action(['schema', 'data:write'], 'path'),
  /** Other keys can be allowed to read the table under its new name. */
  'tables.rename': {...action(['schema', 'data:write'], {at: ['to'], path: true}), subject: ['to']},
  'tasks.create': {...action('data:write', {at: ['query.table']}), subject: ['type', 'query.table']},
  'tasks.list': needs('data:read', 'unknown'),
  'tasks.get': needs('data:read', 'unknown'),
  'tasks.cancel': action('data:write', 'unknown'),
  'imports.list': needs('data:read', 'unknown'),
  'imports.get': needs('data:read', 'unknown'),
  'query.run': needs('data:read', {at: ['table']}),
  'query.paginated': needs('data:read', {at: ['query.table']}),
  'query.count': needs('data:read', {at: ['table']}),
  'query.batch': needs('data:read', {each: 'queries', at: ['table']}),
  'query.stream': needs('data:read', {at: ['table']}),
  'query.follow': needs('data:read', 'unknown'),
  /** Queries, arguments and key ranges have values of any table. */
  'live_queries.list': needs('data:read', 'unknown'),
  'live_queries.get': needs('data:read', 'unknown'),
  'journal.page': needs('data:read', 'unknown'),
  'journal.counts': needs('data:read', 'unknown'),
  /** Records are complete, including writes to tables other than those requested. */
  'journal.stream': needs('data:read', 'unknown'),
  'journal.bootstrap': needs('data:read', 'unknown'),
  'schema.all': needs('schema', 'unknown'),
  'schema.indexes': needs('schema', 'unknown'),
  'schema.get': needs('schema', 'path'),
  'schema.put': action('schema', 'path'),
  'schema.delete': action('schema', 'path'),
  'schedule.create': writes(['schedule', 'data:write'], {at: ['mutation.table']}),
  'schedule.list': needs('schedule', 'unknown'),
  'schedule.get': needs('schedule', 'unknown'),
  'schedule.cancel': writes('schedule', 'unknown'),
  /** The request does not say what the work is. */
  'schedule.retry': writes(['schedule', 'data:write', 'functions:run'], 'unknown'),
  'schedule.result': needs('schedule', 'unknown'),
  'schedule.all': needs('schedule', 'unknown'),
  'schedule.history': needs('schedule', 'unknown'),
  'crons.create': {...action(['schedule', 'data:write'], {at: ['mutation.table']}), subject: ['name']},
  'crons.list': needs('schedule', 'unknown'),
  'crons.get': needs('schedule', 'unknown'),
  'crons.next': needs('schedule', 'unknown'),
  'crons.patch': {...action('schedule', 'unknown'), bodyScope: {scope: 'data:write', at: 'mutation'}},
  'crons.run': action('schedule', 'unknown'),
  'crons.history': needs('schedule', 'unknown'),
  'crons.delete': action('schedule', 'unknown'),

  'deployments.create': action('deploy', 'unknown'),
  'packages.missing': needs('deploy', 'unknown'),
  'packages.put': {...needs('deploy', 'unknown'), trace: 'deployments'},
  'deployments.progress': needs('deploy', 'unknown'),
  'deployments.list': needs('deploy', 'unknown'),
  'deployments.files': needs('deploy', 'unknown'),
  'deployments.file': needs('deploy', 'unknown'),
  'deployments.diff': needs('deploy', 'unknown'),
  'deployments.preview': needs('deploy', 'unknown'),
  'deployments.activate': action('deploy', 'unknown'),
  'functions.list': needs('functions:run', 'unknown'),
  'functions.run': runs('functions:run'),
  'functions.watch': needs('functions:run', 'unknown'),
  'env.list': needs('env', 'none'),
  'env.get': needs('env', 'none'),
  'env.set': action('env', 'none'),
  'env.delete': action('env', 'none'),
  'logs.read': needs('logs', 'unknown'),
  'limits.get': needs(null, 'none'),
  'auth.get': needs('settings', 'none'),
  'auth.check': needs('settings', 'none'),
  'settings.get': needs('settings', 'none'),
  'settings.put': action('settings', 'none'),
  'tables.list': needs('data:read', 'unknown'),

  'services.create': {...action('services', 'unknown'), subject: ['name']},
  'services.list': needs('services', 'unknown'),
  'services.get': needs('services', 'unknown'),
  'services.update': action('services', 'unknown'),
  'services.delete': action('services', 'unknown'),
  'services.start': action('services', 'unknown'),
  'services.stop': action('services', 'unknown'),
  'services.restart': action('services', 'unknown'),
  'services.logs': needs('services', 'unknown'),
  'sandboxes.create': action('sandboxes', 'unknown'),
  'sandboxes.list': needs('sandboxes', 'unknown'),
  'sandboxes.get': needs('sandboxes', 'unknown'),
  'sandboxes.stop': action('sandboxes', 'unknown'),
  'sandboxes.execute': runs('sandboxes'),
  'sessions.create': action('sandboxes', 'unknown'),
  'sessions.list': needs('sandboxes', 'unknown'),
  'sessions.get': needs('sandboxes', 'unknown'),
  'sessions.close': action('sandboxes', 'unknown'),
  'sessions.execute': runs('sandboxes'),

  /** For a key that is sent in addition to a user's token, or instead of one. */
  'functions.query': runs('functions:run'),
  'functions.paginated': runs('functions:run'),
  'functions.mutation': runs('functions:run'),
  'functions.action': runs('functions:run'),
  'functions.schedule': writes(['functions:run', 'schedule'], 'unknown'),
  'functions.unschedule': writes('schedule', 'unknown'),
  'functions.http': runs('functions:run'),
  'functions.preflight': needs(null, 'none'),
};
