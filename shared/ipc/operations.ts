/**
 * The requests from the router to a worker: the meta of a `request` frame and of its `response`. The router builds it
 * from method, path, query string and headers alone; the body is the client's own bytes, decoded by the worker.
 */

import type {Operation} from '../operations.ts';
import type {Scope} from '../rights.ts';

/** Headers in the order in which they were sent; a name can occur more than once. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/**
 * Meta of a `request` frame, as JSON. Keys are short because it is built and parsed for every request. With the flag
 * `streams` the body is not in the frame: it follows in `chunk` frames, the last one with the flag `end`.
 */
export type RequestMeta = {
  op: Operation;
  /**
   * Path parameters after the tenant, percent-decoded, in path order; not validated yet. `functions.schedule`:
   * `run_after` or `run_at`. `functions.http`: the raw path after `/http` in the URL, with its leading `/`.
   */
  p?: string[];
  /** The raw query string without `?`, only if the operation takes parameters. */
  q?: string;
  /** The `Idempotency-Key` header, only on writes of the native API. */
  k?: string;
  /** The family of the key that sent it; absent: an admin credential sent it. */
  f?: string;
  /** The `If-Match` and `If-None-Match` headers, only if the operation takes conditions. */
  im?: string;
  nm?: string;
  /** The router requests to cache the answer. */
  ch?: 1;
  /** The `Last-Event-ID` header, only if the operation can resume from one. */
  le?: string;
  /**
   * The last event id that a reader of the journal was sent by a worker that the tenant moved away from: the answer
   * continues there, without the events that open a stream.
   */
  c?: string;
  /** Tables that the key is limited to, if only the body says which tables the request uses. */
  t?: readonly string[];
  /** The scope, needed by some bodies of this operation, that the key lacks. */
  n?: Scope;
  /** The `Content-Type` header, only if the operation accepts several types of body. */
  ct?: string;
  /** X-Request-Id, for logs. */
  r?: string;
  /** The id of the key that sent it, and of the dashboard session: not on reads. The journal says who wrote. */
  b?: string;
  d?: string;
  /** `settings.put` only: the signed grant for the body (shared/egress/signed-grant.ts). */
  v?: string;

  /* deployment routes (`/svc/…`) only */
  /** The raw `Authorization` header: a tenant's token, never an admin credential. */
  a?: string;
  /** The request carries the valid admin token in `X-Svc-Admin-Token`. */
  w?: 1;
  /** The `Origin` header. */
  o?: string;

  /* `functions.http` only */
  /** The method. */
  m?: string;
  /** The complete external URL. */
  u?: string;
  /** The headers, names in lower case, without hop-by-hop headers and without the admin token. */
  h?: HeaderList;
};

/**
 * Meta of a `response` frame, as JSON. An empty meta means `{"s":200}`. A meta that is an entity tag as written in a
 * header (`"…"`) means a 200 with that `ETag`.
 */
export type ResponseMeta = {
  /** HTTP status. */
  s: number;
  /** `ETag`. */
  e?: string;
  /** Seconds for `Retry-After`. */
  ra?: number;
  /** More headers; never those that frame the message or that the router sets (`http-headers.ts`). */
  h?: HeaderList;
  /** `Content-Type` of the body. Absent: `application/json`. Empty: none is sent. */
  t?: string;
  /**
   * Of a cacheable result of a query function: the number under which it is dropped, from 1, and the name under which
   * calls that it answers are reported.
   */
  c?: readonly [number: number, name: string];
};

/** A call that a router answered with a cached result: epoch milliseconds, the result's name, X-Request-Id. */
export type AnsweredCall = readonly [atMs: number, name: string, requestId: string];
