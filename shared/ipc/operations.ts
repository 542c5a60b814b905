/**
 * What the router asks of a worker: the meta of a `request` frame and of its `response`. The router fills it from method,
 * path, query string and headers alone; the body is the client's own bytes, decoded by the worker.
 */

/**
 * Every operation, with what it does to the data. `read`: changes nothing, so the router may send it once more when the
 * worker died before answering. `write`: never sent twice; when its worker dies unanswered, its outcome is unknown.
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
  'schedule.cancel': 'write',
  'schedule.result': 'read',
  'crons.create': 'write',
  'crons.list': 'read',
  'crons.delete': 'write',
} as const satisfies Record<string, 'read' | 'write'>;
export type Operation = keyof typeof OPERATIONS;

/** Meta of a `request` frame, as JSON. Keys are short because it is built and parsed for every request. */
export type RequestMeta = {
  op: Operation;
  /** Path parameters after the tenant, percent-decoded, in path order; not validated yet. */
  p?: string[];
  /** The raw query string without `?`, only where the operation takes parameters. */
  q?: string;
  /** The `Idempotency-Key` header, only on writes. */
  k?: string;
  /** X-Request-Id, for logs. */
  r?: string;
};

/** Meta of a `response` frame, as JSON. An empty meta stands for `{"s":200}`. A body, where there is one, is JSON. */
export type ResponseMeta = {
  /** HTTP status. */
  s: number;
  /** Seconds for `Retry-After`. */
  ra?: number;
};
