/**
 * Decides which web pages may use this server. A request with an `Origin` must come from a loopback page on the
 * server's own port (spec, "Authentication") or from an origin that the operator allows (--allowed-origin). If the
 * server is bound to loopback, the `Host` header must name loopback as well, on any port: a page whose host name was
 * re-pointed to 127.0.0.1 sends no foreign Origin with its GETs, but it cannot choose its Host. The port is not
 * checked, because `localhost` and addresses cannot be re-pointed, and a forwarded port (`ssh -L`) differs.
 *
 * A page with an accepted Origin may read the answers, also if it uses another name of the server.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {isLoopback} from '../../shared/loopback.ts';

const ORIGIN_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const HTTP_PORT = 80;
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;
const HOST_CHARS_SHOWN = 80;
/** Origins that a browser can send: messages quote no others. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._:[\]-]{1,120}$/;

const PREFLIGHT: HeaderList = [
  ['Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
  [
    'Access-Control-Allow-Headers',
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, X-Svc-Admin-Token',
  ],
  // Two hours is the longest that browsers accept.
  ['Access-Control-Max-Age', '7200'],
];

export class OriginRule {
  readonly #origins: ReadonlySet<string>;
  /** Hosts that are accepted without parsing; null: the server is bound beyond loopback, so any Host is accepted. */
  readonly #hosts: ReadonlySet<string> | null;
  /** Names from --allowed-host that are accepted with any port. */
  readonly #anyPort: ReadonlySet<string>;
  /** The last accepted host that had to be parsed. It is cached because most clients of a server use one name. */
  #lastAccepted: string | null = null;

  /**
   * @param port the actual port
   * @param allowedHosts `name` for any port, or `name:port`
   * @param allowedOrigins in the format that browsers send
   */
  constructor(host: string, port: number, allowedHosts: readonly string[], allowedOrigins: readonly string[] = []) {
    const allowed = allowedHosts.map(name => name.toLowerCase());
    // An IPv6 address needs brackets, and there is only one.
    const names = isLoopback(host) && !host.includes(':') ? [...new Set([...ORIGIN_NAMES, host])] : ORIGIN_NAMES;
    const origins = names.map(name => `http://${name}:${port}`);
    // Browsers omit the default port.
    if (port === HTTP_PORT) origins.push(...names.map(name => `http://${name}`));
    this.#origins = new Set([...origins, ...allowedOrigins]);
    this.#hosts = isLoopback(host) ? new Set([...names.map(name => `${name}:${port}`), ...allowed]) : null;
    this.#anyPort = new Set(allowed.filter(name => HOST.exec(name)?.[1] === name));
  }

  /**
   * @returns the accepted origin; empty when the request has none. An empty header counts as none.
   * @throws auth.origin_forbidden 403
   */
  check(req: HttpRequest, host: string): string {
    const origin = req.getHeader('origin');
    if (origin !== '') this.checkOrigins(originsOf(req));
    this.checkHost(host);
    return origin;
  }

  /**
   * Checks an upgrade. Upgrades are rare, so here empty headers and all lines of a repeated header are checked.
   * @throws auth.origin_forbidden 403
   */
  checkUpgrade(req: HttpRequest): void {
    this.checkOrigins(originsOf(req));
    this.checkHost(req.getHeader('host'));
  }

  /** @throws auth.origin_forbidden 403 */
  checkOrigins(origins: readonly string[]): void {
    if (origins.every(origin => this.#origins.has(origin)) && origins.length <= 1) return;
    throw new ServiceError(
      'auth.origin_forbidden',
      `requests from this Origin are not allowed; use the server's own loopback address, or start it with --allowed-origin ${shownOrigin(origins)}`,
    );
  }

  /** @throws auth.origin_forbidden 403 */
  checkHost(host: string): void {
    if (this.#hosts === null || host === this.#lastAccepted || this.#hosts.has(host)) return;
    const lower = host.toLowerCase();
    const name = HOST.exec(lower)?.[1] ?? '';
    if (this.#hosts.has(lower) || this.#anyPort.has(name) || isLoopback(name)) {
      this.#lastAccepted = host;
      return;
    }
    const shown = name === '' ? 'NAME' : name.slice(0, HOST_CHARS_SHOWN);
    throw new ServiceError(
      'auth.origin_forbidden',
      `the Host header is not a name of this server: call it by its loopback address, or start it with --allowed-host ${shown}`,
    );
  }
}

/** The headers that let the page read the answer. @param origin an accepted one; empty: no page */
export function pageHeaders(origin: string): HeaderList | null {
  if (origin === '') return null;
  return [
    ['Access-Control-Allow-Origin', origin],
    [
      'Access-Control-Expose-Headers',
      'X-Request-Id, Retry-After, Allow, ETag, RateLimit, RateLimit-Policy, X-Svc-Sequence',
    ],
    ['Vary', 'Origin'],
  ];
}

/** The headers of the answer to a preflight in addition to those above; null: the request is not a preflight. */
export function preflightHeaders(method: string, origin: string, req: HttpRequest): HeaderList | null {
  if (method !== 'OPTIONS' || origin === '') return null;
  return req.getHeader('access-control-request-method') === '' ? null : PREFLIGHT;
}

function shownOrigin(origins: readonly string[]): string {
  return origins.find(origin => ORIGIN.test(origin)) ?? 'ORIGIN';
}

/** All lines of a repeated header; an empty line counts. */
export function originsOf(req: HttpRequest): string[] {
  const origins: string[] = [];
  req.forEach((name, value) => {
    if (name === 'origin') origins.push(value);
  });
  return origins;
}
