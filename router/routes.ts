/**
 * Every method and path, who can call it, and who answers it: the operations, which a tenant's worker answers (their
 * table is shared/operations.ts), and those of the router, which have a table of their own.
 */
import {assert} from '../shared/assert.ts';
import {ServiceError} from '../shared/errors.ts';
import {
  DASHBOARD_OPERATIONS,
  type DashboardOperation,
  OPERATIONS,
  type Operation,
  type OperationTraits,
  OWN_OPERATIONS,
  PATH_PREFIX,
  ROUTER_OPERATIONS,
  type RouterOperation,
  traitsOf,
} from '../shared/operations.ts';
import {RIGHTS, type Rights} from '../shared/rights.ts';

export type Route = {
  /** Position in ROUTES, by which its metrics are stored. */
  readonly index: number;
  /** `*`: any. */
  readonly method: string;
  /**
   * As shown in docs and metrics. `{name}` matches one non-empty segment, `{*name}` the unmodified rest of the path.
   */
  readonly pattern: string;
  /**
   * `deployment`: called by a tenant's own users, whose bearer tokens the worker judges. `session`: only on the
   * dashboard's host, where its cookie is the credential of `admin` routes, too.
   */
  readonly access: 'open' | 'admin' | 'session' | 'deployment';
  readonly answer: {readonly operation: Operation} | {readonly own: RouterOperation | DashboardOperation};
  /** Rights that a key needs for it. */
  readonly rights: Rights;
  /** Where the tenant is named: in the first parameter of the path, or see `tenantIn` of an operation. */
  readonly tenantIn: 'path' | NonNullable<OperationTraits['tenantIn']>;
  readonly takesBody: boolean;
  /** The query string is passed on. */
  readonly takesQuery: boolean;
  /** `If-None-Match`, and of writes `If-Match`, are passed on. */
  readonly takesConditions: boolean;
  /** It takes neither, and refuses requests that have one. */
  readonly refusesConditions: boolean;
  /** `Last-Event-ID` is passed on. */
  readonly takesLastEventId: boolean;
  /** `Content-Type` is passed on. */
  readonly takesContentType: boolean;
  /** Changes nothing. */
  readonly isRead: boolean;
  /** See `isShort` and `runsUserCode` of an operation. */
  readonly isShort: boolean;
  readonly isUserCall: boolean;
  /** See `isCacheable` of an operation. */
  readonly isCacheable: boolean;
  /** The body is streamed to the worker, up to this length; null: it is buffered first. */
  readonly streamedBytesMax: number | null;
  /** The answer is endless: a drain cuts it. */
  readonly isEndless: boolean;
  readonly bringsCode: boolean;
  /** The operation's one parameter, if it is a literal of the path instead of a parameter. */
  readonly parameter: string | null;
  /** Index of the table among the path's parameters after the tenant; -1: the path names none. */
  readonly tableAt: number;
  /** Pages of other origins may call it. Concerns CORS on errors that the router itself answers. */
  readonly hasCors: boolean;
};

type Row = Omit<Route, 'index'>;

const DEPLOYMENTS = '/svc/';

/** The route of an operation that the router itself answers. */
function ownRow(own: RouterOperation | DashboardOperation): Row {
  const {method, path, access} = OWN_OPERATIONS[own];
  return {
    method,
    pattern: path,
    access,
    answer: {own},
    rights: RIGHTS[own],
    tenantIn: 'path',
    takesBody: hasBody(method),
    takesQuery: false,
    takesConditions: false,
    refusesConditions: false,
    takesLastEventId: false,
    takesContentType: false,
    isRead: false,
    isShort: false,
    isUserCall: false,
    isCacheable: false,
    streamedBytesMax: null,
    isEndless: false,
    bringsCode: false,
    parameter: null,
    tableAt: -1,
    hasCors: false,
  };
}

/** The routes of an operation and, with CORS, of the preflights that browsers send before they call it. */
function rowsOf(operation: Operation): Row[] {
  const {of, routes, hasCors} = traitsOf(operation);
  const prefix = PATH_PREFIX[of];
  return routes.flatMap(({method, path, parameter = null}) => {
    const pattern = `${prefix}${path}`;
    const row = operationRow(operation, method, pattern, parameter);
    if (hasCors !== true) return [row];
    return [row, {...operationRow('functions.preflight', 'OPTIONS', pattern, null), hasCors: true}];
  });
}

function operationRow(operation: Operation, method: string, pattern: string, parameter: string | null): Row {
  const traits = traitsOf(operation);
  return {
    method,
    pattern,
    access: traits.of === 'deployment' ? 'deployment' : 'admin',
    answer: {operation},
    rights: RIGHTS[operation],
    tenantIn: traits.tenantIn ?? 'path',
    takesBody: hasBody(method),
    takesQuery: traits.takesQuery === true,
    takesConditions: traits.takesConditions === true,
    refusesConditions: traits.refusesConditions === true,
    takesLastEventId: traits.takesLastEventId === true,
    takesContentType: traits.takesContentType === true,
    isRead: traits.kind === 'read',
    isShort: traits.isShort === true,
    isUserCall: traits.runsUserCode === true,
    isCacheable: traits.isCacheable === true,
    streamedBytesMax: traits.streamedBytesMax ?? null,
    isEndless: traits.isEndless === true,
    bringsCode: traits.bringsCode === true,
    parameter,
    tableAt: traits.params.indexOf('table'),
    hasCors: traits.hasCors === true,
  };
}

export const ROUTES: readonly Route[] = [
  ...(Object.keys(ROUTER_OPERATIONS) as RouterOperation[]).map(ownRow),
  ...(Object.keys(DASHBOARD_OPERATIONS) as DashboardOperation[]).map(ownRow),
  ...(Object.keys(OPERATIONS) as Operation[]).flatMap(rowsOf),
].map((row, index) => ({index, ...row}));

function hasBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

/** One path of the table, with all its methods. */
export type PathEntry = {
  readonly methods: ReadonlyMap<string, Route>;
  /** Matches every method that `methods` does not name; null: none. */
  readonly any: Route | null;
  readonly allow: string;
  readonly hasCors: boolean;
};

type Node = {
  literals: Map<string, Node>;
  parameter: Node | null;
  /** Matches the rest of the path. */
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
 * Finds the entry of a path; null: unknown. Parameters are appended to `parameters` as they appear in the path, still
 * percent-encoded. A literal wins over a parameter. An empty segment matches nothing, so a path with a trailing slash
 * is unknown. The rest of a path (`{*name}`) begins with its slash and can be anything.
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

/**
 * Deployment URLs. The rules about origins and hosts do not apply to them, because browsers store no credential for
 * them.
 */
export function isDeploymentPath(path: string): boolean {
  return path.startsWith(DEPLOYMENTS);
}

/** @throws op.invalid_input 400 when the encoding is invalid */
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

/** For a segment that may not be a valid name. */
export function decodedOrSame(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function newNode(): Node {
  return {literals: new Map(), parameter: null, rest: null, methods: new Map(), entry: null};
}

function addRoute(route: Route): void {
  let node = ROOT;
  const {tables} = route.rights;
  assert(tables !== 'path' || route.pattern.includes('{table}'), `the path ${route.pattern} names the table`);
  for (const segment of route.pattern.slice(1).split('/')) node = childOf(node, segment);
  const {methods} = node;
  assert(!methods.has(route.method), `${route.method} ${route.pattern} is in the table twice`);
  methods.set(route.method, route);
  if (route.method === 'GET') methods.set('HEAD', route); // the exchange omits the body
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
