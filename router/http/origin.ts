/**
 * Which web pages may talk to this server. A request with an `Origin` must come from a loopback page on the server's own
 * port (spec, "Authentication"), or from an origin that the operator named (--allowed-origin). Bound to loopback, the `Host` header must name loopback as well, on any port: a page whose
 * host name was re-pointed to 127.0.0.1 sends no foreign Origin with its GETs, but it cannot choose its Host. The port proves
 * nothing, because nobody can re-point `localhost` or an address, and a forwarded port (`ssh -L`) is another one.
 *
 * A page whose Origin was accepted may read the answers, also where it calls the server by another of its names.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {isLoopback} from '../../shared/loopback.ts';

const ORIGIN_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const HTTP_PORT = 80;
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;
const HOST_CHARS_SHOWN = 80;
/** What a browser could have sent: only such a one is worth naming in a message. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._:[\]-]{1,120}$/;

const PREFLIGHT: HeaderList = [
  ['Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
  [
    'Access-Control-Allow-Headers',
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id, X-Svc-Admin-Token',
  ],
  // Two hours is the longest that browsers take.
  ['Access-Control-Max-Age', '7200'],
];

export class OriginRule {
  readonly #origins: ReadonlySet<string>;
  /** Hosts that need no closer look; null: bound beyond loopback, any Host will do. */
  readonly #hosts: ReadonlySet<string> | null;
  /** Names from --allowed-host that may come with any port. */
  readonly #anyPort: ReadonlySet<string>;
  /** The latest that took a closer look and was accepted: most clients of a server call it by one name. */
  #lastAccepted: string | null = null;

  /**
   * @param port the port that was got
   * @param allowedHosts `name` for any port, or `name:port`
   * @param allowedOrigins as browsers write them
   */
  constructor(host: string, port: number, allowedHosts: readonly string[], allowedOrigins: readonly string[] = []) {
    const allowed = allowedHosts.map(name => name.toLowerCase());
    // An IPv6 one needs brackets, and there is only one.
    const names = isLoopback(host) && !host.includes(':') ? [...new Set([...ORIGIN_NAMES, host])] : ORIGIN_NAMES;
    const origins = names.map(name => `http://${name}:${port}`);
    // Browsers leave the usual port out.
    if (port === HTTP_PORT) origins.push(...names.map(name => `http://${name}`));
    this.#origins = new Set([...origins, ...allowedOrigins]);
    this.#hosts = isLoopback(host) ? new Set([...names.map(name => `${name}:${port}`), ...allowed]) : null;
    this.#anyPort = new Set(allowed.filter(name => HOST.exec(name)?.[1] === name));
  }

  /**
   * @returns the accepted origin; empty when the request has none. An empty header counts as none.
   * @throws auth.origin_forbidden 403
   */
  check(req: HttpRequest): string {
    const origin = req.getHeader('origin');
    if (origin !== '') this.checkOrigins(originsOf(req));
    this.checkHost(req.getHeader('host'));
    return origin;
  }

  /** Upgrades are few: here an empty header and every line of several are looked at. @throws auth.origin_forbidden 403 */
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

/** What lets the page read the answer. @param origin an accepted one; empty: there is no page */
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

/** The headers of the answer to a preflight beside those above; null: the request is none. */
export function preflightHeaders(method: string, origin: string, req: HttpRequest): HeaderList | null {
  if (method !== 'OPTIONS' || origin === '') return null;
  return req.getHeader('access-control-request-method') === '' ? null : PREFLIGHT;
}

function shownOrigin(origins: readonly string[]): string {
  return origins.find(origin => ORIGIN.test(origin)) ?? 'ORIGIN';
}

function originsOf(req: HttpRequest): string[] {
  const origins: string[] = [];
  req.forEach((name, value) => {
    if (name === 'origin') origins.push(value);
  });
  return origins;
}
