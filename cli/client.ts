/**
 * The HTTP client of the commands that talk to a running server: its address, its credential, and one sentence for each
 * failure. The credential comes from SVC_ACCESS_TOKEN or the data directory's admin.json, which is found through the
 * note of the same user's server on this machine (server-note.ts). There is no flag for it, because every user of a
 * machine can read the command lines of its processes.
 *
 * A request that certainly or possibly did not happen (503, a broken connection, no answer in time) is retried with
 * growing pauses. So every write sent through here carries an `Idempotency-Key`, or can be repeated safely.
 */

import {randomUUID} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Readable} from 'node:stream';
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, Option} from 'commander';
import type {Dispatcher, Pool} from 'undici';
import {backOffMs} from '../shared/back-off.ts';
import type {ErrorObject} from '../shared/errors.ts';
import type {BodyOf, QueryOf, SuccessOf} from '../shared/operation-types.ts';
import {COOL_DOWN_MS} from '../supervisor/limits.ts';
import {CommandFailure} from './failure.ts';
import {COMMAND_ATTEMPTS_MAX, COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX, COMMAND_TIMEOUT_MS} from './limits.ts';
import {type Named, type Parameters, requestLine} from './request-line.ts';
import {notedDataDirectory} from './server-note.ts';

export type ServerOptions = {url: string; data?: string};

export type Ask<O extends Named> = {
  /** Bytes, for an operation whose body is not JSON. */
  body?: BodyOf<O> | Buffer;
  query?: QueryOf<O>;
  headers?: Record<string, string>;
  /**
   * What is retried. `safe`, the default: a request that can be repeated. `keyed`: one that gets an `Idempotency-Key`.
   * `once`: one that must not happen twice and takes any length of time. It is retried only if the server says that
   * nothing was done; a broken connection leaves open whether it happened.
   */
  repeat?: 'safe' | 'keyed' | 'once';
};

type Message = {
  method: string;
  path: string;
  body?: Buffer | string | Readable | undefined;
  headers?: Record<string, string>;
  headersTimeout?: number;
  bodyTimeout?: number;
  signal?: AbortSignal;
};
type Failed = {again: Error; retryAfterMs: number};
const NOTHING_WAS_DONE: ReadonlySet<string> = new Set(['session.worker_unavailable', 'session.overloaded']);
const DATA_DEFAULT = './data';
const NO_TIMEOUT = {headersTimeout: 0, bodyTimeout: 0};

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

  private constructor(url: string, token: string, pool: Pool) {
    this.url = url;
    this.#authorization = `Bearer ${token}`;
    this.#pool = pool;
  }

  /**
   * @param connections requests that can be in flight at once
   * @param hint what else to try if no server answers
   */
  static async open(options: ServerOptions, connections: number, hint = ''): Promise<ServiceClient> {
    const url = originOf(options.url);
    const token = await accessToken(url, options.data, hint);
    const {Pool} = await import('./http-pool.ts');
    const [headersTimeout, bodyTimeout] = [COMMAND_TIMEOUT_MS, COMMAND_TIMEOUT_MS];
    const pool = new Pool(url, {connections, pipelining: 1, headersTimeout, bodyTimeout});
    const client = new ServiceClient(url, token, pool);
    try {
      await client.#checkServer(hint);
    } catch (caught) {
      await client.close();
      throw caught;
    }
    return client;
  }

  /**
   * Sends a request by the name of its operation.
   * @param params of its path
   * @returns the JSON of the answer; null if there is none. @throws RefusedRequest if it is not a success
   */
  async ask<O extends Named>(operation: O, params: Parameters<O>, ask: Ask<O> = {}): Promise<SuccessOf<O>> {
    const {body, query, headers, repeat = 'safe'} = ask;
    const message = {
      ...requestLine(operation, params, query),
      body: body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      headers: {...(repeat === 'keyed' ? {'idempotency-key': randomUUID()} : {}), ...headers},
      ...(repeat === 'once' ? NO_TIMEOUT : {}),
    };
    return parsed(await this.#sent(() => message, repeat === 'once' ? isUndone : () => true));
  }

  /** Sends a request by its path, for benchmarks and demos. */
  async request(
    method: string,
    path: string,
    body?: Buffer | string,
    headers: Record<string, string> = {},
  ): Promise<{body: Buffer}> {
    return {body: await this.#sent(() => ({method, path, body, headers}))};
  }

  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    return parsed((await this.request(method, path, body === undefined ? undefined : JSON.stringify(body))).body);
  }

  /**
   * Sends a body that is read while it is sent, without a timeout; the request must be safe to repeat.
   * @param open opens the body from its beginning. @param once it cannot be read again. @throws RefusedRequest
   */
  async upload<O extends Named>(
    operation: O,
    params: Parameters<O>,
    query: QueryOf<O>,
    open: () => Readable,
    {type, once, signal}: {type: string; once: boolean; signal: AbortSignal},
  ): Promise<SuccessOf<O>> {
    const message = {...requestLine(operation, params, query), headers: {'content-type': type}, ...NO_TIMEOUT, signal};
    const isRepeated = () => !once && !signal.aborted;
    return parsed(await this.#sent(() => ({...message, body: open()}), isRepeated));
  }

  /**
   * Streams a long answer; it is not retried. @param isSilent it can pause for any length of time. @throws
   * RefusedRequest
   */
  async stream<O extends Named>(
    operation: O,
    params: Parameters<O>,
    query: QueryOf<O>,
    isSilent = false,
    body?: BodyOf<O>,
  ): Promise<Readable> {
    return (await this.streamed(operation, params, query, isSilent, body)).body;
  }

  /** As `stream`, with the headers of the answer. */
  async streamed<O extends Named>(
    operation: O,
    params: Parameters<O>,
    query?: QueryOf<O>,
    isSilent = false,
    body?: BodyOf<O>,
  ): Promise<Pick<Dispatcher.ResponseData, 'body' | 'headers'>> {
    let response: Dispatcher.ResponseData;
    try {
      response = await this.#send({
        ...requestLine(operation, params, query),
        ...(body === undefined ? {} : {body: JSON.stringify(body)}),
        ...(isSilent ? NO_TIMEOUT : {}),
      });
    } catch (caught) {
      throw this.#disconnected(caught);
    }
    if (response.statusCode < 300) return response;
    throw refusal(response.statusCode, await readAll(response));
  }

  /** Creates the tenant. @returns false if it already existed */
  async createTenant(tenant: string): Promise<boolean> {
    try {
      await this.ask('tenants.create', [], {body: {id: tenant}});
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
      response = await this.#send(requestLine('tenants.list', []));
    } catch (caught) {
      throw new CommandFailure(
        `no server answers at ${this.url}: ${(caught as Error).message}; is svc running there?${hint && ` ${hint}`}`,
        1,
        {cause: caught},
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

  /** @param message makes the message of each attempt. @param isRetried whether to send it again after this failure */
  async #sent(message: () => Message, isRetried: (failure: Error) => boolean = () => true): Promise<Buffer> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(message());
      if (Buffer.isBuffer(outcome)) return outcome;
      if (attempt === COMMAND_ATTEMPTS_MAX || !isRetried(outcome.again)) throw outcome.again;
      await delay(Math.max(outcome.retryAfterMs, backOffMs(COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX, attempt - 1)));
    }
  }

  async #attempt(message: Message): Promise<Buffer | Failed> {
    let response: Dispatcher.ResponseData;
    let bytes: Buffer;
    try {
      response = await this.#send(message);
      bytes = await readAll(response);
    } catch (caught) {
      return {again: this.#disconnected(caught), retryAfterMs: 0};
    }
    const status = response.statusCode;
    if (status < 300) return bytes;
    if (status !== 503) throw refusal(status, bytes);
    const seconds = Number(response.headers['retry-after'] ?? 0);
    return {again: refusal(status, bytes), retryAfterMs: Math.min(seconds * 1000 || 0, COOL_DOWN_MS)};
  }

  #send({method, body, headers, ...message}: Message): Promise<Dispatcher.ResponseData> {
    return this.#pool.request({
      ...message,
      method: method as Dispatcher.HttpMethod,
      body: body ?? null,
      headers: {authorization: this.#authorization, ...headers},
    });
  }

  #disconnected(cause: unknown): CommandFailure {
    return new CommandFailure(`the connection to ${this.url} failed: ${(cause as Error).message}`, 1, {cause});
  }
}

/** A function that ran out of its turn was rolled back, too, but retrying it would hold up the tenant's writes again. */
function isUndone(failure: Error): boolean {
  return failure instanceof RefusedRequest && NOTHING_WAS_DONE.has(failure.code) && failure.detail.started !== true;
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

function parsed<T>(body: Buffer): T {
  return (body.length === 0 ? null : JSON.parse(body.toString())) as T;
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
