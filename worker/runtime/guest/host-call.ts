/**
 * What code in an isolate asks of the host, through the one function it is given: `host(op, a?, b?, c?)`. Shared by both
 * sides, so it may hold nothing but constants and types.
 *
 * Arguments are numbers, strings and byte arrays, copied both ways; the host treats them as outside input. It never throws
 * (an error of the host would carry its stack inside): an answer is a string whose first character says what follows it,
 * `+` the result or `-` an error as JSON `{"name", "message"}`, which the realm throws as an error of its own.
 */
export const HostOp = {
  /* every invocation */
  /** (invocation number, value as wire JSON text, `Observed` bits): it succeeded. */
  done: 1,
  /** (invocation number, JSON of RealmError): it failed. */
  failed: 2,
  /** (module path) → nothing; the host has loaded the module and given its namespace to the kernel. Actions: import(). */
  loadModule: 3,
  /** (line): one console line, complete with its level. */
  log: 4,
  /** () → identity as JSON text, or `null`. (1): throws when there is none to give because the header was no valid token. */
  identity: 5,
  /** (name) → JSON string, or `null` when it is not set. */
  env: 6,
  /** () → all names, as a JSON array. */
  envNames: 7,
  /** (byte count) → random bytes as a one-byte string; actions only. */
  randomBytes: 8,
  /** () → wall clock, epoch milliseconds, coarsened; actions only. */
  now: 9,
  /** (operation name, JSON) → see the crypto host. */
  crypto: 10,

  /* database: queries and mutations */
  /** (id) → document text, or nothing after the `+` when there is none. */
  get: 20,
  /** (table, wire text of the fields) → id. */
  insert: 21,
  /** (id, wire text of the fields that are set, JSON array of the fields that are removed). */
  patch: 22,
  /** (id). */
  delete: 23,
  /** (JSON of QuerySpec, most rows wanted at first) → `handle,isDone` + newline + JSON array of documents. */
  queryOpen: 24,
  /** (handle, most rows wanted) → as queryOpen. */
  queryNext: 25,
  /** (handle). */
  queryClose: 26,
  /** (JSON of QuerySpec, JSON of the pagination options) → PaginationResult as JSON. */
  paginate: 27,
  /** (JSON {path, runAtMs | delayMs, args}) → job id; in actions this is asynchronous. */
  schedule: 28,
  /** (job id). */
  cancel: 29,
  /** (id) → the name of its table, or nothing after the `+` when it is no id of one. */
  tableOf: 30,

  /* actions: asynchronous, answered later through the kernel's `settle(call, answer, bytes?)` */
  /** (call number, operation name, JSON, bytes?) */
  start: 40,
} as const;
export type HostOp = (typeof HostOp)[keyof typeof HostOp];

/** What an invocation has looked at that no commit changes, as bits. */
export const Observed = {clock: 1, random: 2} as const;

export type HostCall = (
  op: HostOp,
  a?: string | number,
  b?: string | number | Uint8Array,
  c?: string | number | Uint8Array,
  d?: Uint8Array,
) => string;

export type InvocationKind = 'query' | 'mutation' | 'action' | 'httpAction';

/** What the host hands to the kernel. */
export type Invocation = {
  /** Counts up in a realm; answers name it, so that a late one is known. */
  n: number;
  module: string;
  name: string;
  kind: InvocationKind;
  /** True for paginatedQuery: the result must be a PaginationResult. */
  paginated: boolean;
  /** Wire JSON text of the arguments object; for an HTTP action JSON of HttpRequestHead. */
  args: string;
  /** Epoch milliseconds: the frozen time of queries and mutations, the start of actions. */
  nowMs: number;
  /** 32 hex characters: the seed of Math.random and crypto in queries and mutations. */
  seed: string;
};

/** The same of code that is of no module. */
export type CodeInvocation = Pick<Invocation, 'n' | 'args' | 'nowMs' | 'seed'>;

/** How an invocation failed. `stack` is V8's, with the bundle's positions; the host maps it to the sources. */
export type RealmError = {message: string; name: string; stack: string | null};

/** Ends the message about a returned value that is no value, before the function's name: no frame of a stack says where it was made. */
export const RETURNED_BY = '; returned by ';

export type QueryRangeOp = {op: 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte'; field: string; value: WireOrMissing};
/** A wire value, or `{"$undefined": true}` for the missing value. `$undefined` cannot be a user's key. */
export type WireOrMissing = unknown;

/** Filter expressions: `["field", path]`, `["value", WireOrMissing]`, `[operator, ...operands]`. */
export type FilterExpression = [string, ...unknown[]];

export type QuerySpec = {
  table: string;
  /** Null: the whole table by creation time. */
  index: {name: string; range: QueryRangeOp[]} | null;
  order: 'asc' | 'desc';
  filters: FilterExpression[];
};

/** What becomes of a realm after a call, see integrity.ts. */
export type RealmUse = 'once' | 'sealed' | 'compared';
