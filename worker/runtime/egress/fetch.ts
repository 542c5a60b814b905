/**
 * `fetch` for a tenant's code and for the keys of its auth providers. undici implements the fetch standard (redirects,
 * methods, headers dropped across origins, decompression). This file adds the policy, the allowed schemes, the headers
 * that callers must not set, and a length limit for every body.
 */
import {Buffer} from 'node:buffer';
import type {Readable} from 'node:stream';
import {type BodyInit, type Dispatcher, fetch, type Response} from 'undici';
import {EgressRefused} from '../../../shared/egress/refused.ts';
import {HOP_BY_HOP} from '../../../shared/http-headers.ts';
import {EGRESS_RESPONSE_BYTES_MAX} from '../limits.ts';
import {Egress} from './connector.ts';

export {Egress};

export type EgressRequest = {
  method: string;
  url: string;
  headers: [string, string][];
  body: Buffer | AsyncIterable<Uint8Array> | null;
  redirect: 'follow' | 'error' | 'manual';
  signal?: AbortSignal;
  /** Longest response body, decompressed, in bytes. At most, and by default, EGRESS_RESPONSE_BYTES_MAX. */
  bodyBytesMax?: number;
};

export type EgressResponse = {
  status: number;
  statusText: string;
  headers: [string, string][];
  /** URL of the response, after redirects. */
  url: string;
  redirected: boolean;
  /** Throws if it breaks off or grows too long. Read it to its end or leave the loop: that frees the connection. */
  body: AsyncIterable<Uint8Array>;
};

/** Request headers that undici writes itself: another `Host` would reach another site at the same address. */
const WRITTEN_BY_US = ['content-length', 'expect', 'host'];

/**
 * @throws EgressRefused if the policy refuses the connection; TypeError as fetch does; the signal's reason if it aborts
 */
export async function egressFetch(egress: Egress, request: EgressRequest): Promise<EgressResponse> {
  const url = checkedUrl(request.url);
  const {body} = request;
  const isStream = body !== null && !Buffer.isBuffer(body);
  const response = await fetch(url, {
    method: request.method,
    headers: without([...HOP_BY_HOP, ...WRITTEN_BY_US], request.headers),
    redirect: request.redirect,
    signal: request.signal ?? null,
    dispatcher: isStream ? egress.requests.compose(sendsOnce(body)) : egress.requests,
    ...(body === null || isStream ? {} : {body: body as BodyInit}),
  }).catch((error: unknown) => {
    throw plainError(error);
  });
  return {
    status: response.status,
    statusText: response.statusText,
    headers: without(HOP_BY_HOP, [...response.headers]),
    url: response.url,
    redirected: response.redirected,
    body: bounded(response, Math.min(request.bodyBytesMax ?? Infinity, EGRESS_RESPONSE_BYTES_MAX)),
  };
}

/**
 * Sends a body with the request, past undici's `fetch`: that would keep every chunk until the response, because it holds
 * a second branch of the stream. After a redirect that repeats the method, the body cannot be sent again.
 */
function sendsOnce(body: AsyncIterable<Uint8Array>): Dispatcher.DispatcherComposeInterceptor {
  let isSent = false;
  // undici takes iterables, which its types do not say.
  return dispatch => (options, handler) => {
    if (!isSent) {
      isSent = true;
      return dispatch({...options, body: body as Readable, headers: chunked(options.headers)}, handler);
    }
    if (options.method !== 'GET' && options.method !== 'HEAD') {
      throw new TypeError('a streamed body cannot be sent again after a redirect');
    }
    return dispatch(options, handler);
  };
}

/** Without the length of the empty body that `fetch` assumes. */
function chunked(headers: Dispatcher.DispatchOptions['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers as Record<string, string>).filter(([name]) => name.toLowerCase() !== 'content-length'),
  );
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new TypeError(`Invalid URL: ${text.slice(0, 200)}`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(
      `Unsupported URL scheme -- http and https are supported (scheme was ${url.protocol.slice(0, -1)})`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('A URL with a user name or password cannot be fetched; send an Authorization header');
  }
  return url;
}

function without(names: readonly string[], headers: [string, string][]): [string, string][] {
  return headers.filter(([name]) => !names.includes(name.toLowerCase()));
}

async function* bounded(response: Response, bytesMax: number): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  let bytes = 0;
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw new TypeError(`The response of ${response.url} is longer than ${bytesMax} bytes`);
      yield chunk;
    }
  } catch (error) {
    throw plainError(error);
  }
}

/** undici's message is `fetch failed`, with the reason as the cause; authors of functions see messages only. */
function plainError(error: unknown): unknown {
  if (!(error instanceof TypeError) || error.cause === undefined) return error;
  const cause = innermost(error);
  if (cause instanceof EgressRefused) return cause;
  return new TypeError(`${error.message}: ${cause.message || (cause as NodeJS.ErrnoException).code}`, {cause});
}

/** If several addresses all failed, the error is an AggregateError; its first error is used. */
function innermost(error: Error): Error {
  const next = error instanceof AggregateError ? error.errors[0] : error.cause;
  return next instanceof Error ? innermost(next) : error;
}
