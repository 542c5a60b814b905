/**
 * Which web pages may talk to this server. A request with an `Origin` must come from a loopback page on the server's own
 * port (spec, "Authentication"). Bound to loopback, the `Host` header must name loopback as well: a page whose host name was
 * re-pointed to 127.0.0.1 sends no foreign Origin with its GETs, but it cannot choose its Host.
 */
import {ServiceError} from '../../shared/errors.ts';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export class OriginRule {
  readonly #origins: ReadonlySet<string>;
  /** Null: bound beyond loopback, any Host will do. */
  readonly #hosts: ReadonlySet<string> | null;
  /** Names from --allowed-host that may come with any port. */
  readonly #anyPort: ReadonlySet<string>;

  /** @param port the port that was got, @param allowedHosts `name` for any port, or `name:port` */
  constructor(host: string, port: number, allowedHosts: readonly string[]) {
    const allowed = allowedHosts.map(name => name.toLowerCase());
    this.#origins = new Set(LOOPBACK_NAMES.map(name => `http://${name}:${port}`));
    this.#hosts = isLoopback(host)
      ? new Set([...LOOPBACK_NAMES, ...LOOPBACK_NAMES.map(name => `${name}:${port}`), ...allowed])
      : null;
    this.#anyPort = new Set(allowed.filter(name => withoutPort(name) === name));
  }

  /** Header values, empty when missing. @throws auth.origin_forbidden 403 */
  check(origin: string, host: string): void {
    if (origin !== '' && !this.#origins.has(origin)) {
      throw new ServiceError(
        'auth.origin_forbidden',
        "requests from this Origin are not allowed; use the server's own loopback address",
      );
    }
    if (this.#hosts === null || this.#hosts.has(host)) return;
    const name = host.toLowerCase();
    if (this.#hosts.has(name) || this.#anyPort.has(withoutPort(name))) return;
    throw new ServiceError('auth.origin_forbidden', 'this Host is not served here; --allowed-host NAME adds one');
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, '');
}
