/**
 * The HTTP client of the commands that talk to a running server: its address, its credential, and one sentence for each
 * failure. The credential comes from SVC_ACCESS_TOKEN or the data directory's admin.json, which is found through the
 * note of the same user's server on this machine (server-note.ts). There is no flag for it, because every user of a
 * machine can read the command lines of its processes.
 *
 * A request that certainly or possibly did not happen (503, a broken connection, no answer in time) is retried with
 * growing pauses. So every write sent through here carries an `Idempotency-Key`, or can be repeated safely.
 */

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Readable} from 'node:stream';
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, Option} from 'commander';
import {type Dispatcher, Pool} from 'undici';
import {backOffMs} from '../shared/back-off.ts';
import type {ErrorObject} from '../shared/errors.ts';
import {COOL_DOWN_MS} from '../supervisor/limits.ts';
import {CommandFailure} from './failure.ts';
import {COMMAND_ATTEMPTS_MAX, COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX, COMMAND_TIMEOUT_MS} from './limits.ts';
import {notedDataDirectory} from './server-note.ts';

export type ServerOptions = {url: string; data?: string};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Reply = {status: number; body: Buffer};
type Timeouts = {headersTimeout?: number; bodyTimeout?: number; signal?: AbortSignal};
const NOTHING_WAS_DONE: ReadonlySet<string> = new Set(['session.worker_unavailable', 'session.overloaded']);
const DATA_DEFAULT = './data';
const NO_TIMEOUT: Timeouts = {headersTimeout: 0, bodyTimeout: 0};

export function addServerOptions(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', 'where the server is').default('http://127.0.0.1:3210').env('SVC_URL'))
    .addOption(dataOption());
}

export function dataOption(): Option {
  return new Option(
    '--data <directory>',
    "the server's data directory, where admin.json has the token, unless SVC_ACCESS_TOKEN is set; " +
      'otherwise that of your server that runs at the URL on this machine, or ./data',
  ).env('SVC_DATA');
}

/** A 4xx or 5xx answer that was not retried, or no longer. */
export class RefusedRequest extends CommandFailure {
  readonly status: number;
  readonly code: string;
  readonly detail: Record<string, unknown>;

  constructor(status: number, error: Pick<ErrorObject, 'message' | 'detail'> & {code: string}) {
    super(error.message);
    this.detail = error.detail ?? {};
    this.name = 'RefusedRequest';
    this.status = status;
    this.code = error.code;
  }
}

export class ServiceClient {
  readonly url: string;
  readonly #pool: Pool;
  readonly #authorization: string;

  private constructor(url: string, token: string, connections: number) {
    this.url = url;
    this.#authorization = `Bearer ${token}`;
    this.#pool = new Pool(url, {
      connections,
      pipelining: 1,
      headersTimeout: COMMAND_TIMEOUT_MS,
      bodyTimeout: COMMAND_TIMEOUT_MS,
    });
  }

  /**
   * @param connections requests that can be in flight at once
   * @param hint what else to try if no server answers
   */
  static async open(options: ServerOptions, connections: number, hint = ''): Promise<ServiceClient> {
    const url = originOf(options.url);
    const client = new ServiceClient(url, await accessToken(url, options.data, hint), connections);
    try {
      await client.#checkServer(hint);
    } catch (caught) {
      await client.close();
      throw caught;
    }
    return client;
  }

  /** One JSON request. @throws RefusedRequest if the answer is not a success */
  async request(
    method: Method,
    path: string,
    body?: Buffer | string,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(method, path, body, headers);
      if (!('again' in outcome)) return outcome;
      if (attempt === COMMAND_ATTEMPTS_MAX) throw outcome.again;
      await delay(Math.max(outcome.retryAfterMs, pauseMs(attempt)));
    }
  }

  /**
   * Sends a body that is read while it is sent, without a timeout; the request must be safe to repeat.
   * @param open opens the body from its beginning. @param once it cannot be read again. @throws RefusedRequest
   */
  async upload(
    path: string,
    open: () => Readable,
    type: string,
    {once, signal}: {once: boolean; signal: AbortSignal},
  ): Promise<Reply> {
    const headers = {'content-type': type};
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt('POST', path, open(), headers, {...NO_TIMEOUT, signal});
      if (!('again' in outcome)) return outcome;
      if (once || signal.aborted || attempt === COMMAND_ATTEMPTS_MAX) throw outcome.again;
      await delay(Math.max(outcome.retryAfterMs, pauseMs(attempt)));
    }
  }

  async json<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const {body: bytes} = await this.request(method, path, body === undefined ? undefined : JSON.stringify(body));
    return (bytes.length === 0 ? null : JSON.parse(bytes.toString())) as T;
  }

  /**
   * A request that must not happen twice, without a timeout. It is retried only if the server says that nothing was
   * done; a broken connection leaves open whether it happened. @throws RefusedRequest
   */
  async jsonOnce<T>(method: Method, path: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(method, path, JSON.stringify(body), headers, NO_TIMEOUT);
      if (!('again' in outcome)) return JSON.parse(outcome.body.toString()) as T;
      const {again, retryAfterMs} = outcome;
      const isUndone = again instanceof RefusedRequest && NOTHING_WAS_DONE.has(again.code);
      // A function that ran out of its turn was rolled back; retrying it would hold up the tenant's writes each time.
      const isStarted = again instanceof RefusedRequest && again.detail.started === true;
      if (!isUndone || isStarted || attempt === COMMAND_ATTEMPTS_MAX) throw again;
      await delay(Math.max(retryAfterMs, pauseMs(attempt)));
    }
  }

  /**
   * Streams a long answer; it is not retried. @param isSilent it can pause for any length of time. @throws
   * RefusedRequest
   */
  async stream(path: string, isSilent = false): Promise<Readable> {
    let response: Dispatcher.ResponseData;
    try {
      response = await this.#send('GET', path, undefined, {}, isSilent ? NO_TIMEOUT : {});
    } catch (caught) {
      throw new CommandFailure(`the connection to ${this.url} failed: ${(caught as Error).message}`, 1, {
        cause: caught,
      });
    }
    if (response.statusCode < 300) return response.body;
    throw refusal(response.statusCode, await readAll(response));
  }

  /** Creates the tenant. @returns false if it already existed */
  async createTenant(tenant: string): Promise<boolean> {
    try {
      await this.json('POST', '/api/tenants', {id: tenant});
      return true;
    } catch (caught) {
      if (caught instanceof RefusedRequest && caught.code === 'session.tenant_exists') return false;
      throw caught;
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  /** Fails at once and clearly if a retry would not help: no server there, or a wrong credential. */
  async #checkServer(hint: string): Promise<void> {
    let response: Dispatcher.ResponseData;
    try {
      response = await this.#send('GET', '/api/tenants', undefined, {});
    } catch (caught) {
      throw new CommandFailure(
        `no server answers at ${this.url}: ${(caught as Error).message}; is svc running there?${hint && ` ${hint}`}`,
        1,
        {
          cause: caught,
        },
      );
    }
    const body = await readAll(response);
    if (response.statusCode === 401) {
      throw new CommandFailure(
        `${this.url} does not accept this access token (${refusal(401, body).message}); set SVC_ACCESS_TOKEN or point --data at the server's data directory`,
      );
    }
    if (response.statusCode >= 300)
      throw new CommandFailure(`${this.url}: ${refusal(response.statusCode, body).message}`);
  }

  async #attempt(
    method: Method,
    path: string,
    body: Buffer | string | Readable | undefined,
    headers: Record<string, string>,
    timeouts: Timeouts = {},
  ): Promise<Reply | {again: Error; retryAfterMs: number}> {
    let response: Dispatcher.ResponseData;
    let bytes: Buffer;
    try {
      response = await this.#send(method, path, body, headers, timeouts);
      bytes = await readAll(response);
    } catch (caught) {
      const message = `the connection to ${this.url} failed: ${(caught as Error).message}`;
      return {again: new CommandFailure(message, 1, {cause: caught}), retryAfterMs: 0};
    }
    const status = response.statusCode;
    if (status < 300) return {status, body: bytes};
    if (status !== 503) throw refusal(status, bytes);
    const seconds = Number(response.headers['retry-after'] ?? 0);
    return {again: refusal(status, bytes), retryAfterMs: Math.min(seconds * 1000 || 0, COOL_DOWN_MS)};
  }

  #send(
    method: Method,
    path: string,
    body: Buffer | string | Readable | undefined,
    headers: Record<string, string>,
    timeouts: Timeouts = {},
  ): Promise<Dispatcher.ResponseData> {
    return this.#pool.request({
      ...timeouts,
      method,
      path,
      body: body ?? null,
      headers: {authorization: this.#authorization, ...headers},
    });
  }
}

export function tenantPath(tenant: string, ...rest: string[]): string {
  return ['/api/tenants', ...[tenant, ...rest].map(encodeURIComponent)].join('/');
}

export function originOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(`--url must be like http://127.0.0.1:3210, not ${JSON.stringify(text)}`, 2);
  }
  return url.origin;
}

/** @param data the requested directory; undefined: that of the user's server at `url`, or ./data */
export async function accessToken(url: string, data: string | undefined, hint = ''): Promise<string> {
  const given = process.env.SVC_ACCESS_TOKEN;
  if (given !== undefined && given !== '') return given;
  const path = join(data ?? notedDataDirectory(url) ?? DATA_DEFAULT, 'admin.json');
  let token: unknown;
  try {
    token = (JSON.parse(await readFile(path, 'utf8')) as {access_token?: unknown}).access_token;
  } catch (caught) {
    throw new CommandFailure(
      `no access token: no server of yours runs at ${url}, SVC_ACCESS_TOKEN is not set and ${path} cannot be read; start the server, or point --data at its data directory${hint && `; ${hint}`}`,
      1,
      {cause: caught},
    );
  }
  if (typeof token !== 'string') throw new CommandFailure(`${path} holds no access_token`);
  return token;
}

function pauseMs(attempt: number): number {
  return backOffMs(COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX, attempt - 1);
}

async function readAll(response: Dispatcher.ResponseData): Promise<Buffer> {
  return Buffer.from(await response.body.arrayBuffer());
}

function refusal(status: number, body: Buffer): RefusedRequest {
  try {
    const {error} = JSON.parse(body.toString()) as {error: ErrorObject};
    return new RefusedRequest(status, error);
  } catch {
    return new RefusedRequest(status, {code: '', message: `HTTP status ${status}`}); // from a proxy, for example
  }
}
