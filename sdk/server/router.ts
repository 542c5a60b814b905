/**
 * The router that `httpRouter()` creates, which maps paths to HTTP actions. It is the default export of `svc/http.ts`.
 */
import type {PublicHttpAction} from './registered.ts';

export const ROUTABLE_HTTP_METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const;
export type RoutableMethod = (typeof ROUTABLE_HTTP_METHODS)[number];

export type RouteSpecWithPath = {path: string; method: RoutableMethod; handler: PublicHttpAction};
export type RouteSpecWithPathPrefix = {pathPrefix: string; method: RoutableMethod; handler: PublicHttpAction};
export type RouteSpec = RouteSpecWithPath | RouteSpecWithPathPrefix;

/** One route in the form that the platform reads. Exactly one of `path` and `pathPrefix` is not null. */
export type RouteEntry = {
  method: RoutableMethod;
  path: string | null;
  pathPrefix: string | null;
  handler: PublicHttpAction;
};

export function httpRouter(): HttpRouter {
  return new HttpRouter();
}

export class HttpRouter {
  readonly isSvcRouter = true;
  /** By path, then method. Libraries read both maps and replace them, so a deploy checks their contents. */
  exactRoutes = new Map<string, Map<RoutableMethod, PublicHttpAction>>();
  /** By method, then prefix. */
  prefixRoutes = new Map<RoutableMethod, Map<string, PublicHttpAction>>();

  /**
   * Adds a route with either `path` or `pathPrefix`. A prefix ends with `/` and matches everything below it.
   * @throws Error when the route is invalid or already defined
   */
  route(spec: RouteSpec): void {
    const {path, pathPrefix, method, handler} = spec as Partial<RouteSpecWithPath & RouteSpecWithPathPrefix>;
    if (handler === undefined) throw new Error('route requires handler');
    if (method === undefined) throw new Error('route requires method');
    if (!ROUTABLE_HTTP_METHODS.includes(method)) {
      throw new Error(`'${String(method)}' is not an allowed HTTP method (like ${ROUTABLE_HTTP_METHODS.join(', ')})`);
    }
    if (path !== undefined && pathPrefix !== undefined) {
      throw new Error("Invalid httpRouter route: cannot contain both 'path' and 'pathPrefix'");
    }
    if (path !== undefined) this.#routePath(path, method, handler);
    else if (pathPrefix !== undefined) this.#routePrefix(pathPrefix, method, handler);
    else throw new Error("Invalid httpRouter route entry: must contain either field 'path' or 'pathPrefix'");
  }

  #routePath(path: string, method: RoutableMethod, handler: PublicHttpAction): void {
    checkStart('path', path);
    const handlers = this.exactRoutes.get(path) ?? new Map();
    if (handlers.has(method)) throw new Error(`Path '${path}' for method ${method} already in use`);
    handlers.set(method, handler);
    this.exactRoutes.set(path, handlers);
  }

  #routePrefix(prefix: string, method: RoutableMethod, handler: PublicHttpAction): void {
    checkStart('pathPrefix', prefix);
    if (!prefix.endsWith('/')) throw new Error(`pathPrefix '${prefix}' must end with a /`);
    const prefixes = this.prefixRoutes.get(method) ?? new Map();
    if (prefixes.has(prefix)) throw new Error(`${method} pathPrefix ${prefix} is already defined`);
    prefixes.set(prefix, handler);
    this.prefixRoutes.set(method, prefixes);
  }

  /** Exact routes by path and method, then prefixes (`/a/*`) by method and prefix. */
  getRoutes(): [path: string, method: RoutableMethod, handler: PublicHttpAction][] {
    return this._routes().map(({path, pathPrefix, method, handler}) => [path ?? `${pathPrefix}*`, method, handler]);
  }

  /** The route that serves a request, or null. HEAD is served like GET. A prefix is returned as `/a/*`. */
  lookup(path: string, method: RoutableMethod | 'HEAD'): [PublicHttpAction, RoutableMethod, string] | null {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const exact = this.exactRoutes.get(path)?.get(wanted);
    if (exact !== undefined) return [exact, wanted, path];
    const prefixes = [...(this.prefixRoutes.get(wanted) ?? [])].sort(([a], [b]) => b.length - a.length);
    for (const [prefix, handler] of prefixes) {
      if (path.startsWith(prefix)) return [handler, wanted, `${prefix}*`];
    }
    return null;
  }

  /** The routes in the order of `getRoutes`. */
  _routes(): RouteEntry[] {
    const exact = sorted(this.exactRoutes).flatMap(([path, handlers]) =>
      sorted(handlers).map(([method, handler]) => ({method, path, pathPrefix: null, handler})),
    );
    const prefixes = sorted(this.prefixRoutes).flatMap(([method, handlers]) =>
      sorted(handlers).map(([pathPrefix, handler]) => ({method, path: null, pathPrefix, handler})),
    );
    return [...exact, ...prefixes];
  }
}

function checkStart(field: string, path: string): void {
  if (typeof path !== 'string' || !path.startsWith('/')) throw new Error(`${field} '${path}' does not start with a /`);
}

function sorted<Key extends string, T>(map: Map<Key, T>): [Key, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
