/**
 * THE route table: every method and path, who may call it, and who answers. A row names either an operation, which the
 * tenant's worker answers, or one of the router's own handlers. Nothing else knows paths.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {OPERATIONS, type Operation} from '../../shared/ipc/operations.ts';

/** What the router answers itself. */
export type RouterHandler = 'socket' | 'health' | 'metrics' | 'tenants.create' | 'tenants.list' | 'tenants.delete';

export type Route = {
  /** Position in ROUTES: the key of its metrics. */
  readonly index: number;
  readonly method: string;
  /** As shown in docs and metrics; `{name}` takes one non-empty segment. */
  readonly pattern: string;
  readonly access: 'open' | 'admin';
  readonly answer: {readonly operation: Operation} | {readonly handler: RouterHandler};
  readonly takesBody: boolean;
  /** The query string is passed on. */
  readonly takesQuery: boolean;
  /** May be sent once more when its worker died before it answered. */
  readonly isRead: boolean;
};

type Row = [method: string, pattern: string, answers: Operation | RouterHandler, options?: {open?: true; query?: true}];

const TENANT = '/api/tenants/{tenant_id}';
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
  ['GET', `${TENANT}/schedule`, 'schedule.list'],
  ['DELETE', `${TENANT}/schedule/{job_id}`, 'schedule.cancel'],
  ['GET', `${TENANT}/schedule/history/{job_id}`, 'schedule.result'],
  ['POST', `${TENANT}/crons`, 'crons.create'],
  ['GET', `${TENANT}/crons`, 'crons.list'],
  ['DELETE', `${TENANT}/crons/{name}`, 'crons.delete'],
];

export const ROUTES: readonly Route[] = ROWS.map(([method, pattern, answers, options], index) => ({
  index,
  method,
  pattern,
  access: options?.open === true ? 'open' : 'admin',
  answer: isOperation(answers) ? {operation: answers} : {handler: answers},
  takesBody: method === 'POST' || method === 'PUT' || method === 'PATCH',
  takesQuery: options?.query === true,
  isRead: isOperation(answers) && OPERATIONS[answers] === 'read',
}));

/** One path of the table with all its methods. */
export type PathEntry = {readonly methods: ReadonlyMap<string, Route>; readonly allow: string};

type Node = {literals: Map<string, Node>; parameter: Node | null; methods: Map<string, Route>; entry: PathEntry | null};

const ROOT = newNode();
for (const route of ROUTES) addRoute(route);
const TENANTS_PREFIX = '/api/tenants/';
const TENANTS_NODE = ROOT.literals.get('api')?.literals.get('tenants');
assert(TENANTS_NODE !== undefined, 'the tenant routes are in the table');

/**
 * The entry of a path, or null for an unknown one. Parameters are appended to `parameters` as they stand in the path,
 * still percent-encoded. A literal wins over a parameter; an empty segment matches nothing, so a trailing slash is unknown.
 */
export function findPath(path: string, parameters: string[]): PathEntry | null {
  let node: Node = ROOT;
  let at = 1;
  if (path.startsWith(TENANTS_PREFIX)) {
    node = TENANTS_NODE!;
    at = TENANTS_PREFIX.length;
  }
  while (true) {
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

function newNode(): Node {
  return {literals: new Map(), parameter: null, methods: new Map(), entry: null};
}

function addRoute(route: Route): void {
  let node = ROOT;
  for (const segment of route.pattern.slice(1).split('/')) {
    let next: Node | null | undefined = segment.startsWith('{') ? node.parameter : node.literals.get(segment);
    if (next === null || next === undefined) {
      next = newNode();
      if (segment.startsWith('{')) node.parameter = next;
      else node.literals.set(segment, next);
    }
    node = next;
  }
  assert(!node.methods.has(route.method), `${route.method} ${route.pattern} is in the table twice`);
  node.methods.set(route.method, route);
  node.entry = {methods: node.methods, allow: [...node.methods.keys()].join(', ')};
}
