/**
 * THE route table: every method and path, who may call it, and who answers. A row names either an operation, which the
 * tenant's worker answers, or one of the router's own handlers. Nothing else knows paths.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {OPERATIONS, type Operation, SHORT_READS, USER_CALLS} from '../../shared/ipc/operations.ts';
import {DEPLOYMENT_BYTES_MAX, HTTP_ACTION_BODY_BYTES_MAX} from '../../shared/limits.ts';

/** What the router answers itself. */
export type RouterHandler = 'socket' | 'health' | 'metrics' | 'tenants.create' | 'tenants.list' | 'tenants.delete';

export type Route = {
  /** Position in ROUTES: the key of its metrics. */
  readonly index: number;
  /** `*`: any. */
  readonly method: string;
  /** As shown in docs and metrics; `{name}` takes one non-empty segment, `{*name}` the rest of the path as it stands. */
  readonly pattern: string;
  /** `deployment`: a tenant's own users; their bearer token is the worker's to judge. */
  readonly access: 'open' | 'admin' | 'deployment';
  readonly answer: {readonly operation: Operation} | {readonly handler: RouterHandler};
  readonly takesBody: boolean;
  /** The query string is passed on. */
  readonly takesQuery: boolean;
  /** Changes nothing. */
  readonly isRead: boolean;
  /** See SHORT_READS and USER_CALLS. */
  readonly isShort: boolean;
  readonly isUserCall: boolean;
  /** The body goes to the worker while it arrives, up to this length; null: it is collected first. */
  readonly streamedBytesMax: number | null;
  /** The answer has no end of its own: a drain cuts it. */
  readonly isEndless: boolean;
  /** The operation's one parameter, where it is a literal of the path and not a parameter of it. */
  readonly parameter: string | null;
  /** Pages of other origins may call it: CORS, here for the errors that the router answers itself. */
  readonly hasCors: boolean;
};

type Options = {open?: true; query?: true; cors?: true; streamed?: number; endless?: true; parameter?: string};
type Row = [method: string, pattern: string, answers: Operation | RouterHandler, options?: Options];

const TENANT = '/api/tenants/{tenant_id}';
const DEPLOYMENTS = '/svc/';
const DEPLOYMENT = `${DEPLOYMENTS}{tenant_id}`;

/** A function endpoint, with the preflight that browsers ask before they call it. */
function endpoint(method: string, path: string, operation: Operation, parameter?: string): Row[] {
  const pattern = `${DEPLOYMENT}${path}`;
  const options: Options = parameter === undefined ? {cors: true} : {cors: true, parameter};
  return [
    [method, pattern, operation, options],
    ['OPTIONS', pattern, 'functions.preflight', {cors: true}],
  ];
}

const ROWS: Row[] = [
  ['GET', '/health', 'health', {open: true}],
  ['GET', '/metrics', 'metrics'],
  ['GET', '/ws', 'socket'],
  ['POST', '/api/tenants', 'tenants.create'],
  ['GET', '/api/tenants', 'tenants.list'],
  ['DELETE', TENANT, 'tenants.delete'],
  ['POST', `${TENANT}/documents`, 'documents.insert'],
  ['GET', `${TENANT}/documents/{table}`, 'documents.list'],
  ['GET', `${TENANT}/documents/{table}/{document_id}`, 'documents.get'],
  ['PATCH', `${TENANT}/documents/{table}/{document_id}`, 'documents.patch'],
  ['DELETE', `${TENANT}/documents/{table}/{document_id}`, 'documents.delete'],
  ['POST', `${TENANT}/query`, 'query.run'],
  ['POST', `${TENANT}/query/paginated`, 'query.paginated'],
  ['GET', `${TENANT}/journal`, 'journal.page', {query: true}],
  ['GET', `${TENANT}/journal/bootstrap`, 'journal.bootstrap'],
  ['GET', `${TENANT}/schema`, 'schema.all'],
  ['GET', `${TENANT}/schema/{table}`, 'schema.get'],
  ['PUT', `${TENANT}/schema/{table}`, 'schema.put'],
  ['DELETE', `${TENANT}/schema/{table}`, 'schema.delete'],
  ['POST', `${TENANT}/schedule`, 'schedule.create'],
  ['GET', `${TENANT}/schedule`, 'schedule.list', {query: true}],
  ['GET', `${TENANT}/schedule/{job_id}`, 'schedule.get'],
  ['DELETE', `${TENANT}/schedule/{job_id}`, 'schedule.cancel'],
  ['GET', `${TENANT}/schedule/history/{job_id}`, 'schedule.result'],
  ['POST', `${TENANT}/crons`, 'crons.create'],
  ['GET', `${TENANT}/crons`, 'crons.list', {query: true}],
  ['DELETE', `${TENANT}/crons/{name}`, 'crons.delete'],
  ['POST', `${TENANT}/deployments`, 'deployments.create', {streamed: DEPLOYMENT_BYTES_MAX}],
  ['GET', `${TENANT}/deployments`, 'deployments.list'],
  ['POST', `${TENANT}/deployments/{deployment_id}/activate`, 'deployments.activate'],
  ['GET', `${TENANT}/functions`, 'functions.list'],
  ['POST', `${TENANT}/functions/run`, 'functions.run'],
  ['GET', `${TENANT}/env`, 'env.list'],
  ['GET', `${TENANT}/env/{name}`, 'env.get'],
  ['PUT', `${TENANT}/env/{name}`, 'env.set'],
  ['DELETE', `${TENANT}/env/{name}`, 'env.delete'],
  ['GET', `${TENANT}/logs`, 'logs.read', {query: true, endless: true}],
  ['GET', `${TENANT}/settings`, 'settings.get'],
  ['PUT', `${TENANT}/settings`, 'settings.put'],
  ['GET', `${TENANT}/tables`, 'tables.list'],
  ...endpoint('POST', '/query', 'functions.query'),
  ...endpoint('POST', '/query/paginated', 'functions.paginated'),
  ...endpoint('POST', '/mutation', 'functions.mutation'),
  ...endpoint('POST', '/action', 'functions.action'),
  ...endpoint('POST', '/schedule/run_after', 'functions.schedule', 'run_after'),
  ...endpoint('POST', '/schedule/run_at', 'functions.schedule', 'run_at'),
  ...endpoint('DELETE', '/schedule/{job_id}', 'functions.unschedule'),
  ['*', `${DEPLOYMENT}/http`, 'functions.http', {streamed: HTTP_ACTION_BODY_BYTES_MAX, parameter: '/'}],
  ['*', `${DEPLOYMENT}/http/{*path}`, 'functions.http', {streamed: HTTP_ACTION_BODY_BYTES_MAX}],
];

export const ROUTES: readonly Route[] = ROWS.map(([method, pattern, answers, options], index) => ({
  index,
  method,
  pattern,
  access: accessTo(pattern, options),
  answer: isOperation(answers) ? {operation: answers} : {handler: answers},
  takesBody: method === 'POST' || method === 'PUT' || method === 'PATCH',
  takesQuery: options?.query === true,
  isRead: isOperation(answers) && OPERATIONS[answers] === 'read',
  isShort: isOperation(answers) && SHORT_READS.has(answers),
  isUserCall: isOperation(answers) && USER_CALLS.has(answers),
  streamedBytesMax: options?.streamed ?? null,
  isEndless: options?.endless === true,
  parameter: options?.parameter ?? null,
  hasCors: options?.cors === true,
}));

/** One path of the table with all its methods. */
export type PathEntry = {
  readonly methods: ReadonlyMap<string, Route>;
  /** Takes every method that `methods` does not name; null: none does. */
  readonly any: Route | null;
  readonly allow: string;
  readonly hasCors: boolean;
};

type Node = {
  literals: Map<string, Node>;
  parameter: Node | null;
  /** Takes the rest of the path. */
  rest: Node | null;
  methods: Map<string, Route>;
  entry: PathEntry | null;
};

const ROOT = newNode();
for (const route of ROUTES) addRoute(route);
const TENANTS_PREFIX = '/api/tenants/';
const TENANTS_NODE = ROOT.literals.get('api')?.literals.get('tenants');
assert(TENANTS_NODE !== undefined, 'the tenant routes are in the table');

/**
 * The entry of a path, or null for an unknown one. Parameters are appended to `parameters` as they stand in the path,
 * still percent-encoded. A literal wins over a parameter; an empty segment matches nothing, so a trailing slash is unknown.
 * The rest of a path (`{*name}`) begins with its slash and may be anything.
 */
export function findPath(path: string, parameters: string[]): PathEntry | null {
  let node: Node = ROOT;
  let at = 1;
  if (path.startsWith(TENANTS_PREFIX)) {
    node = TENANTS_NODE!;
    at = TENANTS_PREFIX.length;
  }
  while (true) {
    if (node.rest !== null) {
      parameters.push(path.slice(at - 1));
      return node.rest.entry;
    }
    const slash = path.indexOf('/', at);
    const segment = slash === -1 ? path.slice(at) : path.slice(at, slash);
    if (segment === '') return null;
    const literal = node.literals.get(segment);
    if (literal !== undefined) {
      node = literal;
    } else {
      if (node.parameter === null) return null;
      parameters.push(segment);
      node = node.parameter;
    }
    if (slash === -1) return node.entry;
    at = slash + 1;
  }
}

/** Deployment URLs: no rule about origins and hosts applies to them, because no credential of a browser opens them. */
export function isDeploymentPath(path: string): boolean {
  return path.startsWith(DEPLOYMENTS);
}

/** @throws op.invalid_input 400 when the encoding is broken */
export function decodeParameter(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new ServiceError('op.invalid_input', `the path segment ${segment} is not valid percent-encoding`, undefined, {
      cause,
    });
  }
}

function isOperation(answers: Operation | RouterHandler): answers is Operation {
  return answers in OPERATIONS;
}

function accessTo(pattern: string, options: Options | undefined): Route['access'] {
  if (isDeploymentPath(pattern)) return 'deployment';
  return options?.open === true ? 'open' : 'admin';
}

function newNode(): Node {
  return {literals: new Map(), parameter: null, rest: null, methods: new Map(), entry: null};
}

function addRoute(route: Route): void {
  let node = ROOT;
  for (const segment of route.pattern.slice(1).split('/')) node = childOf(node, segment);
  const {methods} = node;
  assert(!methods.has(route.method), `${route.method} ${route.pattern} is in the table twice`);
  methods.set(route.method, route);
  if (route.method === 'GET') methods.set('HEAD', route); // the exchange leaves the body out
  node.entry = {
    methods,
    any: methods.get('*') ?? null,
    allow: [...methods.keys()].join(', '),
    hasCors: route.hasCors,
  };
}

function childOf(node: Node, segment: string): Node {
  if (segment.startsWith('{*')) {
    node.rest ??= newNode();
    return node.rest;
  }
  if (segment.startsWith('{')) {
    node.parameter ??= newNode();
    return node.parameter;
  }
  const child = node.literals.get(segment) ?? newNode();
  node.literals.set(segment, child);
  return child;
}
