/**
 * What the router asks of a worker: the meta of a `request` frame and of its `response`. The router fills it from method,
 * path, query string and headers alone; the body is the client's own bytes, decoded by the worker.
 */

/**
 * Every operation, with what it does to the data. `read`: changes nothing. `write`: never sent twice; when its worker dies
 * unanswered, its outcome is unknown.
 */
export const OPERATIONS = {
  'documents.insert': 'write',
  'documents.list': 'read',
  'documents.get': 'read',
  'documents.patch': 'write',
  'documents.delete': 'write',
  'query.run': 'read',
  'query.paginated': 'read',
  'journal.page': 'read',
  'journal.bootstrap': 'read',
  'schema.all': 'read',
  'schema.get': 'read',
  'schema.put': 'write',
  'schema.delete': 'write',
  'schedule.create': 'write',
  'schedule.list': 'read',
  'schedule.get': 'read',
  'schedule.cancel': 'write',
  'schedule.result': 'read',
  'crons.create': 'write',
  'crons.list': 'read',
  'crons.delete': 'write',

  'deployments.create': 'write',
  'deployments.list': 'read',
  'deployments.activate': 'write',
  'functions.list': 'read',
  'functions.run': 'write',
  'env.list': 'read',
  'env.get': 'read',
  'env.set': 'write',
  'env.delete': 'write',
  'logs.read': 'read',
  'settings.get': 'read',
  'settings.put': 'write',
  'tables.list': 'read',

  'functions.query': 'read',
  'functions.paginated': 'read',
  'functions.mutation': 'write',
  'functions.action': 'write',
  'functions.http': 'write',
  'functions.schedule': 'write',
  'functions.unschedule': 'write',
  'functions.preflight': 'read',
} as const satisfies Record<string, 'read' | 'write'>;
export type Operation = keyof typeof OPERATIONS;

/** Reads that are over in a moment whatever the tenant holds: they cannot have ended a worker, so they may be sent once more. */
export const SHORT_READS: ReadonlySet<Operation> = new Set([
  'documents.get',
  'schema.all',
  'schema.get',
  'schedule.result',
  'crons.list',
  'journal.page',
  'deployments.list',
  'functions.list',
  'env.list',
  'env.get',
  'settings.get',
  'functions.preflight',
]);

/** Operations that run a tenant's own code: none is sent twice, because it may be what ended the worker. */
export const USER_CALLS: ReadonlySet<Operation> = new Set([
  'functions.run',
  'functions.query',
  'functions.paginated',
  'functions.mutation',
  'functions.action',
  'functions.http',
]);

/** Headers in the order in which they were sent; a name may come more than once. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/**
 * Meta of a `request` frame, as JSON. Keys are short because it is built and parsed for every request. With the flag
 * `streams` the body is not in the frame: it follows in `chunk` frames, the last one with the flag `end`.
 */
export type RequestMeta = {
  op: Operation;
  /**
   * Path parameters after the tenant, percent-decoded, in path order; not validated yet. `functions.schedule`: `run_after` or
   * `run_at`. `functions.http`: the path behind `/http` as it stands in the URL, with its leading `/`.
   */
  p?: string[];
  /** The raw query string without `?`, only where the operation takes parameters. */
  q?: string;
  /** The `Idempotency-Key` header, only on writes of the native API. */
  k?: string;
  /** X-Request-Id, for logs. */
  r?: string;

  /* deployment routes (`/svc/…`) only */
  /** The `Authorization` header as it was sent: a tenant's token, never an admin credential. */
  a?: string;
  /** The request carries the valid admin token in `X-Svc-Admin-Token`. */
  w?: 1;
  /** The `Origin` header. */
  o?: string;

  /* `functions.http` only */
  /** The method. */
  m?: string;
  /** The whole external URL. */
  u?: string;
  /** The headers, names in lower case, without hop-by-hop ones and without the admin token. */
  h?: HeaderList;
};

/** Meta of a `response` frame, as JSON. An empty meta stands for `{"s":200}`. */
export type ResponseMeta = {
  /** HTTP status. */
  s: number;
  /** Seconds for `Retry-After`. */
  ra?: number;
  /** More headers; never those that frame the message or that the router sets (`response-headers.ts`). */
  h?: HeaderList;
  /** `Content-Type` of the body. Absent: `application/json`. Empty: none is sent. */
  t?: string;
};
