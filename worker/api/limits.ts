/** Limits of bulk work and streams, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** Operations of a transaction, beyond: 400 op.invalid_input; and what it may write of documents and jobs, beyond: 413 op.too_large. (ours) */
export const TRANSACTION_BYTES_MAX = 16 * MIB;
/** Documents that a transaction changes or deletes, as they were: they are in memory until all of it is on disk. Beyond: 413 op.too_large. (ours) */
export const TRANSACTION_REPLACED_CHARS_MAX = 64 * MIB;

/* Functions */

/** Streams of events of one tenant, of its journal and of queries together. Beyond: 503 session.overloaded. (ours) */
export const FOLLOWERS_MAX = 1_024;
/** A stream of events that has none says something this often, so that nobody on the way takes it for dead. (ours) */
export const FOLLOWER_HEARTBEAT_MS = 15_000;
/** Of the journal's text, what is read at once for a reader that is behind; one record at least. (ours) */
export const FOLLOWER_READ_BYTES = 256 * KIB;
/**
 * What waits in a worker for readers of all its streams of events. Beyond: whoever is sent more and owes more than an equal
 * share is cut off, and begins again where it was. (ours)
 */
export const FOLLOWERS_OWED_BYTES_MAX = 64 * MIB;
/** Tables that a stream of the journal may name. Beyond: 400 op.invalid_input. (ours) */
export const FOLLOWED_TABLES_MAX = 64;
/** Records of which a worker knows the tables, for all streams that name some: another one is parsed again. (ours) */
export const FOLLOWED_RECORDS_KEPT = 256;

/* Bulk: imports, exports, tasks */

/** What an import commits at once, whichever comes first; two such pieces are in memory: one is written, one is being read. (ours) */
export const IMPORT_COMMIT_LINES = 1_000;
export const IMPORT_COMMIT_BYTES = 2 * MIB;
/** Documents that are written before others may get the thread. (ours) */
export const BULK_DOCUMENTS_A_STEP = 16;
/** Imports of a tenant under way. Beyond: 503 session.overloaded. (ours) */
export const IMPORTS_AT_ONCE_MAX = 4;
/** How long an import can be continued after its last line, as for an `Idempotency-Key`; and how many are remembered. Beyond: 429 op.rate_limited. (ours) */
export const IMPORTS_KEPT_MAX = 1_000;
/** Failures that an import or a task describes; further ones are counted. (ours) */
export const BULK_ERROR_CHARS = 300;
/** Length of the log at which an export whose reader is slow is cut, because it keeps the log from starting over. (ours) */
export const EXPORT_LOG_BYTES_MAX = 1024 * MIB;
/** Tasks of a tenant that run or wait; beyond: 429 op.rate_limited. And how many that ended are kept: the oldest are forgotten. (ours) */
export const TASKS_RUNNING_MAX = 16;
export const TASKS_KEPT_MAX = 100;
/** Filters and changes of a task, which are written with each of its slices. Beyond: 413 op.too_large. (ours) */
export const TASK_BYTES_MAX = 64 * KIB;
/** Documents that a slice of a task changes at most: about SLICE_MS of work. (ours) */
export const TASK_DOCUMENTS_AT_ONCE = 200;
/** Columns of CSV, in an import or an export. Beyond: 400. (ours) */
export const CSV_COLUMNS_MAX = 1_000;
