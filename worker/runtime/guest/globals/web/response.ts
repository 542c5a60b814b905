/** `Response` of the fetch standard. */
import {define} from '../define.ts';
import {Body, contentOf} from './body.ts';
import {Headers} from './headers.ts';

const NO_BODY = [101, 103, 204, 205, 304];
const REDIRECTS = [301, 302, 303, 307, 308];

type Init = {status?: unknown; statusText?: unknown; headers?: unknown};

export class Response extends Body {
  readonly #headers: Headers;
  #status: number;
  readonly #statusText: string;
  #type = 'default';

  constructor(body?: unknown, init: Init = {}) {
    const {status = 200, statusText = '', headers} = init ?? {};
    const code = Math.trunc(Number(status));
    if (!(code >= 200 && code <= 599))
      throw new RangeError(`Response: the status ${String(status)} is not between 200 and 599`);
    const text = String(statusText);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(text)) throw new TypeError('Response: the status text is not valid');
    const given = contentOf(body);
    if (given !== null && NO_BODY.includes(code))
      throw new TypeError(`Response: a response with status ${code} has no body`);
    super(given?.content ?? null);
    this.#headers = new Headers(headers);
    if (typeof given?.type === 'string' && !this.#headers.has('content-type')) {
      this.#headers.set('content-type', given.type);
    }
    this.#status = code;
    this.#statusText = text;
  }

  static json(value: unknown, init: Init = {}): Response {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError('Response.json: the value is not JSON');
    const response = new Response(text, init);
    if (!new Headers(init?.headers).has('content-type')) response.#headers.set('content-type', 'application/json');
    return response;
  }

  static error(): Response {
    const response = new Response();
    response.#status = 0;
    response.#type = 'error';
    return response;
  }

  static redirect(url: unknown, status: unknown = 302): Response {
    const location = new URL(String(url)).href;
    if (!REDIRECTS.includes(Number(status)))
      throw new RangeError(`Response.redirect: ${String(status)} is not a redirect status`);
    return new Response(null, {status, headers: {location}});
  }

  get headers(): Headers {
    return this.#headers;
  }
  get status(): number {
    return this.#status;
  }
  get statusText(): string {
    return this.#statusText;
  }
  get ok(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }
  get type(): string {
    return this.#type;
  }
  get url(): string {
    return '';
  }
  get redirected(): boolean {
    return false;
  }

  clone(): Response {
    const {status, statusText, headers} = this;
    const content = this.teed();
    const copy = new Response(null, {status: status === 0 ? 200 : status, statusText, headers});
    copy.#status = status;
    copy.#type = this.#type;
    for (const key of ['url', 'redirected', 'type']) {
      // A response from `fetch` has them as own properties.
      const property = Object.getOwnPropertyDescriptor(this, key);
      if (property !== undefined) Object.defineProperty(copy, key, property);
    }
    copy.adopt(content);
    return copy;
  }
}
define(Response.prototype, Symbol.toStringTag, 'Response');
