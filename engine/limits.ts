/** Limits of a tenant's file, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** Entity tags in one `If-Match` or `If-None-Match`. Beyond: 400 op.invalid_input. (ours) */
export const CONDITION_TAGS_MAX = 100;

/* Placement */

/** Space kept for opening tenants on a full disk, given back in pieces, made whole again while so much more is free. (ours) */
export const RESERVE_PIECE_BYTES = 64 * 1024;

/* IPC frames */

/** A streamed response whose reader takes nothing for this long is ended, so that it cannot pin the WAL. (ours) */
export const STREAM_STALL_MS = 30_000;

/* Values and documents */

/** Tables of a tenant: 16 bits of an id name one. Beyond: 400. (design) */
export const TABLES_MAX = 65_535;

/* Damage */

/** Damaged places that are told apart in the log: each is one error line. Beyond: a line each time. (ours) */
export const DAMAGE_PLACES_MAX = 1_000;
/** Documents a table with indexes may have had for a damaged one of it to be deleted: its entries are searched for. (ours) */
export const DAMAGED_DELETE_DOCUMENTS_MAX = 100_000;
/** The scrub: a slice of SLICE_MS each so often while a tenant is awake, about 2 % of a core. (ours) */
export const SCRUB_PAUSE_MS = 1_000;
/** A whole pass is begun again this long after the last one ended. (ours) */
export const SCRUB_PERIOD_MS = 24 * 60 * 60 * 1000;
/** A tenant of so many documents is looked at whole at each open, before it serves, if that takes no longer. (ours) */
export const SCRUB_FIRST_DOCUMENTS_MAX = 2_000;
export const SCRUB_FIRST_MS = 100;
/** Slices after which its position is written, so that a kill costs little of a long pass. (ours) */
export const SCRUB_REMEMBER_SLICES = 60;
/** Rows of a small table (jobs, crons, schemas …) up to which it is counted and summed up at each open and listing. (ours) */
export const ROWS_SUMMED_MAX = 2_000;
/** The same in the scrub. Beyond: `svc verify` alone. (ours) */
export const ROWS_SUMMED_BY_SCRUB_MAX = 100_000;
/** Rows of a table from before rows had checksums that get theirs when the file is brought to this version; more by the scrub. (ours) */
export const ROW_CHECKSUMS_AT_ONCE = 70_000;
/** The same in one slice of the scrub. (ours) */
export const ROW_CHECKSUMS_A_SLICE = 2_000;
/** A damaged row in which a repair looks for the one bit that has changed. Beyond: it is taken away. (ours) */
export const REPAIR_ROW_BYTES_MAX = 8_192;

/* Queries */

/** A damaged row in which a repair looks for the one bit that has changed. Beyond: it is taken away. (ours) */
export const PAGE_DOCUMENTS_MAX = 1_000;
/** Values of an `in` or `not_in`. Beyond: 400. (ours) */
export const FILTER_VALUES_MAX = 1_000;
/** Stretches of indexes and look-ups that one query is read from, all branches together; filters that would make more are looked at in each document. (ours) */
export const QUERY_STRETCHES_MAX = 2_000;
/** Stretches that are merged in the order of a query: each holds a piece of rows. Those of more are sorted. (ours) */
export const MERGED_PATHS_MAX = 32;
/** Entries of an index that are counted between two looks at the clock, and how many are as much work as reading a document. (ours) */
export const COUNT_ENTRIES_AT_ONCE = 4_096;
export const COUNT_ENTRIES_OF_A_DOCUMENT = 16;
/** Documents one query may read: some seconds of a scan thread. Beyond: 413 that names indexes. (ours) */
export const SCAN_DOCUMENTS_MAX = 1_000_000;
/** Stored text one query may read, in characters, for the same reason: large documents take longer. Beyond: the same 413. (ours) */
export const SCAN_CHARS_MAX = 512 * MIB;
/** Processor time and reading of a query on the thread that serves; one that needs more runs on a scan thread. (ours) */
export const SCAN_INLINE_MS = 20;
export const SCAN_INLINE_DOCUMENTS = 4_096;
export const SCAN_INLINE_CHARS = 2 * MIB;
/** The clock's time it may take at most, on a busy machine or a slow disk. (ours) */
export const SCAN_INLINE_CLOCK_MS = 250;
/** Scan threads of a tenant: a second one starts while the first is busy, so that a short scan need not wait for a long one. (ours) */
export const SCAN_THREADS_MAX = 2;
/** Heap of a scan thread, MiB. A query that needs more is 413 op.too_large. (ours) */
export const SCAN_THREAD_HEAP_MB = 512;
/** A scan thread without work for this long ends. (ours) */
export const SCAN_THREAD_IDLE_MS = 30_000;
/** Requests of a tenant that wait for a scan thread. Beyond: 503 session.overloaded. (ours) */
export const SCANS_WAITING_MAX = 64;
/** Entries and characters of a live result handed over at once by a scan thread: taking them in is a slice's work. (ours) */
export const SCAN_PIECE_ENTRIES = 1_000;
export const SCAN_PIECE_RESULT_CHARS = 256 * KIB;
/** Documents beyond its limit that a live result from a scan thread keeps, so that few removals make it run again. (ours) */
export const LIVE_RESERVE_DOCUMENTS = 64;
/** Documents written while a live query is evaluated, to be looked at then. Beyond: it is evaluated once more. (ours) */
export const LIVE_CATCH_UP_DOCUMENTS_MAX = 100_000;
/** Values of the order field that a query without a fitting index holds at once. Beyond: 413 op.too_large. (ours) */
export const ORDER_KEYS_BYTES_MAX = 64 * MIB;
/** A cursor string. It holds the order field's value, which may be most of a document, in base64. Beyond: 400. (ours) */
export const CURSOR_CHARS_MAX = 2 * MIB;
/** Rows that gets and index reads find without a look-up: their characters in all, and of one row. Beyond: the oldest leave. (ours) */
export const ROW_CACHE_CHARS_MAX = 8 * MIB;
export const ROW_CACHE_ROW_CHARS_MAX = 16 * KIB;
/** Entries of an index read that look for cached rows; longer reads join the documents, which is cheaper a row. (ours) */
export const ROW_CACHE_ENTRIES_MAX = 64;

/* Schemas */

/** Encoded values of one index entry. A document with a longer one is 400 op.invalid_input. (ours) */
export const INDEX_KEY_BYTES_MAX = 8 * KIB;
/** Documents named when existing data violates a new schema. (ours) */
export const SCHEMA_OFFENDERS_SHOWN = 10;
/** PUT schema answers after its indexes are built below this many documents, before otherwise. (design) */
export const INDEX_BUILD_WAIT_DOCUMENTS = 10_000;

/* Commit pipeline */

/** Writes that run in one turn, and the work after which others get theirs. The group is committed then, if the disk is free. (design) */
export const GROUP_WRITES_MAX = 64;
export const GROUP_WORK_MS_MAX = 5;
/**
 * Writes of one transaction, and bytes of documents and records after which it takes no more: it grows while the group before it
 * is synced, and its pages stay in memory. The rest waits in the queue. (ours)
 */
export const GROUP_AHEAD_WRITES_MAX = 512;
export const GROUP_BYTES_MAX = 8 * 1024 * 1024;
/**
 * In a closed circle a group waits for writers who were just answered: for so many syncs and at most so long; not where a sync
 * is quicker than this, as timers have no smaller step than a millisecond, and not for more writers than this. After waits in vain
 * up to so many groups do not wait. (ours)
 */
export const LINGER_SYNCS = 1.25;
export const LINGER_MS_MAX = 8;
export const LINGER_SYNC_MS_MIN = 0.25;
export const LINGER_WRITES_MAX = 128;
export const LINGER_SKIPPED_MAX = 64;
/**
 * The thread that writes makes a sync itself while its syncs take at most so long, averaged over so many groups, and groups have at
 * most so many bytes and so many writes: one with more sends the next ones to the pool, too. After slower ones so many groups are
 * synced in the pool, twice as many each time; the thread tries again if one of those syncs was this quick. (ours)
 */
export const SYNC_IN_THREAD_MS_MAX = 1;
export const SYNC_MEAN_GROUPS = 16;
export const SYNC_IN_THREAD_WRITES_MAX = 4;
export const SYNC_IN_THREAD_BYTES_MAX = 256 * 1024;
export const SYNC_POOL_GROUPS_MIN = 8;
export const SYNC_POOL_GROUPS_MAX = 4_096;
export const SYNC_POOL_MS_MAX = 3;
/** Writes that wait for the writer. Beyond: 503 session.overloaded. (ours; the router's in-flight limit comes first) */
export const WRITE_QUEUE_MAX = 8_192;
/** Long work (schema checks, back-fills, bootstrap, checks) holds the event loop for at most this long at a time. (design) */
export const SLICE_MS = 20;
/** `Idempotency-Key` replies are kept this long. (design) */
export const IDEMPOTENCY_KEEP_MS = 24 * 60 * 60 * 1000;
/** WAL pages after which a commit is followed by a checkpoint (4 KiB each). (ours) */
export const CHECKPOINT_WAL_PAGES = 2_000;
/** Pages of a WAL that cannot start over because scans always overlap: from then on new ones wait until none runs. (ours) */
export const WAL_PAGES_MAX = 8_000;
/** Pause before background work that the writer refused (full disk, full queue) is tried again. (ours) */
export const BACKGROUND_RETRY_MS = 1_000;

/* Journal */

/** What a tenant may keep on disk unless configured otherwise. Beyond: 507 session.storage_full for that tenant alone. (ours) */
export const JOURNAL_PAGE_RECORDS_DEFAULT = 100;
export const JOURNAL_PAGE_RECORDS_MAX = 1_000;
/** Bytes of a journal page's records: a page ends early (has_more) rather than grow beyond. (ours) */
export const JOURNAL_PAGE_BYTES_MAX = 8 * MIB;
/** Records removed at most after one commit, so that retention never stalls the writer. (ours) */
export const JOURNAL_TRIM_RECORDS = 512;

/* Live queries */

/** Stretches of values that one live query watches; what more would say is looked at in each document of its table. (ours) */
export const LIVE_STRETCHES_MAX = 64;
/**
 * Distinct live queries of a tenant, and the bytes of their results with what is kept for them: each document apart, those in reserve, too.
 * Beyond: op.failed with session.overloaded, and the same ends a query whose result grows beyond it. (ours)
 */
export const LIVE_QUERIES_MAX = 100_000;
export const LIVE_RESULT_BYTES_MAX = 512 * MIB;

/* The function socket */

/** Stretches in the read set of one, and their bytes. Beyond: larger stretches are watched, up to all there is, and it runs more often. (ours) */
export const HELD_READ_INTERVALS_MAX = 4_096;
export const HELD_READS_BYTES_MAX = 2 * MIB;

/* Scheduler */

/** Pending jobs and crons of a tenant. Beyond: 429 op.rate_limited. (ours) */
export const JOBS_PENDING_MAX = 1_000_000;
export const CRONS_MAX = 1_000;
/** Stored text of a tenant's pending jobs, arguments included. Beyond: 429 op.rate_limited. (ours) */
export const JOBS_PENDING_BYTES_MAX = 256 * MIB;
/** Runs of each cron that its history keeps, the newest. (ours) */
export const CRON_RUNS_KEEP = 100;
/** Expressions that a worker has ready, the newest. (ours) */
export const CRON_EXPRESSIONS_READY_MAX = 1_000;
/** Job results kept, the newest; older ones are 404. (ours) */
export const JOB_RESULTS_KEEP = 10_000;
/** A clock that goes back by less is corrected, not set: crons wait until it is there again. (ours) */
export const CLOCK_STEP_MS = 60_000;
/** What is kept of the error of a failed job or cron run, in characters; the rest is cut. (ours) */
export const SCHEDULED_ERROR_CHARS_MAX = 4 * KIB;
/** Due work handed to the writer at a time; requests get their turn in between. (ours) */
export const DUE_AT_ONCE = 32;
/** Runs of a function's job that its process did not survive, after the first: the next one fails instead. (ours) */
export const SUSPECT_RUNS_MAX = 2;

/* Functions: the HTTP edge */

/** Bytes of a streamed response that wait in a worker for its reader's credit. Beyond: the response is cut short. (ours) */
export const STREAM_HELD_BYTES_MAX = 21 * MIB;
/** A pushed response leaves in pieces of at most this size, well below STREAM_WINDOW_BYTES. (ours) */
export const STREAM_PIECE_BYTES_MAX = 64 * KIB;

/* Bulk: imports, exports, tasks */

/** New documents, and entries of one index, that one statement writes: half the cost of a statement for each. (ours) */
export const INSERT_ROWS_AT_ONCE = 50;

/* Batches, caches and pauses that no client sees */

/** Rows that a slice of an index build reads, and entries that a slice of a removal deletes, at once. (ours) */
export const BACK_FILL_ROWS_AT_ONCE = 100;
export const BACK_FILL_ENTRIES_AT_ONCE = 500;
/** Documents written during a check that may be checked inside the installing group; more are checked before it. (ours) */
export const CHECK_LATE_DOCUMENTS_MAX = 200;
/** Rows that a slice of a schema check reads at once. (ours) */
export const CHECK_ROWS_AT_ONCE = 100;
/** Rows counted at once in a file from before counts were kept. (ours) */
export const COUNT_ROWS_AT_ONCE = 1_000;
/** Documents a bootstrap reads at once: few until their size is known. (ours) */
export const BOOTSTRAP_ROWS_FIRST = 4;
export const BOOTSTRAP_ROWS_MOST = 256;
/** Expired keys removed with each new one: more than one, so that the table shrinks again after a burst. (ours) */
export const IDEMPOTENCY_EXPIRE_AT_ONCE = 4;
/** Page caches: the writer keeps the B-tree paths it works on; readers map the file, so that a commit elsewhere costs them no re-reads. (ours) */
export const WRITER_CACHE_KIB = 32 * 1024;
export const READER_CACHE_KIB = 2 * 1024;
export const READER_MMAP_BYTES = 1 << 30;
/** More findings than this say nothing new. (ours) */
export const VERIFY_FINDINGS_MAX = 20;
/** Rows that are parsed and filtered before the pace is asked again. (ours) */
export const SCAN_ROWS_BETWEEN_LOOKS = 32;
/** Rows a native query reads at once: few where a filter may stop early, more where every row is wanted, and as many as fit. (ours) */
export const SCAN_ROWS_FIRST_FILTERED = 16;
export const SCAN_ROWS_FIRST = 128;
export const SCAN_ROWS_LEAST = 4;
export const SCAN_ROWS_MOST = 256;
/** A piece ends with the row that makes it so long; a longer body than this is read alone, so as not to be read for nothing. (ours) */
export const SCAN_ROWS_CHARS = 1024 * 1024;
export const SCAN_ROW_BYTES = 16 * KIB;
