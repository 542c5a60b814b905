/** `Request`, with the members that have a meaning outside a browser: no cache, no credentials, no referrer. */
import {define} from '../define.ts';
import {AbortController, AbortSignal} from './abort.ts';
import {Body, contentOf} from './body.ts';
import {Headers} from './headers.ts';

const NORMALIZED = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'];
const FORBIDDEN = ['CONNECT', 'TRACE', 'TRACK'];
const REDIRECTS = ['follow', 'error', 'manual'];
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

type Init = {
  method?: unknown;
  headers?: unknown;
  body?: unknown;
  redirect?: unknown;
  signal?: unknown;
  keepalive?: unknown;
};

export class Request extends Body {
  readonly method: string;
  readonly url: string;
  readonly #headers: Headers;
  readonly redirect: string;
  readonly signal: AbortSignal;
  readonly keepalive: boolean;
  readonly duplex = 'half';
  readonly mode = 'cors';
  readonly credentials = 'same-origin';
  readonly cache = 'default';
  readonly destination = '';
  readonly integrity = '';
  readonly referrer = 'about:client';
  readonly referrerPolicy = '';

  constructor(input: unknown, init: Init = {}) {
    const from = input instanceof Request ? input : null;
    const options = init ?? {};
    const method = options.method === undefined ? (from?.method ?? 'GET') : methodOf(options.method);
    const given = contentOf(options.body);
    if (given !== null && (method === 'GET' || method === 'HEAD')) {
      throw new TypeError(`Request: a ${method} request cannot have a body`);
    }
    const url = from?.url ?? urlOf(input);
    super(given?.content ?? (options.body === undefined && from !== null ? from.taken() : null));
    this.method = method;
    this.url = url;
    this.#headers = new Headers(options.headers ?? from?.headers);
    if (typeof given?.type === 'string' && !this.#headers.has('content-type')) {
      this.#headers.set('content-type', given.type);
    }
    this.redirect = redirectOf(options.redirect ?? from?.redirect ?? 'follow');
    this.signal = signalOf(options.signal === undefined ? (from?.signal ?? null) : options.signal);
    this.keepalive = Boolean(options.keepalive ?? from?.keepalive);
  }

  get headers(): Headers {
    return this.#headers;
  }

  clone(): Request {
    const content = this.teed();
    const {method, redirect, signal, keepalive, url} = this;
    const copy = new Request(url, {method, headers: this.headers, redirect, signal, keepalive});
    copy.adopt(content);
    return copy;
  }
}
define(Request.prototype, Symbol.toStringTag, 'Request');

function methodOf(method: unknown): string {
  const text = String(method);
  const upper = text.toUpperCase();
  if (!TOKEN.test(text) || FORBIDDEN.includes(upper))
    throw new TypeError(`Request: '${text}' is not a valid HTTP method`);
  return NORMALIZED.includes(upper) ? upper : text;
}

function urlOf(input: unknown): string {
  const url = new URL(String(input));
  if (url.username !== '' || url.password !== '') throw new TypeError(`Request: a URL with credentials: ${url.host}`);
  return url.href;
}

function redirectOf(redirect: unknown): string {
  if (!REDIRECTS.includes(String(redirect)))
    throw new TypeError(`Request: '${String(redirect)}' is not a redirect mode`);
  return String(redirect);
}

/** The request has its own signal, which follows the given one. */
function signalOf(signal: unknown): AbortSignal {
  if (signal === null) return new AbortController().signal;
  if (!(signal instanceof AbortSignal)) throw new TypeError('Request: the signal must be an AbortSignal');
  return AbortSignal.any([signal]);
}
