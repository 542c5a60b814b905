/**
 * Which of the three surfaces a request addresses. The host and the path decide, and each surface has rules of its own:
 *
 *                 origin                          credential                  CORS              while it drains
 *   api           loopback, --allowed-origin      admin credential or key     accepted origins  refused
 *   deployment    any: the worker judges          a user's token, or a key    the app decides   refused
 *   dashboard     exactly its own                 the cookie of a session     none              refused
 *
 * The dashboard has a host of its own, because tenants' pages share the origin of everything else: from there they could
 * open a dashboard of the same origin, read it and send its cookies. No other surface looks at cookies.
 */
import type {DashboardSettings} from '../../shared/ipc/control.ts';
import {isLoopback} from '../../shared/loopback.ts';
import {isDeploymentPath} from '../routes.ts';

export type Surface = 'api' | 'deployment' | 'dashboard';

/** Browsers resolve it to their own machine; also through a forwarded port (`ssh -L`), whose number differs. */
const NAME = 'dashboard.localhost';
const OF_NAME = /^dashboard\.localhost(?::\d{1,5})?$/i;
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;
const PREFIX = '/_dashboard';

/** Below the dashboard's path, on whichever host. */
export function isDashboardPath(path: string): boolean {
  return path.startsWith(PREFIX) && (path.length === PREFIX.length || path[PREFIX.length] === '/');
}

export class Surfaces {
  readonly #settings: DashboardSettings | null;
  /** Of --dashboard-origin. */
  readonly #host: string | null;
  /** The actual port of --dashboard-port, once it listens. */
  ownPort: number | null = null;
  /** The last host that is not the dashboard's: most requests of a server name one host. */
  #lastOther = '';

  /** @param settings null: there is no dashboard */
  constructor(settings: DashboardSettings | null) {
    this.#settings = settings;
    this.#host = settings?.origin == null ? null : new URL(settings.origin).host;
  }

  of(host: string, path: string): Surface {
    if (host !== this.#lastOther && this.#isDashboards(host)) return 'dashboard';
    this.#lastOther = host;
    return isDeploymentPath(path) ? 'deployment' : 'api';
  }

  /** The host of the dashboard is a name that no other server can point at this one. */
  isNamed(host: string): boolean {
    return this.#host !== null || OF_NAME.test(host);
  }

  /** The `Origin` of the dashboard's pages. @param host of a request for the dashboard */
  originOf(host: string): string {
    return this.#settings?.origin ?? `http://${host.toLowerCase()}`;
  }

  /** The dashboard's origin for a client that uses another host of the server; null: it cannot be reached from there. */
  originFrom(host: string): string | null {
    if (this.#settings === null) return null;
    if (this.#settings.origin !== null) return this.#settings.origin;
    const [, name = '', port = ''] = HOST.exec(host.toLowerCase()) ?? [];
    if (this.ownPort !== null) return name === '' ? null : `http://${name}:${this.ownPort}`;
    return isLoopback(name) || name === NAME ? `http://${NAME}${port}` : null;
  }

  #isDashboards(host: string): boolean {
    if (this.#settings === null) return false;
    if (this.#host !== null) return host.toLowerCase() === this.#host;
    if (this.ownPort === null) return OF_NAME.test(host);
    const [, name = '', port = ':80'] = HOST.exec(host) ?? [];
    return name !== '' && port === `:${this.ownPort}`;
  }
}
