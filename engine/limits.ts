/**
 * Limits of a tenant's file, with their units in their names: the reason for each number, and what happens beyond it.
 * docs/limits.md is made of them.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** Entity tags in one `If-Match` or `If-None-Match`. Beyond: 400 op.invalid_input. (ours) */
export const CONDITION_TAGS_MAX = 100;

/* Placement */

/**
 * Disk space reserved so that tenants can be opened on a full disk. It is released in chunks of this size, and refilled
 * while this much more is free. (ours)
 */
export const RESERVE_CHUNK_BYTES = 64 * 1024;

/* Upgrades */

/**
 * Pages and rows read of tables of a file that SQLite must not open, and columns of a row: its schema has some 120 rows of 5
 * columns, and `meta` has fewer. Beyond: its svc is unknown, or a cluster does not use the file. (ours)
 */
export const STORED_PAGES_MAX = 200;
export const STORED_ROWS_MAX = 2_000;
export const STORED_COLUMNS = 5;
/** Levels of a B-tree, and bytes of a row, that SQLite makes at most. Beyond: the file is damaged. (ours) */
export const SQLITE_DEPTH_MAX = 20;
export const SQLITE_ROW_BYTES_MAX = 1_000_000_000;

/**
 * Free space beyond the size of a tenant's file that the copy before its upgrade leaves, for the migration itself.
 * (ours)
 */
export const UPGRADE_SPARE_BYTES = 4 * MIB;

/* IPC frames */

/** A streamed response whose reader takes nothing for this long is ended, so that it cannot pin the WAL. (ours) */
export const STREAM_STALL_MS = 30_000;

/* Values and documents */

/** Tables of a tenant: 16 bits of an id name one. Beyond: 400. (design) */
export const TABLES_MAX = 65_535;

/* Damage */

/** Damaged entries that the log tells apart: each is one error line. Beyond: a line each time. (ours) */
export const DAMAGE_PLACES_MAX = 1_000;
/**
 * Maximum number of documents in a table with indexes for deleting a damaged one: its index entries have to be searched
 * for. (ours)
 */
export const DAMAGED_DELETE_DOCUMENTS_MAX = 100_000;
/** Pause between slices of the scrub, of SLICE_MS each, while a tenant is awake: about 2 % of a core. (ours) */
export const SCRUB_PAUSE_MS = 1_000;
/** A whole pass starts again this long after the last one ended. (ours) */
export const SCRUB_PERIOD_MS = 24 * 60 * 60 * 1000;
/**
 * A tenant with up to this many documents is scrubbed completely at each open, before it serves, within this time.
 * (ours)
 */
export const SCRUB_FIRST_DOCUMENTS_MAX = 2_000;
export const SCRUB_FIRST_MS = 100;
/** Slices between two writes of the scrub's position, so that a kill costs little of a long pass. (ours) */
export const SCRUB_REMEMBER_SLICES = 60;
/**
 * Rows of a small table (jobs, crons, schemas …) up to which its count and checksums are verified at each open and
 * listing. (ours)
 */
export const ROWS_SUMMED_MAX = 2_000;
/** The same in the scrub. Beyond: `svc verify` alone. (ours) */
export const ROWS_SUMMED_BY_SCRUB_MAX = 100_000;
/**
 * Rows of a table from before row checksums that get theirs when the file is migrated; the scrub does the others.
 * (ours)
 */
export const ROW_CHECKSUMS_AT_ONCE = 70_000;
/** The same in one slice of the scrub. (ours) */
export const ROW_CHECKSUMS_A_SLICE = 2_000;
/** Size of a damaged row in which a repair searches for the one flipped bit. Beyond: the row is removed. (ours) */
export const REPAIR_ROW_BYTES_MAX = 8_192;

/* Queries */

/** Documents in one page. A larger page size is reduced to this. (ours) */
export const PAGE_DOCUMENTS_MAX = 1_000;
/** Values of an `in` or `not_in`. Beyond: 400. (ours) */
export const FILTER_VALUES_MAX = 1_000;
/**
 * Index ranges and look-ups that one query reads, all branches together. Beyond: the filters are evaluated on each
 * document instead. (ours)
 */
export const QUERY_RANGES_MAX = 2_000;
/** Ranges that are merged in the order of a query: each holds a batch of rows. Beyond: the rows are sorted. (ours) */
export const MERGED_PATHS_MAX = 32;
/**
 * Index entries counted between two checks of the clock, and the number of entries that cost as much as reading a
 * document. (ours)
 */
export const COUNT_ENTRIES_AT_ONCE = 4_096;
export const COUNT_ENTRIES_OF_A_DOCUMENT = 16;
/** Documents one query can read: some seconds of a scan thread. Beyond: 413 that names indexes. (ours) */
export const SCAN_DOCUMENTS_MAX = 1_000_000;
/** Stored text one query can read, in characters, because large documents take longer. Beyond: the same 413. (ours) */
export const SCAN_CHARS_MAX = 512 * MIB;
/**
 * A query with a limit that would sort at least this many index entries first reads this many documents in its order:
 * if most documents pass the filters, that is enough. Otherwise it has read a quarter more. (ours)
 */
export const WALK_ENTRIES_MIN = 4_096;
export const WALK_DOCUMENTS_MAX = 1_024;
/**
 * CPU time, documents and characters of a query on the serving thread; a query that needs more runs on a scan thread.
 * (ours)
 */
export const SCAN_INLINE_MS = 20;
export const SCAN_INLINE_DOCUMENTS = 4_096;
export const SCAN_INLINE_CHARS = 2 * MIB;
/** Wall-clock time a query can take there, on a busy machine or a slow disk. (ours) */
export const SCAN_INLINE_CLOCK_MS = 250;
/**
 * Scan threads of a tenant: a second one starts while the first is busy, so that a short scan does not wait for a long
 * one. (ours)
 */
export const SCAN_THREADS_MAX = 2;
/** Heap of a scan thread, MiB. A query that needs more is 413 op.too_large. (ours) */
export const SCAN_THREAD_HEAP_MB = 512;
/** An idle scan thread ends after this time. (ours) */
export const SCAN_THREAD_IDLE_MS = 30_000;
/** Requests of a tenant that wait for a scan thread. Beyond: 503 session.overloaded. (ours) */
export const SCANS_WAITING_MAX = 64;
/** Entries and characters of a live result in one batch from a scan thread: applying a batch takes one slice. (ours) */
export const SCAN_BATCH_ENTRIES = 1_000;
export const SCAN_BATCH_RESULT_CHARS = 256 * KIB;
/**
 * Documents beyond its limit that a live result from a scan thread keeps, so that few removals do not make it run
 * again. (ours)
 */
export const LIVE_RESERVE_DOCUMENTS = 64;
/**
 * Documents written during an evaluation of a live query and applied after it. Beyond: the query is evaluated once
 * more. (ours)
 */
export const LIVE_CATCH_UP_DOCUMENTS_MAX = 100_000;
/** Values of the order field that a query without a fitting index holds at once. Beyond: 413 op.too_large. (ours) */
export const ORDER_KEYS_BYTES_MAX = 64 * MIB;
/**
 * A cursor string. It contains the order field's value, which can be most of a document, in base64. Beyond: 400. (ours)
 */
export const CURSOR_CHARS_MAX = 2 * MIB;
/**
 * Rows cached for gets and index reads: characters of all rows, and of one row. Beyond: the oldest are evicted. (ours)
 */
export const ROW_CACHE_CHARS_MAX = 8 * MIB;
export const ROW_CACHE_ROW_CHARS_MAX = 16 * KIB;
/**
 * Entries of an index read that uses the row cache; longer reads join the documents, which costs less per row. (ours)
 */
export const ROW_CACHE_ENTRIES_MAX = 64;
/**
 * Reads of several rows in a row that miss one in the cache; later ones join the documents at once, except for each
 * n-th, which finds out whether that has changed. (ours)
 */
export const ROW_CACHE_MISSES_MAX = 64;
export const ROW_CACHE_TRY_EACH = 16;

/* Schemas */

/** Encoded values of one index entry. A document with a longer one is 400 op.invalid_input. (ours) */
export const INDEX_KEY_BYTES_MAX = 8 * KIB;
/** Documents named when existing data violates a new schema. (ours) */
export const SCHEMA_OFFENDERS_SHOWN = 10;
/**
 * PUT schema responds after its indexes are built if the table has fewer documents than this, before otherwise.
 * (design)
 */
export const INDEX_BUILD_WAIT_DOCUMENTS = 10_000;

/* Commit pipeline */

/**
 * Writes that run in one turn, and the time after which other work gets the thread. The group is committed then, if the
 * disk is free. (design)
 */
export const GROUP_WRITES_MAX = 64;
export const GROUP_WORK_MS_MAX = 5;
/**
 * Writes of one transaction, and bytes of journal records after which it takes no more: it grows while the
 * previous group is synced, and its pages stay in memory. Beyond: writes wait in the queue. (ours)
 */
export const GROUP_AHEAD_WRITES_MAX = 512;
export const GROUP_BYTES_MAX = 8 * 1024 * 1024;
/**
 * A tenant with more space left than this is far from its `--tenant-storage-max`: its usage is read once in so many
 * groups, and a write in between is not refused. Groups of documents that are nearly all keys of 32 indexes write about
 * this much. (ours)
 */
export const QUOTA_FAR_BYTES = 1024 * 1024 * 1024;
export const QUOTA_FAR_GROUPS = 4;
/**
 * In a closed loop a group lingers for writers that just got their replies: for this many syncs, and at most this long.
 * It does not linger if a sync is quicker than this, because timers have a resolution of one millisecond, or if there
 * are more writers than this. After lingers in vain, up to this many groups do not linger. (ours)
 */
export const LINGER_SYNCS = 1.25;
export const LINGER_MS_MAX = 8;
export const LINGER_SYNC_MS_MIN = 0.25;
export const LINGER_WRITES_MAX = 128;
export const LINGER_SKIPPED_MAX = 64;
/**
 * The serving thread makes a sync itself while its syncs take at most this long on average over this many groups. The
 * first limit is that of groups of few writes, the second of larger ones and of groups that follow one closely; groups
 * of more bytes go to the pool. After slower syncs, the pool syncs this many groups, and twice as many each further
 * time; the thread tries again if one of those syncs was this quick. While the tenant has only one client, which waits
 * for its writes, the syncs may take longer. (ours)
 */
export const SYNC_IN_THREAD_MS_MAX = 1;
export const SYNC_CROWD_MS_MAX = 0.5;
export const SYNC_ALONE_MS_MAX = 3;
export const SYNC_MEAN_GROUPS = 16;
export const SYNC_FEW_WRITES_MAX = 4;
export const SYNC_IN_THREAD_BYTES_MAX = 256 * 1024;
export const SYNC_POOL_GROUPS_MIN = 8;
export const SYNC_POOL_GROUPS_MAX = 4_096;
export const SYNC_POOL_MS_MAX = 3;
/** Changes of documents that a mutation of a function keeps in memory. Beyond: they are stored, in a savepoint. (ours) */
export const DEFERRED_CHANGES_MAX = 64;
/**
 * A group that no client waits for, such as one of due jobs, is committed at this many writes, or after this much work, even
 * if more are due, unless the disk still syncs the group before. A commit writes each changed page once. (ours)
 */
export const BACKGROUND_WRITES_MAX = 256;
export const BACKGROUND_WORK_MS_MAX = 25;
/** Writes queued for the writer. Beyond: 503 session.overloaded. (ours; the router's in-flight limit comes first) */
export const WRITE_QUEUE_MAX = 8_192;
/**
 * Long work (schema checks, back-fills, bootstrap, checks) blocks the event loop for at most this long at a time.
 * (design)
 */
export const SLICE_MS = 20;
/** `Idempotency-Key` replies are kept this long. (design) */
export const IDEMPOTENCY_KEEP_MS = 24 * 60 * 60 * 1000;
/** WAL pages after which a commit is followed by a checkpoint (4 KiB each). (ours) */
export const CHECKPOINT_WAL_PAGES = 2_000;
/**
 * Size in pages of a WAL that cannot start over because scans always overlap. Beyond: new scans wait until none runs.
 * (ours)
 */
export const WAL_PAGES_MAX = 8_000;
/** Pause before a retry of background work that the writer refused (full disk, full queue). (ours) */
export const BACKGROUND_RETRY_MS = 1_000;

/* Journal */

/** Records in one page of the journal: without `limit`, and at most. (ours) */
export const JOURNAL_PAGE_RECORDS_DEFAULT = 100;
export const JOURNAL_PAGE_RECORDS_MAX = 1_000;
/** Bytes of a journal page's records: a page ends early (has_more) rather than grow beyond. (ours) */
export const JOURNAL_PAGE_BYTES_MAX = 8 * MIB;
/**
 * A page of a filtered journal takes this long, and looks at so many records between two looks at the clock. Beyond: it
 * ends early (has_more). (ours)
 */
export const JOURNAL_SEARCH_MS = 10;
export const JOURNAL_SEARCH_RECORDS = 100;
/** Records of one block of the journal, for which a worker has one summary. Another number: other summaries. (ours) */
export const JOURNAL_BLOCK_RECORDS = 256;
/** Tables, documents and causes in one summary. Beyond: a search reads the block. (ours) */
export const JOURNAL_BLOCK_NAMES_MAX = 16_384;
/** Summaries of blocks in a worker's memory. Beyond: the oldest blocks have none, and a search reads them. (ours) */
export const JOURNAL_SUMMARY_BYTES_MAX = 16 * MIB;
/** Summaries that are not complete. Beyond: the oldest one is begun again. (ours) */
export const JOURNAL_BLOCKS_BEGUN_MAX = 8;
/** Summaries are made for so long at a time, with such pauses, so that requests get their turn. (ours) */
export const JOURNAL_SUMMARY_MS = 4;
export const JOURNAL_SUMMARY_PAUSE_MS = 6;
/** Records removed at most after one commit, so that retention never blocks the writer. (ours) */
export const JOURNAL_TRIM_RECORDS = 512;

/* Live queries */

/**
 * Key ranges that one live query watches. Beyond: the other filters are evaluated on each document written to its
 * table. (ours)
 */
export const LIVE_RANGES_MAX = 64;
/**
 * Distinct live queries of a tenant, and the bytes of their results with the state kept for them: each document counts
 * once per query, and so do those in reserve. Beyond: op.failed with session.overloaded, and the same ends a query
 * whose result grows beyond it. (ours)
 */
export const LIVE_QUERIES_MAX = 100_000;
export const LIVE_RESULT_BYTES_MAX = 512 * MIB;
/**
 * Evaluations of live queries that are remembered with their causes: of all queries (native ones and those of functions
 * each), of one, and the characters of a remembered key range. Beyond: the oldest are forgotten; a longer range is not
 * shown. (ours)
 */
export const LIVE_EVALUATIONS_MAX = 20_000;
export const LIVE_EVALUATIONS_OF_ONE_MAX = 20;
export const LIVE_RANGE_CHARS_MAX = 500;

/* The function socket */

/**
 * Key ranges in the read set of one subscribed query, and their bytes. Beyond: larger ranges are watched, up to the
 * whole tenant, and the query runs more often. (ours)
 */
export const SUBSCRIBED_READ_INTERVALS_MAX = 4_096;
export const SUBSCRIBED_READS_BYTES_MAX = 2 * MIB;

/* Scheduler */

/** Pending jobs and crons of a tenant. Beyond: 429 op.rate_limited. (ours) */
export const JOBS_PENDING_MAX = 1_000_000;
export const CRONS_MAX = 1_000;
/** Next times of a cron in one answer. A request for more gets so many. (ours) */
export const CRON_TIMES_MAX = 100;
export const CRON_TIMES_DEFAULT = 5;
/** Stored text of a tenant's pending jobs, arguments included. Beyond: 429 op.rate_limited. (ours) */
export const JOBS_PENDING_BYTES_MAX = 256 * MIB;
/** Runs in the history of each cron, the newest. (ours) */
export const CRON_RUNS_KEEP = 100;
/** Parsed cron expressions that a worker caches, the newest. (ours) */
export const CRON_EXPRESSIONS_READY_MAX = 1_000;
/** Job results that are stored, the newest; older ones are 404. (ours) */
export const JOB_RESULTS_KEEP = 10_000;
/**
 * A clock that goes back by less than this counts as corrected, not as set: crons wait until it has caught up. (ours)
 */
export const CLOCK_STEP_MS = 60_000;
/** Characters stored of the error of a failed job or cron run; the rest is cut. (ours) */
export const SCHEDULED_ERROR_CHARS_MAX = 4 * KIB;
/**
 * Indexes of a tenant whose last read is known exactly, 4 bytes each. Numbers of indexes count up: beyond, an index
 * shares its place with an older one. (ours)
 */
export const INDEX_READS_SLOTS = 4_096;
/** Pending jobs that the preview of an activation reads, oldest first; it does not count the others. (ours) */
export const JOBS_PREVIEWED_MAX = 100_000;
/** Text of a due job that is read before its write, together with others. Longer ones are read in their writes. (ours) */
export const JOB_AHEAD_BYTES_MAX = 4 * KIB;
/** Due work handed to the writer at a time; requests get their turn in between. (ours) */
export const DUE_AT_ONCE = 32;
/** Batches of due work that have run and are not durable: one group that is synced, and one that collects. (ours) */
export const DUE_BATCHES_MAX = (2 * BACKGROUND_WRITES_MAX) / DUE_AT_ONCE;
/**
 * Runs of a function's job that its process did not survive, after the first one. Beyond: the job fails instead of
 * running again. (ours)
 */
export const SUSPECT_RUNS_MAX = 2;

/* Functions: the HTTP edge */

/** Bytes of a streamed response that a worker buffers for its reader. Beyond: the response is cut short. (ours) */
export const STREAM_BACKLOG_BYTES_MAX = 21 * MIB;
/** A pushed response leaves in chunks of at most this size, well below STREAM_WINDOW_BYTES. (ours) */
export const STREAM_CHUNK_BYTES_MAX = 64 * KIB;

/* Bulk: imports, exports, tasks */

/** New documents, and entries of one index, that one statement writes: this halves the cost per document. (ours) */
export const INSERT_ROWS_AT_ONCE = 50;

/* Batches, caches and pauses that no client sees */

/** Rows that a slice of an index build reads, and entries that a slice of a removal deletes, at once. (ours) */
export const BACK_FILL_ROWS_AT_ONCE = 100;
export const BACK_FILL_ENTRIES_AT_ONCE = 500;
/** Documents written during a schema check that the installing group checks itself; more are checked before it. (ours) */
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
/**
 * Page caches: the writer's holds the B-tree paths it works on; readers map the file, so that a commit elsewhere does
 * not make them read pages again. (ours)
 */
export const WRITER_CACHE_KIB = 32 * 1024;
export const READER_CACHE_KIB = 2 * 1024;
export const READER_MMAP_BYTES = 1 << 30;
/** Findings in one report. Beyond: they are left out. (ours) */
export const VERIFY_FINDINGS_MAX = 20;
/** Rows that are parsed and filtered between two checks of the read budget. (ours) */
export const SCAN_ROWS_BETWEEN_CHECKS = 32;
/**
 * Rows a native query reads at once: few if a filter can stop early, more if every row is needed, and no more than fit.
 * (ours)
 */
export const SCAN_ROWS_FIRST_FILTERED = 16;
export const SCAN_ROWS_FIRST = 128;
export const SCAN_ROWS_LEAST = 4;
export const SCAN_ROWS_MOST = 256;
/**
 * A batch ends with the row that reaches this length; a longer body than this is read alone, so that it is not read in
 * vain. (ours)
 */
export const SCAN_ROWS_CHARS = 1024 * 1024;
export const SCAN_ROW_BYTES = 16 * KIB;

/* Copies */

/**
 * Bytes of a chunk of a page set before its compression. A reader or a writer of a set has one in memory, and a merge
 * one of each set. (ours)
 */
export const PAGE_SET_CHUNK_BYTES = MIB;
/** A file whose digest is made by two threads. Below: by one, because a thread takes longer to begin than it saves. (ours) */
export const DIGEST_THREAD_BYTES_LEAST = 64 * MIB;
/** Bytes of such a file that one of the threads takes at a time. Beyond: it takes the next ones. (ours) */
export const DIGEST_PART_BYTES = 4 * MIB;
/** Chunks of a page set that a restore decompresses, and writes, at the same time, in other threads. (ours) */
export const CHUNKS_DECOMPRESSED_MAX = 4;
export const CHUNKS_WRITTEN_MAX = 3;
/** Page sets that one merge reads at the same time. Beyond: the merged ones are merged again. (ours) */
export const PAGE_SETS_MERGED_MAX = 64;
/**
 * Entries of a tenant's spool. A capture makes fewer sets the more of them wait, so a receiver that is gone for days
 * leaves some 2,500. Beyond: the capture drops the spool, and the copier refuses it. (ours)
 */
export const SPOOL_ENTRIES_MAX = 4_096;
/** Bytes of a file with a position that are read, and of one with the place of a tenant's file in its log. (ours) */
export const POSITION_BYTES_MAX = 1_024;
export const PLACE_BYTES_MAX = 16 * 1_024;
/** Frames of a log that are read at once, and how many such runs are kept until their commits are accepted: 1 MiB. (ours) */
export const FRAME_RUN_MAX = 64;
export const FRAME_RUNS_MAX = 4;
/** Hashes of pages that a capture keeps, some 2 MiB. Beyond: all are dropped. (ours) */
export const PAGE_HASHES_MAX = 16_384;
/** Pages of a base that are copied or written before the commits made meanwhile are taken: some 10 ms. (ours) */
export const BASE_STEP_PAGES = 512;
/**
 * Pages that a tenant's commits add to the log of a cluster until the place of its file in the log is saved again: the
 * records since are read at the next open. (ours)
 */
export const PLACE_PAGES = 4_096;
/** Page sets are made this often in each interval of the copier, so that a commit waits for a part of it only. (ours) */
export const CAPTURES_PER_INTERVAL = 4;
/** The interval of the copier that counts for this, if it is longer. (ours) */
export const CAPTURE_EVERY_MS_MAX = 1_000;
/** While this many page sets wait, the next has twice the commits. (ours) */
export const SPOOL_SETS_PER_DOUBLING = 256;
/** While nothing is written, the capture looks for requests and confirmations of the copier this often. (ours) */
export const CAPTURE_IDLE_MS = 1_000;
/** Bytes that a base needs on the disk, as a part of the file: its pages, and what they are compressed to. (ours) */
export const BASE_BYTES_FACTOR = 1.5;
/**
 * After a base for which the disk has no space, the next is begun this much later, if it is requested then. After one that
 * filled the disk on the way the pause doubles each time, up to the second number. (ours)
 */
export const BASE_RETRY_MS = 60_000;
export const BASE_RETRY_MS_MAX = 3_600_000;
/** How much the thread of the capture is lower in priority (`nice`) than its process. (ours) */
export const CAPTURE_NICE = 5;
/** Memory of its JavaScript objects. Beyond: copies are given up for a while. (ours) */
export const CAPTURE_HEAP_MB = 128;
/** Pages after which the capture is requested to take the log, so that little is left for a checkpoint. (ours) */
export const CAPTURE_REQUEST_PAGES = 500;
/**
 * A checkpoint waits this long for the capture. Beyond: it is put off, and the next one waits longer in proportion to
 * the log, up to the second number. (ours)
 */
export const CAPTURE_WAIT_MS = 4;
export const CAPTURE_WAIT_MS_MAX = 25;
/** Pages until a checkpoint that was put off is tried again. (ours) */
export const CAPTURE_RETRY_PAGES = 250;
/**
 * Pages of the WAL (64 MiB) with commits that the log of the cluster lacks, with --ack local. Beyond: no group begins until
 * the log has all of them and a checkpoint was made. (design)
 */
export const LOCAL_WAL_PAGES_MAX = 16_384;
/** Pages, an estimate, of the commits that are appended to the log of the cluster as one record, with --ack local. (ours) */
export const LOCAL_SET_PAGES = 2_048;
/** Pause after the log was full, with --ack local. (ours) */
export const LOCAL_FULL_RETRY_MS = 1_000;
/** Pages of the log (256 MiB) beyond which copies are given up for a while. (ours) */
export const CAPTURE_PAGES_MAX = 65_536;
/** Pause before a capture that was given up begins again; doubled each time up to the second number. (ours) */
export const CAPTURE_AGAIN_MS = 60_000;
export const CAPTURE_AGAIN_MS_MAX = 3_600_000;
/** Captures that may be given up before the tenant has no copies until its next open: each keeps two descriptors. (ours) */
export const CAPTURES_MAX = 64;
/** Time of the close of a tenant for its last page set. Beyond: copies are given up, and a base is due. (ours) */
export const CAPTURE_CLOSE_MS = 1_500;
/** Answer to a request to flush, at the latest, and how often it is tried. (ours) */
export const CAPTURE_FLUSH_MS = 10_000;
export const CAPTURE_FLUSH_POLL_MS = 5;
