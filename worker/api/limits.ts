/**
 * Limits of bulk work and streams, with units in their names, reasons, and the effect of exceeding them. docs/limits.md
 * is generated from this file.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** Bytes of documents and jobs that a transaction writes. Beyond: 413 op.too_large. (ours) */
export const TRANSACTION_BYTES_MAX = 16 * MIB;
/**
 * Previous versions of the documents that a transaction changes or deletes, which stay in memory until all of it is on
 * disk. Beyond: 413 op.too_large. (ours)
 */
export const TRANSACTION_REPLACED_CHARS_MAX = 64 * MIB;

/* Functions */

/** Event streams of one tenant, of its journal and of queries together. Beyond: 503 session.overloaded. (ours) */
export const FOLLOWERS_MAX = 1_024;
/** Interval of heartbeats on an event stream without events, so that no proxy closes it. (ours) */
export const FOLLOWER_HEARTBEAT_MS = 15_000;
/** Journal text read at once for a reader that is behind; at least one record. (ours) */
export const FOLLOWER_READ_BYTES = 256 * KIB;
/**
 * Bytes buffered in a worker for the readers of all its event streams. Beyond: a reader that is sent more and has more
 * than an equal share is cut off, and reconnects at its position. (ours)
 */
export const FOLLOWERS_BUFFERED_BYTES_MAX = 64 * MIB;
/** Tables that a journal stream can name. Beyond: 400 op.invalid_input. (ours) */
export const FOLLOWED_TABLES_MAX = 64;
/** Records whose tables a worker caches, for all streams that name some. Beyond: a record is parsed again. (ours) */
export const FOLLOWED_RECORDS_KEPT = 256;

/* Bulk: imports, exports, tasks */

/**
 * Lines and bytes that an import commits at once, whichever comes first. Two such batches are in memory: one is written
 * while the next is read. (ours)
 */
export const IMPORT_COMMIT_LINES = 1_000;
export const IMPORT_COMMIT_BYTES = 2 * MIB;
/** Documents written before other work can run. (ours) */
export const BULK_DOCUMENTS_A_STEP = 16;
/** Concurrent imports per tenant. Beyond: 503 session.overloaded. (ours) */
export const IMPORTS_AT_ONCE_MAX = 4;
/**
 * Imports remembered per tenant, for as long as an import can be continued after its last line (as an
 * `Idempotency-Key`). Beyond: 429 op.rate_limited. (ours)
 */
export const IMPORTS_KEPT_MAX = 1_000;
/** Characters of a failure that an import or a task describes. (ours) */
export const BULK_ERROR_CHARS = 300;
/** Pages that a copy of the whole file takes between two checks of its bounds. (ours) */
export const FILE_COPY_PAGES = 1_000;
/** Time for a copy of the whole file, which keeps the WAL from being reset. Beyond: 503. (ours) */
export const FILE_COPY_MS_MAX = 600_000;
/** Interval of the checks whether a file that is held for a clone is within the same bounds. (ours) */
export const FILE_HOLD_POLL_MS = 1_000;
/**
 * Length of the WAL at which an export with a slow reader is cut off, because it keeps the WAL from being reset. (ours)
 */
export const EXPORT_LOG_BYTES_MAX = 1024 * MIB;
/**
 * Running or waiting tasks per tenant (beyond: 429 op.rate_limited), and ended tasks kept. Beyond: the oldest are
 * deleted. (ours)
 */
export const TASKS_RUNNING_MAX = 16;
export const TASKS_KEPT_MAX = 100;
/** Filters and changes of a task, which are written with each of its slices. Beyond: 413 op.too_large. (ours) */
export const TASK_BYTES_MAX = 64 * KIB;
/** Maximum of documents changed by one slice of a task: about SLICE_MS of work. (ours) */
export const TASK_DOCUMENTS_AT_ONCE = 200;
/**
 * A page of the list of live queries has this many by default, and shows queries and arguments up to this many
 * characters of JSON. (ours)
 */
export const LIVE_LIST_DEFAULT = 20;
export const LIVE_LISTED_CHARS_MAX = 2_000;
/** CSV columns of an import or an export. Beyond: 400. (ours) */
export const CSV_COLUMNS_MAX = 1_000;
