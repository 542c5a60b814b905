/**
 * Sends requests to one tenant. Transient failures are retried with growing delays. Reads can always be retried, and
 * writes because each has an `Idempotency-Key`, so the service applies it once, however often it arrives.
 */
import {NATIVE_RETRY_BASE_MS, NATIVE_RETRY_WAIT_MS_MAX} from '../../shared/client-limits.ts';
import {clientBackOffMs} from '../client/back-off.ts';
import {errorOf, SvcClientError} from './error.ts';
import type {CallOptions} from './types.ts';

const UNAUTHORIZED = 401;

export type TransportOptions = {
  readonly url: string;
  readonly tenant: string;
  readonly key: string | (() => string | Promise<string>);
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  /** Further attempts after the first. */
  readonly retries: number;
};

export type Ask = CallOptions & {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The `Idempotency-Key` of a write. Default: a random one. Null: none, and the write is sent once. */
  readonly idempotencyKey?: string | null;
};

export type Answer = {readonly status: number; readonly headers: Headers; readonly text: string};

export class Transport {
  readonly options: TransportOptions;
  readonly #root: string;
  readonly #tenant: string;
  /** The last key that the app's function returned. */
  #key: string | null = null;
  /** Why there is no newer key. Null: there is one. */
  #keyFailure: SvcClientError | null = null;

  constructor(options: TransportOptions) {
    this.options = options;
    this.#root = options.url.replace(/\/+$/, '');
    this.#tenant = `/api/tenants/${encodeURIComponent(options.tenant)}`;
  }

  /** The address for live queries. */
  get socketUrl(): string {
    return `${this.#root.replace(/^http/, 'ws')}/ws?tenant_id=${encodeURIComponent(this.options.tenant)}`;
  }

  /** Whether the service can be reached and is not overloaded. @throws the signal's abort reason */
  async answers(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#once('GET', '/api/whoami', undefined, {signal});
      return true;
    } catch (caught) {
      if (caught instanceof SvcClientError) return !caught.isTransient;
      throw caught;
    }
  }

  /** @param path below the tenant's path @throws SvcClientError, or the signal's abort reason */
  async call(method: string, path: string, ask: Ask = {}): Promise<Answer> {
    const isWrite = method !== 'GET' && !path.startsWith('/query');
    const {idempotencyKey: key = randomKey()} = ask;
    const headers = {...(isWrite && key !== null ? {'idempotency-key': key} : {}), ...ask.headers};
    const retries = isWrite && key === null ? 0 : this.options.retries;
    // Encoded once: an attempt with another body would be refused under the same idempotency key.
    const body = textOf(ask.body);
    for (let failures = 0; ; failures++) {
      try {
        return await this.#once(method, this.#tenant + path, body, {...ask, headers});
      } catch (caught) {
        const isWorthIt = caught instanceof SvcClientError && caught.isTransient && failures < retries;
        if (!isWorthIt || (caught.retryAfterMs ?? 0) > NATIVE_RETRY_WAIT_MS_MAX) throw caught;
        await wait(
          Math.max(caught.retryAfterMs ?? 0, clientBackOffMs(NATIVE_RETRY_BASE_MS, failures, Math.random())),
          ask.signal,
        );
      }
    }
  }

  /** Resolves with the JSON of the response. */
  async json<T>(method: string, path: string, ask?: Ask): Promise<T> {
    return parsed<T>(await this.call(method, path, ask));
  }

  /** Opens an event stream; resolves when the response head has arrived. @throws SvcClientError */
  async open(method: string, path: string, {body, headers, signal}: Ask): Promise<Response> {
    const said = {accept: 'text/event-stream', ...headers};
    const response = await this.#send(method, this.#tenant + path, textOf(body), said, signal);
    if (!response.ok) throw this.#refusal(response, await response.text());
    if (response.headers.get('content-type')?.startsWith(said.accept) === true) return response;
    throw new SvcClientError('client.bad_answer', 'the answer is no stream of events', response.status);
  }

  async #once(
    method: string,
    path: string,
    body: string | undefined,
    {headers, signal, timeoutMs}: Ask,
  ): Promise<Answer> {
    const timeout = AbortSignal.timeout(timeoutMs ?? this.options.timeoutMs);
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      const response = await this.#send(method, path, body, headers, either);
      const text = await response.text();
      if (!response.ok) throw this.#refusal(response, text);
      return {status: response.status, headers: response.headers, text};
    } catch (caught) {
      if (caught instanceof SvcClientError) throw caught;
      signal?.throwIfAborted();
      if (timeout.aborted)
        throw new SvcClientError('client.timeout', `no answer in ${timeoutMs ?? this.options.timeoutMs} ms`);
      throw unreachable(caught);
    }
  }

  async #send(
    method: string,
    path: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const type: Record<string, string> = body === undefined ? {} : {'content-type': 'application/json'};
    // Called without a receiver, because browsers refuse `fetch` as a method of another object.
    const {fetch: send} = this.options;
    return await send(this.#root + path, {
      method,
      headers: {authorization: `Bearer ${await this.key(signal)}`, ...type, ...headers},
      ...(body === undefined ? {} : {body}),
      ...(signal === undefined ? {} : {signal}),
    });
  }

  /**
   * Resolves with a key that is valid now, or with the last one if there is no new one: the function that gets keys
   * might need the network that is down.
   * @throws SvcClientError `client.no_key` when there has never been a key, or the signal's abort reason
   */
  async key(signal?: AbortSignal): Promise<string> {
    const {key} = this.options;
    if (typeof key === 'string') return key;
    const requested = async () => {
      const got: unknown = await key();
      if (typeof got === 'string' && got !== '') return got;
      throw new TypeError('it is no text');
    };
    try {
      this.#key = await unlessAborted(requested(), signal);
      this.#keyFailure = null;
    } catch (caught) {
      signal?.throwIfAborted();
      const why = `there is no key: ${wordsOf(caught)}`;
      this.#keyFailure = new SvcClientError('client.no_key', why, 0, {}, null, null, caught);
      if (this.#key === null) throw this.#keyFailure;
    }
    return this.#key;
  }

  /**
   * If the last key is refused, why there is no newer one is the more useful error.
   * @param body of an error response
   */
  #refusal(response: Response, body: string): SvcClientError {
    return (response.status === UNAUTHORIZED ? this.#keyFailure : null) ?? errorOf(response, body);
  }
}

/** Resolves like `work` unless the signal is aborted first. @throws the signal's abort reason */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
  });
  return await Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', stop));
}

/** The JSON of a response. @throws SvcClientError `client.bad_answer` */
export function parsed<T>({text, status, headers}: Answer): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    const requestId = headers.get('x-request-id');
    throw new SvcClientError('client.bad_answer', 'the answer is no JSON', status, {}, requestId, null, cause);
  }
}

function textOf(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body);
}

export function unreachable(cause: unknown): SvcClientError {
  const why = `the service cannot be reached: ${wordsOf(cause)}`;
  return new SvcClientError('client.unreachable', why, 0, {}, null, null, cause);
}

function wordsOf(caught: unknown): string {
  return caught instanceof Error ? caught.message : String(caught);
}

/** Works in insecure origins too, where `crypto.randomUUID` is missing. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
}

type Page = {
  addEventListener?: (type: string, listener: () => void) => void;
  removeEventListener?: (type: string, listener: () => void) => void;
};

/** Resolves after `ms` milliseconds, or earlier when the network is back. @throws the signal's abort reason */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  const page = globalThis as Page;
  return new Promise((resolve, reject) => {
    const over = () => {
      clearTimeout(timer);
      page.removeEventListener?.('online', over);
      signal?.removeEventListener('abort', over);
      if (signal?.aborted === true) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(over, ms);
    page.addEventListener?.('online', over);
    signal?.addEventListener('abort', over);
    if (signal?.aborted === true) over();
  });
}
