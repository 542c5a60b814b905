/** The dashboard as its pages use it, without a browser: its own host, its headers, and the cookie of a session. */
import type {Reply, Service} from './service.ts';

export class Dashboard {
  readonly #service: Service;
  readonly host: string;
  readonly origin: string;
  cookie = '';

  constructor(service: Service, host = `dashboard.localhost:${service.port}`, origin = `http://${host}`) {
    this.#service = service;
    this.host = host;
    this.origin = origin;
  }

  /** Signed in with this credential, the access token unless told. */
  static async signedIn(service: Service, token = service.accessToken): Promise<Dashboard> {
    const dashboard = new Dashboard(service);
    const reply = await dashboard.signIn({token});
    if (reply.status !== 200) throw new Error(`signing in: ${reply.status} ${reply.text}`);
    return dashboard;
  }

  /** Takes over the cookie of a success. */
  async signIn(body: {token: string} | {code: string}): Promise<Reply> {
    const reply = await this.request('POST', '/_dashboard/session', body);
    const set = [reply.headers['set-cookie'] ?? []].flat()[0];
    if (set !== undefined) this.cookie = set.split(';')[0]!;
    return reply;
  }

  /** @param headers override those that a page sends; undefined: without it */
  request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | undefined> = {},
  ): Promise<Reply> {
    return this.#service.request(method, path, body, {...this.headers(method), ...headers});
  }

  get(path: string, headers?: Record<string, string | undefined>): Promise<Reply> {
    return this.request('GET', path, undefined, headers);
  }

  /** That a page's request has. Browsers name no origin in reads of their own. */
  headers(method = 'GET'): Record<string, string | undefined> {
    return {
      ...{authorization: undefined, host: this.host, 'x-svc-dashboard': '1', 'sec-fetch-site': 'same-origin'},
      ...(method === 'GET' ? {} : {origin: this.origin}),
      ...(this.cookie === '' ? {} : {cookie: this.cookie}),
    };
  }
}
