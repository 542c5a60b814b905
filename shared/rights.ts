/**
 * What it takes to ask for an operation: THE table of rights, beside that of the operations and as complete, because an operation
 * without a row here is not compiled. Keys are judged by it and by nothing else: scopes, tenants and tables in the router
 * (`router/auth/rights.ts`), what only a body tells in the worker (`worker/body-rights.ts`). What the audit log has a record of
 * is said here, too.
 *
 * An operation needs the scopes of all that it does: what contains another operation needs that one's as well. `schedule` is about when
 * something is done; what is done then needs the scope that doing it now would.
 */
import type {Operation, RouterOperation} from './operations.ts';

/** Each opens the operations that name it; the two admin credentials hold them all. */
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

/** What says which tables an operation reads or writes: a key that is limited to tables is judged by it. */
export type TableRule =
  /** It touches no documents, and tells of none. */
  | 'none'
  /** Nothing in the request: the operation is refused to such a key. */
  | 'unknown'
  /** The path's parameter `table`. */
  | 'path'
  /** This parameter of the query string, names between commas; without it the operation is refused to such a key. */
  | {readonly query: string}
  | BodyTables;

/** Members of the JSON body, judged by the worker. */
export type BodyTables = {
  /** The member with an array of objects that name tables. Absent: the body itself is the only one. */
  readonly each?: string;
  /** Where an object may name one, steps between dots. At least one of them must be there, and all that are count. */
  readonly at: readonly string[];
};

/** A scope that some bodies need beside those of their operation, judged by the worker. */
export type BodyScope = {
  readonly scope: Scope;
  /** The member with an array of objects of which each is looked at. Absent: the body itself is the only one. */
  readonly each?: string;
  /** It is needed where this member is there, and has this value if one is named. */
  readonly at: string;
  readonly is?: string;
};

export type Rights = {
  /** All of them are needed. None: any key. */
  readonly scopes: readonly Scope[];
  readonly bodyScope?: BodyScope;
  readonly tables: TableRule;
  /**
   * `tenant`: the one that its path, its body or a header names. `service`: all of them, so it is refused to a key that is limited to
   * tenants. `caller`: what the key itself may see.
   */
  readonly concerns: 'tenant' | 'service' | 'caller';
  /** It is an operator's action, of which the audit log has a record. */
  readonly isAudited: boolean;
  /** The member of the JSON body that names what an audited action is done to, where the path does not. */
  readonly subject?: string;
};

/** Of one tenant. */
function needs(scopes: Scope | readonly Scope[] | null, tables: TableRule): Rights {
  return {scopes: scopes === null ? [] : [scopes].flat(), tables, concerns: 'tenant', isAudited: false};
}

/** An operator's action on one tenant. */
function action(scopes: Scope | readonly Scope[], tables: TableRule): Rights {
  return {...needs(scopes, tables), isAudited: true};
}

export const RIGHTS: Readonly<Record<Operation | RouterOperation, Rights>> = {
  health: {...needs(null, 'none'), concerns: 'caller'},
  metrics: {...needs('metrics', 'none'), concerns: 'service'},
  openapi: {...needs(null, 'none'), concerns: 'caller'},
  'docs.page': {...needs(null, 'none'), concerns: 'caller'},
  'docs.file': {...needs(null, 'none'), concerns: 'caller'},
  /** Tables are judged with each subscription. */
  socket: needs('data:read', 'none'),
  'functions.socket': needs(null, 'none'),
  'tenants.create': {...action('tenants', 'none'), subject: 'id'},
  'tenants.list': {...needs(null, 'none'), concerns: 'caller'},
  'tenants.delete': action('tenants', 'unknown'),
  'audit.page': {...needs('audit', 'none'), concerns: 'service'},
  whoami: {...needs(null, 'none'), concerns: 'caller'},
  /** A key sees, makes and ends those that may do no more than itself. */
  'keys.create': {...action('keys', 'none'), concerns: 'caller', subject: 'name'},
  'keys.list': {...needs('keys', 'none'), concerns: 'caller'},
  'keys.get': {...needs('keys', 'none'), concerns: 'caller'},
  'keys.rotate': {...action('keys', 'none'), concerns: 'caller'},
  'keys.revoke': {...action('keys', 'none'), concerns: 'caller'},

  'documents.insert': needs('data:write', {at: ['table']}),
  'documents.list': needs('data:read', 'path'),
  'documents.get': needs('data:read', 'path'),
  'documents.put': needs('data:write', 'path'),
  'documents.patch': needs('data:write', 'path'),
  'documents.delete': needs('data:write', 'path'),
  'documents.upsert': needs('data:write', {at: ['table']}),
  'transactions.run': {
    ...needs('data:write', {each: 'operations', at: ['table', 'mutation.table']}),
    bodyScope: {scope: 'schedule', each: 'operations', at: 'type', is: 'schedule'},
  },
  'imports.run': needs('data:write', {query: 'table'}),
  'exports.run': needs('data:read', {query: 'table'}),
  'tasks.create': needs('data:write', {at: ['query.table']}),
  /** Documents and their schema go. */
  'tables.drop': action(['schema', 'data:write'], 'path'),
  'tasks.list': needs('data:read', 'unknown'),
  'tasks.get': needs('data:read', 'unknown'),
  'tasks.cancel': needs('data:write', 'unknown'),
  'imports.list': needs('data:read', 'unknown'),
  'imports.get': needs('data:read', 'unknown'),
  'query.run': needs('data:read', {at: ['table']}),
  'query.paginated': needs('data:read', {at: ['query.table']}),
  'query.count': needs('data:read', {at: ['table']}),
  'query.batch': needs('data:read', {each: 'queries', at: ['table']}),
  'query.stream': needs('data:read', {at: ['table']}),
  'query.follow': needs('data:read', 'unknown'),
  'journal.page': needs('data:read', 'unknown'),
  /** Records come whole, with what they wrote to other tables than those asked for. */
  'journal.stream': needs('data:read', 'unknown'),
  'journal.bootstrap': needs('data:read', 'unknown'),
  'schema.all': needs('schema', 'unknown'),
  'schema.get': needs('schema', 'path'),
  'schema.put': action('schema', 'path'),
  'schema.delete': action('schema', 'path'),
  'schedule.create': needs(['schedule', 'data:write'], {at: ['mutation.table']}),
  'schedule.list': needs('schedule', 'unknown'),
  'schedule.get': needs('schedule', 'unknown'),
  'schedule.cancel': needs('schedule', 'unknown'),
  'schedule.result': needs('schedule', 'unknown'),
  'schedule.all': needs('schedule', 'unknown'),
  'schedule.history': needs('schedule', 'unknown'),
  'crons.create': needs(['schedule', 'data:write'], {at: ['mutation.table']}),
  'crons.list': needs('schedule', 'unknown'),
  'crons.get': needs('schedule', 'unknown'),
  'crons.patch': {...needs('schedule', 'unknown'), bodyScope: {scope: 'data:write', at: 'mutation'}},
  'crons.run': needs('schedule', 'unknown'),
  'crons.history': needs('schedule', 'unknown'),
  'crons.delete': needs('schedule', 'unknown'),

  'deployments.create': action('deploy', 'unknown'),
  'packages.missing': needs('deploy', 'unknown'),
  'packages.put': needs('deploy', 'unknown'),
  'deployments.progress': needs('deploy', 'unknown'),
  'deployments.list': needs('deploy', 'unknown'),
  'deployments.activate': action('deploy', 'unknown'),
  'functions.list': needs('functions:run', 'unknown'),
  'functions.run': needs('functions:run', 'unknown'),
  'env.list': needs('env', 'none'),
  'env.get': needs('env', 'none'),
  'env.set': action('env', 'none'),
  'env.delete': action('env', 'none'),
  'logs.read': needs('logs', 'unknown'),
  'settings.get': needs('settings', 'none'),
  'settings.put': action('settings', 'none'),
  'tables.list': needs('data:read', 'unknown'),

  'services.create': {...action('services', 'unknown'), subject: 'name'},
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
  'sandboxes.execute': needs('sandboxes', 'unknown'),
  'sessions.create': action('sandboxes', 'unknown'),
  'sessions.list': needs('sandboxes', 'unknown'),
  'sessions.get': needs('sandboxes', 'unknown'),
  'sessions.close': action('sandboxes', 'unknown'),
  'sessions.execute': needs('sandboxes', 'unknown'),

  /** Of a key that is shown beside a user's token, or in the place of one. */
  'functions.query': needs('functions:run', 'unknown'),
  'functions.paginated': needs('functions:run', 'unknown'),
  'functions.mutation': needs('functions:run', 'unknown'),
  'functions.action': needs('functions:run', 'unknown'),
  'functions.schedule': needs(['functions:run', 'schedule'], 'unknown'),
  'functions.unschedule': needs('schedule', 'unknown'),
  'functions.http': needs('functions:run', 'unknown'),
  'functions.preflight': needs(null, 'none'),
};
