/**
 * Limits that several folders share. Names contain the unit; comments say why that number, and what happens beyond it.
 * Limits of one folder are in its own `limits.ts`. A queue, page, body, frame, retry or cache without a limit is a
 * defect. docs/limits.md is generated from all of them.
 */
import {NESTING_LEVELS_MAX} from './values/value-limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/* Disk */

/**
 * Space that a base, merge, restore, upload, export or clone leaves free on its disk: these bytes, and on a small disk its
 * size divided by the second number. Beyond: it is refused, for a request with 507 session.storage_full. (ours)
 */
export const DISK_RESERVE_BYTES = 256 * MIB;
export const DISK_RESERVE_DIVISOR = 16;
/** Size of a note in a tenant's directory that root, or a command, reads. Beyond: it is not read. (ours) */
export const TENANT_NOTE_BYTES_MAX = 64 * KIB;

/* HTTP edge */

/** Longest request body. Beyond: 413 op.too_large. (design) */
export const BODY_BYTES_MAX = 8 * MIB;
/**
 * Longest path with its query string; also fits within 4 KiB of headers of a proxy in front of svc. Beyond: 400
 * op.invalid_input. (ours)
 */
export const URL_BYTES_MAX = 4 * KIB;
/** `Idempotency-Key` header. Beyond: 400 op.invalid_input. (design) */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255;
/**
 * Operations of a transaction, beyond: 400 op.invalid_input; and the total size of the documents and jobs that it
 * writes, beyond: 413 op.too_large. (ours)
 */
export const TRANSACTION_OPERATIONS_MAX = 1_000;
/**
 * A client's `X-Request-Id`, printable ASCII. Beyond, or other characters: the router's own id is used instead. (ours)
 */
export const REQUEST_ID_CHARS_MAX = 64;
/** A key's name. Beyond: 400 op.invalid_input. (ours) */
export const KEY_NAME_CHARS_MAX = 128;
/** Tenants, and tables, that a key can be limited to. Beyond: 400 op.invalid_input. (ours) */
export const KEY_NAMES_MAX = 100;
/** Longest validity of a key, and of the older secret of a rotated key. Beyond: 400 op.invalid_input. (ours) */
export const KEY_LIFE_SECONDS_MAX = 315_360_000;
export const KEY_OVERLAP_SECONDS_MAX = 2_592_000;
/** The highest rate limit of a key, and its burst. Beyond: 400 op.invalid_input. (ours) */
export const KEY_RATE_PER_SECOND_MAX = 1_000_000;
/** Records on a page of the audit log. Beyond: the page has this many. (ours) */
export const AUDIT_PAGE_RECORDS_MAX = 1_000;
/** Tenants on a page of the overview, each of which costs a look at its files. Beyond: the page has this many. (ours) */
export const OVERVIEW_PAGE_TENANTS_MAX = 200;
/** Tenants that the state of the server names: those with the largest files. (ours) */
export const SERVER_TENANTS_SHOWN = 10;
/** Tenants on a page of the state of backups. Beyond: the page has this many. (ours) */
export const BACKUP_PAGE_MAX = 200;
/** Tenants on a page of the state of the cluster. Beyond: the page has this many. (ours) */
export const CLUSTER_PAGE_MAX = 1_000;
/** Points in time on a page of what can be restored of a tenant. Beyond: the page has this many. (ours) */
export const BACKUP_POINTS_MAX = 500;
/** How far back figures over time can be requested at once. Beyond: 400 op.invalid_input. (ours) */
export const FIGURES_SECONDS_MAX = 24 * 60 * 60;
/** The time of one stored figure, and so the shortest step of a chart. (ours) */
export const FIGURE_STEP_SECONDS_MIN = 60;
/** Functions of a tenant that are counted by name in one minute. Beyond: they are counted together. (ours) */
export const FIGURE_FUNCTIONS_MAX = 100;

/* Placement */

/**
 * How long the cache of a router may answer after a worker allowed it to, if a client can learn of a commit in another
 * way than through that router: a commit waits this long for a router that does not answer. (ours)
 */
export const CACHE_LEASE_MS = 800;
/**
 * A list of what a worker drops from the cache of a router. Beyond: the worker drops everything; a router closes the
 * connection. (ours)
 */
export const DROPPED_BYTES_MAX = 64 * KIB;
/** A report of calls that a router answered. Beyond: the worker closes the connection. (ours) */
export const CALLS_REPORT_BYTES_MAX = 64 * KIB;
/** The name under which a worker has calls of a function reported. Beyond: their results are not cached. (ours) */
export const CALL_NAME_CHARS_MAX = 1 * KIB;

/**
 * A worker or router that sends no heartbeat for this long of its own time is killed and replaced. (design: shed within
 * 10 s)
 */
export const HEARTBEAT_INTERVAL_MS = 1_000;
/** Memory of one process, without mapped files, checked at each heartbeat. Beyond: it is killed and replaced. (ours) */
export const PROCESS_BYTES_MAX = 3 * 1024 * MIB;
/** Crashes in which all calls in flight were of one function, before that function is refused. (ours) */
export const FUNCTION_CRASHES_MAX = 8;
/**
 * First and longest time for which a call or a function that crashed its worker is refused; each refusal is twice as
 * long as the one before. (ours)
 */
export const QUARANTINE_MS_MIN = 30_000;
export const QUARANTINE_MS_MAX = 10 * 60 * 1000;
/**
 * How long calls that were in flight at a crash are remembered, and how many calls and functions of a tenant. (ours)
 */
export const SUSPICION_MS = 10 * 60 * 1000;
export const SUSPECTS_MAX = 256;
/**
 * Crashes of one tenant within that time that are attributed to calls. Beyond: they count towards its cool-down. (ours)
 */
export const ATTRIBUTED_CRASHES_MAX = 30;
/**
 * The part of the drain in which a router finishes its requests; the rest is for workers to close their files. (ours)
 */
export const ROUTER_DRAIN_MS = 3_000;
/** How often a worker checks that its socket still exists. (ours) */
export const SOCKET_POLL_MS = 1_000;

/* IPC frames */

/** Meta of a frame: its length is a u16. */
export const FRAME_META_BYTES_MAX = 0xffff;
/** Body of a frame: the largest result and some headroom. A longer one closes that connection. (ours) */
export const FRAME_BODY_BYTES_MAX = 20 * MIB;
/** Bytes of a streamed response that can be in flight without the reader's credit. (ours) */
export const STREAM_WINDOW_BYTES = 1 * MIB;

/* Values and documents */

/** A document's stored JSON text of user fields, in UTF-8 bytes. Beyond: 413 op.too_large. (design) */
export const DOCUMENT_BYTES_MAX = 1 * MIB;
/** Nesting of a whole request body: a document inside its request object (`{"mutation":{"fields":{…}}}`). (ours) */
export const BODY_NESTING_LEVELS_MAX = NESTING_LEVELS_MAX + 4;
/** Result of a list, a query or a page. Beyond: 413 op.too_large, whose message names query/paginated. (design) */
export const RESULT_BYTES_MAX = 16 * MIB;
/** Table names: `[A-Za-z][A-Za-z0-9_]*`. Beyond: 400. (reference 1.4) */
export const TABLE_NAME_CHARS_MAX = 64;
/** Document ids that callers choose. Beyond: 400. (design) */
export const DOCUMENT_ID_CHARS_MAX = 128;
/** A path of a filter, order or index, in characters and in steps. Beyond: 400. (ours) */
export const FIELD_PATH_CHARS_MAX = 1024;

/* Queries */

/** Filters of one query, including those inside `or`. Beyond: 400. (ours) */
export const FILTERS_MAX = 64;
/** Fields in the order of one query. Beyond: 400. (ours) */
export const ORDER_FIELDS_MAX = 8;
/** Paths that one query selects. Beyond: 400. (ours) */
export const SELECT_PATHS_MAX = 64;
/** Queries of one request, all answered from one snapshot. Beyond: 400. (ours) */
export const BATCH_QUERIES_MAX = 32;

/* Schemas */

/** Fields and indexes of one table schema, fields of one index. Beyond: 400. (reference 1.4, 3.5) */
export const SCHEMA_FIELDS_MAX = 1_024;
export const SCHEMA_INDEXES_MAX = 32;
export const INDEX_FIELDS_MAX = 16;

/* Commit pipeline */

/** A log that was not closed cleanly is rewritten in chunks of this size. (ours) */
export const REWRITE_CHUNK_BYTES = 1024 * 1024;

/* Live queries */

/** `client_hello` must arrive within this time. Beyond: fatal_error protocol.hello_timeout. (spec) */
export const HELLO_TIMEOUT_MS = 10_000;

/* The function socket */

/** Consumed or handled bytes are reported to the other process once they add up to this much. (ours) */
export const FUNCTION_SOCKET_CREDIT_BYTES = 32 * KIB;
/**
 * Queries of one socket. Beyond: the query's result is an error; at twice as many, including those: fatal_error. (ours)
 */
export const QUERIES_PER_SOCKET_MAX = 4_096;
/**
 * Changes of one query_set: each query can be added and removed, and refused ones as well. Beyond: fatal_error. (ours)
 */
export const QUERY_CHANGES_MAX = 4 * QUERIES_PER_SOCKET_MAX;

/* Scheduler */

/** Latest start of a job: ten years ahead. Beyond: 400. (ours) */
export const RUN_AFTER_MS_MAX = 10 * 366 * 24 * 60 * 60 * 1000;
/** Cron intervals: a second to ten years. Beyond: 400. (ours) */
export const CRON_SECONDS_MIN = 1;
export const CRON_SECONDS_MAX = RUN_AFTER_MS_MAX / 1000;
/** A cron's expression and the name of its time zone. Beyond: 400. (ours) */
export const CRON_EXPRESSION_CHARS_MAX = 256;
export const TIME_ZONE_CHARS_MAX = 64;
/** A cron's name: printable, without `/`. Beyond: 400. (ours) */
export const CRON_NAME_CHARS_MAX = 128;
/** The clock is read at least this often, because a timer does not notice that the clock was set. (ours) */
export const CLOCK_CHECK_MS = 30_000;

/* Functions */

/** Finished executions that GET …/logs can show from before the request. Beyond: the oldest are dropped. (ours) */
export const LOG_ENTRIES_KEEP = 1_000;

/* Functions: actions */

/** Tail of the standard error of a process that runs tenants' code; it says why V8 aborted. (ours) */
export const STDERR_TAIL_CHARS = 4_000;

/* Functions: outgoing connections, and tokens */

/**
 * Entries of each list of a tenant's egress policy, and the length of one: a host name's 253, a port. Beyond: 400.
 * (ours)
 */
export const EGRESS_PATTERNS_MAX = 256;
export const EGRESS_PATTERN_CHARS_MAX = 262;
/**
 * Time to resolve and connect; then for the headers of the response; then between two chunks of its body. Beyond: it
 * fails. (ours)
 */
export const EGRESS_CONNECT_TIMEOUT_MS = 10_000;
/**
 * Time between the reply that a connection is open and the client's connect to it. Beyond: the connection is closed.
 * (ours)
 */
export const EGRESS_CLAIM_MS_MAX = 10_000;
/** Length of the name of a connection's path, in a directory that other users cannot enter: 72 random bits. (ours) */
export const EGRESS_PATH_CHARS = 12;

/* Functions: the HTTP edge */

/** Body of a request to an HTTP action. Beyond: 413 op.too_large. (reference 6.2) */
export const HTTP_ACTION_BODY_BYTES_MAX = 20 * MIB;
/** Body of a deployment upload. Beyond: 413 op.too_large. (ours) */
export const DEPLOYMENT_BYTES_MAX = 64 * MIB;
/** Headers of an HTTP action's response, by count and by characters. Beyond: 500 op.failed. (ours) */
export const RESPONSE_HEADERS_MAX = 256;
export const RESPONSE_HEADERS_BYTES_MAX = 16 * KIB;

/* Deployments */

/**
 * The body of POST …/deployments is limited by DEPLOYMENT_BYTES_MAX; this is the code in it without source maps.
 * Beyond: the deploy is refused. (reference 12.2)
 */
export const DEPLOYMENT_CODE_BYTES_MAX = 32 * MIB;
/** Original sources in an upload. Beyond: the deploy is refused; svc deploy leaves them out. (ours) */
export const DEPLOYMENT_SOURCES_BYTES_MAX = 8 * MIB;
/** Files of a bundle, and the path of one. Beyond: 400. (ours) */
export const BUNDLE_FILES_MAX = 10_000;
export const BUNDLE_PATH_CHARS_MAX = 512;
/** The message of a deploy. Beyond: 400. (ours) */
export const DEPLOYMENT_MESSAGE_CHARS_MAX = 500;
/** Components of a function's path, `a` of `a/b:f`. Beyond: the deploy is refused. (reference 2.2) */
export const PATH_COMPONENT_CHARS_MAX = 64;
/** Published tarball of a package in `node.externalPackages`. Beyond: 413 op.too_large. (ours) */
export const PACKAGE_BYTES_MAX = 64 * MIB;
/** Packages of a deployment, including dependencies. Beyond: the deploy is refused. (ours) */
export const PACKAGES_MAX = 2_000;
/** Published packages that a tenant stores for all its deployments together. Beyond: 429 op.rate_limited. (ours) */
export const PACKAGES_KEPT_BYTES_MAX = 512 * MIB;
/** The name and the value of an environment variable. Beyond: 400. (reference 12.3) */
export const ENVIRONMENT_NAME_CHARS_MAX = 256;
export const ENVIRONMENT_VALUE_BYTES_MAX = 8 * KIB;

/* Bulk: imports, exports, tasks */

/** Body of an import. It is not buffered: this bounds a stream that never ends. Beyond: 413 op.too_large. (ours) */
export const IMPORT_BYTES_MAX = 1024 * 1024 * MIB;
/** File of a tenant that is imported. The disk is the limit before. Beyond: 413 op.too_large. (ours) */
export const TENANT_FILE_BYTES_MAX = 1024 * 1024 * MIB;
/** A line, or a CSV record, of an import. A longer one is refused as a bad line: op.too_large. (ours) */
export const IMPORT_LINE_BYTES_MAX = 4 * MIB;
/** Name that a caller gives an import. Beyond: 400. (ours) */
export const IMPORT_ID_CHARS_MAX = 128;
/** How long an import can be resumed after its last line, as for an `Idempotency-Key`. (ours) */
export const IMPORT_KEEP_MS = 24 * 60 * 60 * 1000;
/** Failures that an import or a task describes; further ones are only counted. (ours) */
export const BULK_ERRORS_SHOWN = 20;

/* Batches, caches and pauses that no client sees */

/** Attempts to find a free port: another process can take it between the search and the listen. (ours) */
export const FREE_PORT_ATTEMPTS = 5;
/** Poll interval of a process that waits for an owner lock. (ours) */
export const OWNER_POLL_MS = 50;
/** Characters of one value in a line of the service log. Longer values are cut, with a note. (ours) */
export const LOG_VALUE_CHARS_MAX = 1024;
/** Causes of an error, and levels of a field, that a line of the service log shows. (ours) */
export const LOG_CAUSES_MAX = 4;
export const LOG_FIELD_LEVELS_MAX = 4;
/** Frames are collected in chunks of this size; bodies from the second size on are written without a copy. (ours) */
export const FRAME_CHUNK_BYTES = 64 * 1024;
export const FRAME_OWN_WRITE_BYTES = 32 * 1024;

/* Services */

/** Old heap of one service's process, MiB. Beyond: 400; once used up, the process ends. (ours) */
export const SERVICE_MEMORY_MB_MIN = 32;
export const SERVICE_MEMORY_MB_MAX = 1_024;
/** Code of an inline service. Beyond: 400. (ours) */
export const SERVICE_CODE_CHARS_MAX = 1024 * KIB;
/** Lines of one service that can be read, in memory and on disk. Beyond: the oldest are dropped. (ours) */
export const SERVICE_LOG_ENTRIES_KEEP = 1_000;

/* Sandboxes and sessions */

/** CPU time of one execution. Beyond: 400; once used up, the sandbox is `failed`. (ours) */
export const SANDBOX_CPU_MS_MAX = 30_000;
/** Lifetime of a sandbox from its creation. Beyond: 400. (ours) */
export const SANDBOX_TTL_MS_MIN = 1_000;
export const SANDBOX_TTL_MS_MAX = 24 * 60 * 60 * 1000;
/** Duration of one execution, including all waits. Beyond: 400; once used up, it fails. (ours) */
export const SANDBOX_EXECUTE_MS_MAX = 5 * 60 * 1000;
/** Code of one execution. Beyond: 400. (ours) */
export const SANDBOX_CODE_CHARS_MAX = 1024 * KIB;
/** How long a lease lasts without use. Beyond: 400. (ours) */
export const SESSION_TTL_MS_MIN = 1_000;
export const SESSION_TTL_MS_MAX = 24 * 60 * 60 * 1000;

/** Buckets of a count of journal records over time: without `buckets`, and at most. Beyond: 400 op.invalid_input. (ours) */
export const JOURNAL_BUCKETS_DEFAULT = 60;
export const JOURNAL_BUCKETS_MAX = 500;

/* Upgrades */

/**
 * Frames (64 MiB) in the log of a sleeping tenant's file that are searched for its storage version. Beyond: the version
 * that was found up to there is reported. (ours)
 */
export const LOG_FRAMES_READ_MAX = 16_384;

/** Tenants that the state of an upgrade names because their files could not be migrated. Beyond: they are counted. (ours) */
export const UPGRADE_FAILURES_SHOWN = 20;
