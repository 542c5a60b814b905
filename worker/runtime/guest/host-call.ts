/**
 * The protocol between code in an isolate and its host, through the one function that the isolate gets: `host(op, a?,
 * b?, c?)`. Both sides import this file, so it can contain only constants and types.
 *
 * Arguments are numbers, strings and byte arrays, copied in both directions; the host treats them as outside input. The
 * host never throws, because its error would carry its stack into the isolate. An answer is a string. After `+` it
 * holds the result; after `-` it holds an error as JSON `{"name", "message"}`, which the realm throws as its own error.
 */
export const HostOp = {
  /* every invocation */
  /** (invocation number, value as wire JSON text, `Observed` bits): it succeeded. */
  done: 1,
  /** (invocation number, JSON of RealmError): it failed. */
  failed: 2,
  /**
   * (module path) → nothing; the host has loaded the module and passed its namespace to the kernel. Actions: import().
   */
  loadModule: 3,
  /** (line): one console line, complete with its level. */
  log: 4,
  /** () → identity as JSON text, or `null`. (1): throws if there is none because the header was no valid token. */
  identity: 5,
  /** (name) → JSON string, or `null` if it is not set. */
  env: 6,
  /** () → all names, as a JSON array. */
  envNames: 7,
  /** (byte count) → random bytes as a one-byte string; actions only. */
  randomBytes: 8,
  /** () → wall clock, epoch milliseconds, coarsened; actions only. */
  now: 9,
  /** (operation name, JSON) → see crypto/crypto-host.ts. */
  crypto: 10,

  /* database: queries and mutations */
  /** (id) → document text, or nothing after the `+` if there is none. */
  get: 20,
  /** (table, wire text of the fields) → id. */
  insert: 21,
  /** (id, wire text of the fields to set, JSON array of the fields to remove). */
  patch: 22,
  /** (id). */
  delete: 23,
  /**
   * (JSON of QuerySpec, maximum number of rows in the first batch) → `handle,isDone` + newline + JSON array of
   * documents.
   */
  queryOpen: 24,
  /** (handle, maximum number of rows) → as queryOpen. */
  queryNext: 25,
  /** (handle). */
  queryClose: 26,
  /** (JSON of QuerySpec, JSON of the pagination options) → PaginationResult as JSON. */
  paginate: 27,
  /** (JSON {path, runAtMs | delayMs, args}) → job id; in actions this is asynchronous. */
  schedule: 28,
  /** (job id). */
  cancel: 29,
  /** (id) → the name of its table, or nothing after the `+` if it is not an id of any table. */
  tableOf: 30,

  /* actions: asynchronous, answered later through the kernel's `settle(call, answer, bytes?)` */
  /** (call number, operation name, JSON, bytes?) */
  start: 40,
} as const;
export type HostOp = (typeof HostOp)[keyof typeof HostOp];

/** Inputs of an invocation that no commit changes, as bits. */
export const Observed = {clock: 1, random: 2} as const;

export type HostCall = (
  op: HostOp,
  a?: string | number,
  b?: string | number | Uint8Array,
  c?: string | number | Uint8Array,
  d?: Uint8Array,
) => string;

export type InvocationKind = 'query' | 'mutation' | 'action' | 'httpAction';

/** An invocation, as the host passes it to the kernel. */
export type Invocation = {
  /** Increases over the life of a realm. Answers include it, so that a late one is recognised. */
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

/** The same for code that belongs to no module. */
export type CodeInvocation = Pick<Invocation, 'n' | 'args' | 'nowMs' | 'seed'>;

/** How an invocation failed. `stack` is V8's, with positions in the bundle; the host maps it to the sources. */
export type RealmError = {message: string; name: string; stack: string | null};

/**
 * Ends the message about a returned value that is not a valid value, before the function's name, because no stack frame
 * shows where it was made.
 */
export const RETURNED_BY = '; returned by ';

export type QueryRangeOp = {op: 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte'; field: string; value: WireOrMissing};
/** A wire value, or `{"$undefined": true}` for the missing value. `$undefined` cannot be a user's key. */
export type WireOrMissing = unknown;

/** Filter expressions: `["field", path]`, `["value", WireOrMissing]`, `[operator, ...operands]`. */
export type FilterExpression = [string, ...unknown[]];

export type QuerySpec = {
  table: string;
  /** Null: the whole table, by creation time. */
  index: {name: string; range: QueryRangeOp[]} | null;
  order: 'asc' | 'desc';
  filters: FilterExpression[];
};

/** Whether a realm can be used again after a call, see integrity.ts. */
export type RealmUse = 'once' | 'sealed' | 'compared';
