/**
 * Validates the metadata of a router's request, and decodes it for handlers: the short field names of the wire end here.
 * A router of another version must lose its connection, not crash the tenant's process.
 */

import {Buffer} from 'node:buffer';
import type {Cause} from '../../engine/commit/cause.ts';
import type {IncomingBody} from '../../engine/io/incoming-body.ts';
import {isHeaderList} from '../../shared/http-headers.ts';
import {FrameFlag, MalformedFrame} from '../../shared/ipc/frame.ts';
import type {HeaderList, RequestMeta} from '../../shared/ipc/operations.ts';
import {OPERATIONS, type Operation, traitsOf} from '../../shared/operations.ts';
import type {Resumed} from '../../shared/protocol/function-socket/server-message.ts';

/** Path parameters of an operation, by name; not validated yet. */
export type Params<O extends Operation> = {readonly [name in (typeof OPERATIONS)[O]['params'][number]]: string};

/** The caller as the router knows it: admin credentials are verified, nothing else is. */
export type Credentials = {
  /** The `Authorization` header of a deployment's caller, unmodified; null: none. */
  readonly authorization: string | null;
  readonly isAdmin: boolean;
};

export type Request<O extends Operation = Operation> = {
  readonly op: O;
  readonly params: Params<O>;
  /** The raw query string without `?`. */
  readonly query: string;
  /** The `Idempotency-Key`; null: none. */
  readonly key: string | null;
  /** The family of the API key that sent the `Idempotency-Key`; null: an admin credential did. */
  readonly keyOwner: string | null;
  /** The `If-Match` and `If-None-Match` headers; null: none. */
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
  /** The router requests to cache the answer. */
  readonly isForCache: boolean;
  /** The `Last-Event-ID` of an event reader that reconnects; null: none. */
  readonly lastEventId: string | null;
  /** The last event that another worker sent to the reader of a stream that continues here; null: it begins. */
  readonly continuesAfter: string | null;
  /** The `Content-Type` header, for operations with several body types; empty: none. */
  readonly contentType: string;
  readonly requestId: string;
  /** The API key that a write was requested with, and the dashboard session; undefined: neither. */
  readonly keyId: string | undefined;
  readonly sessionId: string | undefined;
  readonly caller: Credentials;
  /** An operator's signed grant for the body, which the supervisor can verify. Null: none. */
  readonly signedGrant: string | null;
  /** The `Origin` of a page; null: none. */
  readonly origin: string | null;
  /** For HTTP actions: the request as it arrived. */
  readonly http: {readonly method: string; readonly url: string; readonly headers: HeaderList} | null;
  /** Valid until the handler returns; see `detached`. Empty when the body comes as `incoming`. */
  readonly body: Buffer;
  readonly incoming: IncomingBody | null;
};

const ANONYMOUS: Credentials = {authorization: null, isAdmin: false};

export function decoded(meta: RequestMeta, body: Buffer, incoming: IncomingBody | null): Request {
  const {
    op,
    p,
    q = '',
    k = null,
    f = null,
    im = null,
    nm = null,
    le = null,
    ct = '',
    r = '',
    v = null,
    a = null,
    w,
    o = null,
  } = meta;
  const {m, u = '/', h = []} = meta;
  return {
    op,
    params: named(traitsOf(op).params, p),
    query: q,
    key: k,
    keyOwner: f,
    ifMatch: im,
    ifNoneMatch: nm,
    isForCache: meta.ch === 1,
    lastEventId: le,
    continuesAfter: meta.c ?? null,
    contentType: ct,
    requestId: r,
    keyId: meta.b,
    sessionId: meta.d,
    caller: a === null && w === undefined ? ANONYMOUS : {authorization: a, isAdmin: w === 1},
    signedGrant: v,
    origin: o,
    http: m === undefined ? null : {method: m, url: u, headers: h},
    body,
    incoming,
  };
}

/** The cause of what a request writes, in the form of the journal. @param kind of the cause */
export function causeOf(
  {requestId, keyId, sessionId}: Partial<Pick<Request, 'requestId' | 'keyId' | 'sessionId'>>,
  kind: Cause['kind'] = 'api',
): Cause {
  // JSON leaves out what is undefined.
  return {kind, request_id: requestId, key_id: keyId, session_id: sessionId};
}

/** Copies a request so that it stays valid after this tick. */
export function detached<O extends Operation>(request: Request<O>): Request<O> {
  return request.body.length === 0 ? request : {...request, body: Buffer.from(request.body)};
}

function named(names: readonly string[], values: readonly string[] = []): Params<Operation> {
  const params: Record<string, string> = {};
  for (let i = 0; i < names.length; i++) params[names[i]!] = values[i] ?? '';
  return params as Params<Operation>;
}

const OPERATION_NAMES: ReadonlySet<unknown> = new Set(Object.keys(OPERATIONS));

/** @throws MalformedFrame */
export function parseRequestMeta(meta: Buffer): RequestMeta {
  let value: Partial<RequestMeta> | null;
  try {
    value = JSON.parse(meta.toString('utf8')) as Partial<RequestMeta> | null;
  } catch (cause) {
    throw new MalformedFrame('request meta is not JSON', {cause});
  }
  if (typeof value !== 'object' || value === null || !OPERATION_NAMES.has(value.op)) {
    throw new MalformedFrame('request meta names no operation');
  }
  const {p, q, k, im, nm, le, c, ch, ct, r, a, o, m, u, h, w, b, d} = value;
  // Written out because it runs for every request: a loop with callbacks took as long as the parse.
  const areTexts = isText(q) && isText(k) && isText(r) && isText(a) && isText(o) && isText(m) && isText(u);
  const areConditions = isText(im) && isText(nm) && isText(le) && isText(c) && isText(ct) && isText(b) && isText(d);
  if (
    !areTexts ||
    !areConditions ||
    !areTextList(p) ||
    (h !== undefined && !isHeaderList(h)) ||
    (w !== undefined && w !== 1) ||
    (ch !== undefined && ch !== 1)
  ) {
    throw new MalformedFrame('request meta holds what no request has');
  }
  return value as RequestMeta;
}

/** What the flags of `socketOpen` say; null: the socket is new. */
export function resumedIn(flags: number): Resumed | null {
  if ((flags & FrameFlag.resumed) === 0) return null;
  return (flags & FrameFlag.failed) === 0 ? 'answered' : 'lost';
}

/** A string or undefined. */
function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** A list of strings or undefined. */
function areTextList(values: unknown): boolean {
  if (values === undefined) return true;
  if (!Array.isArray(values)) return false;
  for (let i = 0; i < values.length; i++) if (typeof values[i] !== 'string') return false;
  return true;
}
