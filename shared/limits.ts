/**
 * Every limit of the service, with its unit in its name: why that number, and what a client sees beyond it. A queue, page,
 * body, frame, retry or cache without an entry here is a defect. `docs/limits.md` shows the same list to users.
 */

import {assert} from './assert.ts';
import {CLIENT_ARGS_BYTES_MAX, CLIENT_FRAME_CHARS, CLIENT_QUERIES_MAX, CLIENT_SILENCE_MS} from './client-limits.ts';
import {NESTING_LEVELS_MAX} from './values/value-limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge (router) */

/** Longest request body. Beyond: 413 op.too_large. (design) */
export const BODY_BYTES_MAX = 8 * MIB;
/** All request headers together; a signed token can be several KiB. Beyond: uWebSockets.js answers 431. (design) */
export const HEADERS_BYTES_MAX = 16 * KIB;
/** Longest path with its query string; also below 4 KiB of headers in front of us. Beyond: 400 op.invalid_input. (ours) */
export const URL_BYTES_MAX = 4 * KIB;
/** `Idempotency-Key` header. Beyond: 400 op.invalid_input. (design) */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255;
/** How often a connection whose body is whole and not answered yet is kept from being idle: below half of what uWebSockets.js allows. (ours) */
export const UPLOAD_AWAKE_MS = 4_000;
/** Operations of a transaction, beyond: 400 op.invalid_input; and what it may write of documents and jobs, beyond: 413 op.too_large. (ours) */
export const TRANSACTION_OPERATIONS_MAX = 1_000;
export const TRANSACTION_BYTES_MAX = 16 * MIB;
/** Documents that a transaction changes or deletes, as they were: they are in memory until all of it is on disk. Beyond: 413 op.too_large. (ours) */
export const TRANSACTION_REPLACED_CHARS_MAX = 64 * MIB;
/** Entity tags in one `If-Match` or `If-None-Match`. Beyond: 400 op.invalid_input. (ours) */
export const CONDITION_TAGS_MAX = 100;

/** How long a key may still be valid that a page sends as subprotocol of /ws. Beyond: 403 auth.forbidden. (ours) */
export const PAGE_KEY_LIFE_MS_MAX = 24 * 3_600_000;
/** Rate limits that an operator may set: requests a second, and at once. Beyond: it was mistyped, and is refused. (ours) */
export const RATE_LIMIT_PER_SECOND_MIN = 0.001;
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000;
export const RATE_LIMIT_BURST_MAX = 10_000_000;
/** Trusted proxies that a request may have come through. Beyond: the one before them counts as the caller. (ours) */
export const FORWARDED_HOPS_MAX = 32;
/** Lists of them of which a router knows whom they name, of each header, and the length of one: others are read again. (ours) */
export const FORWARDED_LISTS_KEPT = 1_024;
export const FORWARDED_KEPT_CHARS_MAX = 256;
/** A client's `X-Request-Id`, printable ASCII. Beyond, or other characters: the router's own id is used instead. (ours) */
export const REQUEST_ID_CHARS_MAX = 64;
/**
 * What is read and dropped of a request's body after its answer, so that the client can read the answer before its connection
 * closes: by bytes, and for how long. Beyond: it closes, and the client may find it reset. (ours)
 */
export const DROPPED_BODY_BYTES_MAX = 64 * MIB;
export const DROPPED_BODY_MS = 5_000;
/**
 * Wrong admin credentials: how many an address may show at once, how long one of them counts, and how many addresses are
 * remembered. Beyond: 429 op.rate_limited, this much later unless so many wait already. Right ones are always served. (ours)
 */
export const AUTH_FAILURES_AT_ONCE = 200;
export const AUTH_FAILURE_EARNED_MS = 1_000;
export const AUTH_FAILURE_ADDRESSES_MAX = 10_000;
export const AUTH_FAILURE_DELAY_MS = 1_000;
export const AUTH_FAILURES_DELAYED_MAX = 1_000;
/** Keys at once; beyond, those that expired go first, and where none has, a new one is 429 op.rate_limited. (ours) */
export const KEYS_MAX = 5_000;
/**
 * Of those, how many may descend from one key that an admin credential made, and how many keys may have made together: the rest of the
 * places is the operator's. Beyond: as with KEYS_MAX. (ours)
 */
export const KEYS_OF_FAMILY_MAX = 500;
export const KEYS_MADE_BY_KEYS_MAX = 4_000;
/** A key's name. Beyond: 400 op.invalid_input. (ours) */
export const KEY_NAME_CHARS_MAX = 128;
/** Tenants, and tables, that a key can be limited to. Beyond: 400 op.invalid_input. (ours) */
export const KEY_NAMES_MAX = 100;
/** How long a key, and the older secret of one that is rotated, may be valid at most. Beyond: 400 op.invalid_input. (ours) */
export const KEY_LIFE_SECONDS_MAX = 315_360_000;
export const KEY_OVERLAP_SECONDS_MAX = 2_592_000;
/** The highest rate limit of a key, and its burst. Beyond: 400 op.invalid_input. (ours) */
export const KEY_RATE_PER_SECOND_MAX = 1_000_000;
/** How often routers look for keys that expired, and tell which were used; how often that is written. (ours) */
export const KEY_LOOK_MS = 1_000;
export const KEY_USES_REPORT_MS = 2_000;
export const KEY_USES_WRITE_MS = 60_000;
/** Records of the audit log that are kept; the oldest leave first, 1 in 100 at once. (ours) */
export const AUDIT_RECORDS_MAX = 200_000;
/** Records of a page of it. Beyond: as many. (ours) */
export const AUDIT_PAGE_RECORDS_MAX = 1_000;
/** How long the outcome of an action may wait to be written. (ours) */
export const AUDIT_OUTCOME_MS = 250;
/** A name or id of what an action is done to is cut to this in its record. (ours) */
export const AUDIT_SUBJECT_CHARS_MAX = 256;
/**
 * Refusals (401, 403): how long those that are alike are only counted after the first, how many kinds a router knows at once of keys and
 * as many of others, and how many records a minute and in all are kept of each. Beyond: they are counted in a metric. (ours)
 */
export const REFUSAL_WINDOW_MS = 60_000;
export const REFUSAL_LOOK_MS = 5_000;
export const REFUSAL_GROUPS_MAX = 500;
export const REFUSAL_RECORDS_PER_MINUTE_MAX = 30;
export const REFUSAL_RECORDS_MAX = 50_000;
/** How long a record of one may wait to be written. (ours) */
export const REFUSAL_WRITE_MS = 2_000;
/** Free space inside the file of the audit log, for records of what is done on a full disk: a thousand and more. (ours) */
export const AUDIT_SPARE_BYTES = MIB;
/** Replies from this size on are handed to the kernel as it takes them instead of being copied into a send buffer. (ours) */
export const LARGE_REPLY_BYTES = 128 * KIB;
/** Large replies kept for clients that read slowly, all together. Beyond: the next one is 503 session.overloaded. (ours) */
export const UNSENT_REPLY_BYTES_MAX = 512 * MIB;

/* Placement: router and supervisor */

/** Routers that share the port; the other limits of routers hold for all of them together, each has its share. (ours) */
export const ROUTERS_MAX = 16;
/** Cores for each router with `--routers auto`: the others are for workers and the system. (design) */
export const CORES_PER_ROUTER = 4;
/** How long a worker's death waits for what each router had under way; a router that says nothing had nothing. (ours) */
export const DEATH_REPORT_MS = 1_000;

/** Requests that wait for one waking tenant, by count and by body bytes. Beyond: 503 session.overloaded. (ours) */
export const WAITING_REQUESTS_MAX = 1024;
export const WAITING_BYTES_MAX = 32 * MIB;
/** Requests of one tenant sent to its worker and not answered. Beyond: 503 session.overloaded. (ours) */
export const IN_FLIGHT_REQUESTS_MAX = 4096;
/** Bytes the router holds for one worker that reads slowly. Beyond: 503 session.overloaded. (ours) */
export const LINK_BUFFER_BYTES_MAX = 64 * MIB;
/** Bytes of their bodies, with a window for each that is sent in pieces. Beyond: 503 session.overloaded. (ours) */
export const IN_FLIGHT_BYTES_MAX = 128 * MIB;
/** Bytes of requests that the router holds itself, for one tenant and for all together. Beyond: 503 session.overloaded. (ours) */
export const TENANT_HELD_BYTES_MAX = 128 * MIB;
export const ROUTER_HELD_BYTES_MAX = 1024 * MIB;
/** Of it, what each tenant finds free however much others hold, as long as they are not hundreds. (ours) */
export const TENANT_SHARE_BYTES = 1 * MIB;
/** A scan whose worker died is sent once more unless it had been under way for longer: then it may be the reason. (ours) */
export const READ_AGAIN_MS_MAX = 2_000;
/** How long a request waits for its tenant to wake: a machine with too much to do is slow. Beyond: 503 session.worker_unavailable. (ours) */
export const WAKE_TIMEOUT_MS = 30_000;
/** Tenants opened at once because they were asked for; more would make each of them slower. Beyond: they wait. (ours) */
export const WAKES_AT_ONCE_MAX = 8;
/** One that takes longer than this does not count among them any more. (ours) */
export const WAKE_SLOW_MS = 4_000;
/** Pause before a worker that could not be connected to is asked for again. (ours) */
export const WAKE_RETRY_MS = 50;
/** How often the router reports which tenants had traffic, and looks for requests that waited too long. (ours) */
export const ACTIVITY_INTERVAL_MS = 1_000;
/** A process that does not report its metrics within this time is left out of a scrape. (ours) */
export const METRICS_TIMEOUT_MS = 1_000;
/** All processes report so often, in addition to scrapes: what one counted since its last report is lost when it is killed. (ours) */
export const METRICS_REPORT_MS = 15_000;
/** A worker or router that sends no heartbeat for this long of its own time is killed and replaced. (design: shed within 10 s) */
export const HEARTBEAT_INTERVAL_MS = 1_000;
export const HEARTBEAT_TIMEOUT_MS = 8_000;
/** The same while it starts or opens its tenant, which is work in one piece. (ours) */
export const STARTUP_TIMEOUT_MS = 30_000;
/** Silence after which it is killed whatever it waits for: a disk that is slower than this is gone. (ours) */
export const SILENCE_MS_MAX = 120_000;
/** Processes that may be killed for hanging one right after the other; then the pauses double up to the last. (ours) */
export const KILLS_AT_ONCE_MAX = 4;
export const KILL_PAUSE_MS_MIN = 2_500;
export const KILL_PAUSE_MS_MAX = 30_000;
/** After this long without a kill the pauses begin anew. (ours) */
export const KILLS_FORGOTTEN_MS = 60_000;
/** Memory of one process, without mapped files, looked at with each heartbeat. Beyond: it is killed and replaced. (ours) */
export const PROCESS_BYTES_MAX = 3 * 1024 * MIB;
/** A message of a child to the supervisor, and what is kept for one that does not read. Beyond: it is killed. (ours) */
export const CONTROL_LINE_BYTES_MAX = 16 * MIB;
export const CONTROL_UNREAD_BYTES_MAX = 64 * MIB;
/** Kernel limits of a worker and of each of its children, where the machine can set them: writable memory at once, what is looked at
 * once a second being less; descriptors. (ours) */
export const WORKER_DATA_BYTES_MAX = 2 * PROCESS_BYTES_MAX;
export const WORKER_DESCRIPTORS_MAX = 16_384;
/** Threads of a worker and its children together, where tenants have users of their own; a process of Node has some eleven. (ours) */
export const WORKER_THREADS_MAX = 4_096;
/** When the machine has no memory left, a process with more of this goes first: workers before routers. (ours) */
export const WORKER_OOM_ADJUSTMENT = 500;
/** Memory of a worker and all its children together, with what they have in a tmpfs, where each worker has a cgroup: this, and no more than
 * this share of what the server may have. Beyond: the kernel ends one of its processes. (ours) */
export const WORKER_GROUP_BYTES_MAX = 4 * PROCESS_BYTES_MAX;
export const WORKER_GROUP_SHARE_MAX = 0.75;
/** A program that confines children is tried for this long at a start. (ours) */
export const CONFINEMENT_TRY_MS_MAX = 5_000;
/** A tenant whose worker died this often without HEALTHY_MS of service between rests for REST_MS: 503 meanwhile. (design) */
export const DEATHS_BEFORE_REST = 5;
export const HEALTHY_MS = 5_000;
export const REST_MS = 30_000;
/** What is under way when a tenant moves to a worker that runs code may take this long; requests wait meanwhile. (ours) */
export const MOVE_MS_MAX = 5_000;
/** A tenant whose file is damaged is opened again without a request after REST_MS, then after twice as long each time, at most: (ours) */
export const DAMAGED_REST_MS_MAX = 60 * 60 * 1000;
/** Deaths in which all calls under way were of one function, before it is refused. (ours) */
export const FUNCTION_DEATHS_MAX = 8;
/** How long a call or a function that ended its worker is refused at first and at most; each time is twice the one before. (ours) */
export const QUARANTINE_MS_MIN = 30_000;
export const QUARANTINE_MS_MAX = 10 * 60 * 1000;
/** What was under way at a death is remembered for this long after it, and so many calls and functions of a tenant. (ours) */
export const SUSPICION_MS = 10 * 60 * 1000;
export const SUSPECTS_MAX = 256;
/** Deaths of one tenant within that time that are held against calls. Beyond: they count towards its rest. (ours) */
export const HELD_DEATHS_MAX = 30;
/** Bodies of calls up to this are parsed for the function's name when their worker ended; of longer ones the beginning is looked at. (ours) */
export const CALL_BODY_BYTES_READ = 64 * KIB;
/** SIGTERM to exit 0. What is not finished by then is ended. (design) */
export const DRAIN_MS = 4_500;
/** The part of it that a router has for its requests; the rest is for workers to close their files. (ours) */
export const ROUTER_DRAIN_MS = 3_000;
/** Tenants opened at once without being asked for (after a start, when due), so that they do not delay those that are. (ours) */
export const SILENT_WAKES_MAX = 2;
/** macOS and Linux cut longer Unix socket paths silently at 104 to 108 bytes. (design) */
export const SOCKET_PATH_BYTES_MAX = 100;
/** How often a worker looks whether its socket is still there. (ours) */
export const SOCKET_LOOK_MS = 1_000;
/** How often an idle worker looks whether its tenant's files are still there; a busy one looks with every commit. (ours) */
export const FILE_LOOK_MS = 1_000;
/** Space kept for opening tenants on a full disk, given back in pieces, made whole again while so much more is free. (ours) */
export const RESERVE_BYTES = MIB;
export const RESERVE_PIECE_BYTES = 64 * 1024;
export const RESERVE_SPARE_BYTES = 8 * MIB;
export const RESERVE_LOOK_MS = 10_000;
/** Directories of tenants that a refused start names. (ours) */
export const REFUSAL_DIRECTORIES_SHOWN = 20;
/** Tenants of one server: the registry is kept in memory. Beyond: 503 session.overloaded on creation. (ours) */
export const TENANTS_MAX = 100_000;

/* IPC frames */

/** Meta of a frame: its length is a u16. */
export const FRAME_META_BYTES_MAX = 0xffff;
/** Body of a frame: the largest result and some air. A longer one closes that connection. (ours) */
export const FRAME_BODY_BYTES_MAX = 20 * MIB;
/** Bytes of a streamed response that may be under way without the reader's credit. (ours) */
export const STREAM_WINDOW_BYTES = 1 * MIB;
/** Bootstraps of one tenant under way: each holds a snapshot and some documents. Beyond: 503 session.overloaded. (ours) */
export const BOOTSTRAPS_MAX = 16;
/** A streamed response whose reader takes nothing for this long is ended, so that it cannot pin the WAL. (ours) */
export const STREAM_STALL_MS = 30_000;
/** Replies a worker holds for a router that reads slowly before it stops reading requests. (ours) */
export const WORKER_OUTPUT_BYTES_MAX = 32 * MIB;

/* Values and documents */

/** A document's stored JSON text of user fields, in UTF-8 bytes. Beyond: 413 op.too_large. (design) */
export const DOCUMENT_BYTES_MAX = 1 * MIB;
export * from './client-limits.ts';
export * from './values/value-limits.ts';
/** Nesting of a whole request body: a document inside its request object (`{"mutation":{"fields":{…}}}`). (ours) */
export const BODY_NESTING_LEVELS_MAX = NESTING_LEVELS_MAX + 4;
/** Result of a list, a query or a page. Beyond: 413 op.too_large that names query/paginated. (design) */
export const RESULT_BYTES_MAX = 16 * MIB;
/** Table names: `[A-Za-z][A-Za-z0-9_]*`. Beyond: 400. (reference 1.4) */
export const TABLE_NAME_CHARS_MAX = 64;
/** Tables of a tenant: 16 bits of an id name one. Beyond: 400. (design) */
export const TABLES_MAX = 65_535;
/** Caller-chosen document ids. Beyond: 400. (design) */
export const DOCUMENT_ID_CHARS_MAX = 128;
/** A path of a filter, order or index, in characters and in steps. Beyond: 400. (ours) */
export const FIELD_PATH_CHARS_MAX = 1024;

/* Damage */

/** Damaged places that are told apart in the log: each is one error line. Beyond: a line each time. (ours) */
export const DAMAGE_PLACES_MAX = 1_000;
/** Looks at all processes until nothing of a tenant's user runs, or at a worker's cgroup until it is empty, and the pause between them. (ours) */
export const LEFTOVER_LOOKS_MAX = 1_000;
export const LEFTOVER_LOOK_MS = 5;
/** Numbers of users are noted as given so many ahead: one write of the note for so many tenants. (ours) */
export const USER_NUMBERS_NOTED = 64;
/** Of what one worker says it counts; beyond these it is nonsense, or not shown. And of all that ended. (ours) */
export const WORKER_REPORT_CHARS_MAX = 1 * MIB;
export const WORKER_SERIES_MAX = 2_000;
export const WORKER_SERIES_KEPT_MAX = 10_000;
/** Of what a worker says to the supervisor: one message each so often, and so many at once; one that says more is killed. (ours) */
export const WORKER_MESSAGE_MS = 5;
export const WORKER_MESSAGES_AT_ONCE = 2_000;
/** Of the command of a process below a worker, whose script says which kind it is; and of so many at once. (ours) */
export const COMMAND_BYTES_READ = 64 * KIB;
export const COMMANDS_READ_AT_ONCE = 64;
/** A version of Node that could not be installed is not tried again for this long. (ours) */
export const NODE_INSTALL_PAUSE_MS = 60_000;
/** Of a note in the directory of a tenant that root, or a command, reads: longer ones are not read. (ours) */
export const TENANT_NOTE_BYTES_MAX = 64 * KIB;
/** Entries of a tenant's directory, of which svc makes some twenty: with more it is not opened under a user of its own. (ours) */
export const TENANT_DIRECTORY_ENTRIES_MAX = 1_000;
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

export const PAGE_DOCUMENTS_MAX = 1_000;
/** Filters of one query, those inside of `or` counted. Beyond: 400. (ours) */
export const FILTERS_MAX = 64;
/** Values of an `in` or `not_in`. Beyond: 400. (ours) */
export const FILTER_VALUES_MAX = 1_000;
/** Fields that one query orders by. Beyond: 400. (ours) */
export const ORDER_FIELDS_MAX = 8;
/** Stretches of indexes and look-ups that one query is read from, all branches together; filters that would make more are looked at in each document. (ours) */
export const QUERY_STRETCHES_MAX = 2_000;
/** Stretches that are merged in the order of a query: each holds a piece of rows. Those of more are sorted. (ours) */
export const MERGED_PATHS_MAX = 32;
/** Paths that one query selects. Beyond: 400. (ours) */
export const SELECT_PATHS_MAX = 64;
/** Queries of one request, which are answered from one snapshot. Beyond: 400. (ours) */
export const BATCH_QUERIES_MAX = 32;
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

/** Fields and indexes of one table schema, fields of one index. Beyond: 400. (reference 1.4, 3.5) */
export const SCHEMA_FIELDS_MAX = 1_024;
export const SCHEMA_INDEXES_MAX = 32;
export const INDEX_FIELDS_MAX = 16;
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
/** A log that was not closed in order is written again in chunks of this size. (ours) */
export const REWRITE_CHUNK_BYTES = 1024 * 1024;
/** WAL pages after which a commit is followed by a checkpoint (4 KiB each). (ours) */
export const CHECKPOINT_WAL_PAGES = 2_000;
/** Pages of a WAL that cannot start over because scans always overlap: from then on new ones wait until none runs. (ours) */
export const WAL_PAGES_MAX = 8_000;

/** Pause before background work that the writer refused (full disk, full queue) is tried again. (ours) */
export const BACKGROUND_RETRY_MS = 1_000;

/** What a tenant may keep on disk unless configured otherwise. Beyond: 507 session.storage_full for that tenant alone. (ours) */
export const TENANT_STORAGE_BYTES_DEFAULT = 10 * 1024 * MIB;

/* Journal */

export const JOURNAL_PAGE_RECORDS_DEFAULT = 100;
export const JOURNAL_PAGE_RECORDS_MAX = 1_000;
/** Bytes of a journal page's records: a page ends early (has_more) rather than grow beyond. (ours) */
export const JOURNAL_PAGE_BYTES_MAX = 8 * MIB;
/** Records kept unless configured otherwise. (ours) */
export const JOURNAL_KEEP_RECORDS_DEFAULT = 1_000_000;
/** Records removed at most after one commit, so that retention never stalls the writer. (ours) */
export const JOURNAL_TRIM_RECORDS = 512;

/* Live queries */

/** `client_hello` must arrive within this time. Beyond: fatal_error protocol.hello_timeout. (spec) */
export const HELLO_TIMEOUT_MS = 10_000;
/** A client's frame on /ws. Beyond: error op.too_large; the connection stays. (design) */
export const SOCKET_FRAME_BYTES_MAX = 64 * KIB;
/** A client's frame that is not even read: uWebSockets.js drops the connection without a close frame (1006). (ours) */
export const SOCKET_FRAME_BYTES_READ = 1 * MIB;
/** Frames a client may send a second, on average and at once. Beyond: error op.rate_limited, the frame is dropped. (ours) */
export const SOCKET_FRAMES_PER_SECOND = 500;
export const SOCKET_FRAMES_AT_ONCE = 8_192;
/** Live subscriptions of one connection. Beyond: op.failed with op.rate_limited. (design) */
export const SUBSCRIPTIONS_PER_SOCKET_MAX = 4_096;
/** Open sockets of one router, and as many function sockets. Beyond: 503 session.overloaded, for a function socket of a tenant that has its share. (ours) */
export const SOCKETS_MAX = 100_000;
/** Bytes a socket may owe its reader before it gets only the newest snapshots, once it has caught up. (ours) */
export const SOCKET_SLOW_BYTES = 256 * KIB;
/** Bytes owed beyond which a socket is dropped (1006; it reads no close frame): one snapshot and the design's 4 MiB. (design) */
export const SOCKET_OWED_BYTES_MAX = RESULT_BYTES_MAX + 4 * MIB;
/** A socket that is silent for this long, pings included, is dead. Seconds, as uWebSockets.js wants it. (ours) */
export const SOCKET_IDLE_SECONDS = 60;
/** Stretches of values that one live query watches; what more would say is looked at in each document of its table. (ours) */
export const LIVE_STRETCHES_MAX = 64;
/**
 * Distinct live queries of a tenant, and the bytes of their results with what is kept for them: each document apart, those in reserve, too.
 * Beyond: op.failed with session.overloaded, and the same ends a query whose result grows beyond it. (ours)
 */
export const LIVE_QUERIES_MAX = 100_000;
export const LIVE_RESULT_BYTES_MAX = 512 * MIB;

/* The function socket */

/** A client's message on the function socket. Beyond: fatal_error op.too_large. (design) */
export const FUNCTION_SOCKET_MESSAGE_BYTES_MAX = 8 * MIB;
/** … that is not even read: uWebSockets.js drops the connection without a close frame (1006). (ours) */
export const FUNCTION_SOCKET_MESSAGE_BYTES_READ = 16 * MIB;
/** Messages of one socket that its worker has not handled, which may be waking: close 1013 session.overloaded. (ours) */
export const FUNCTION_SOCKET_UNHANDLED_BYTES_MAX = 20 * MIB;
/** … and of all sockets of a tenant: who says more and has more than an equal share of it is closed, 1013 session.overloaded. (ours) */
export const FUNCTION_SOCKETS_UNHANDLED_BYTES_MAX = 64 * MIB;
/** Messages of one socket that wait while its worker wakes. Beyond: close 1013 session.overloaded. (ours) */
export const SOCKET_MESSAGES_WAITING_MAX = 4_096;
/** What a message that waits costs its router beside its bytes. (ours) */
export const MESSAGE_OVERHEAD_BYTES = 256;
/** Function sockets of a tenant. Beyond: close 1013 session.overloaded, of one on which nothing was asked for if there is one. (ours) */
export const FUNCTION_SOCKETS_MAX = 20_000;
/** Bytes under way to a socket, beyond which it is shown no new moment until its network has taken some. (ours) */
export const FUNCTION_SOCKET_WINDOW_BYTES = 128 * KIB;
/** What all sockets are owed together. Beyond: who is sent more and owes more than an equal share is dropped (1006). (ours) */
export const SOCKETS_OWED_BYTES_MAX = 1024 * MIB;
/** What was taken, or handled, is told to the other process when it is this much. (ours) */
export const FUNCTION_SOCKET_CREDIT_BYTES = 32 * KIB;
/** A transition longer than this leaves in pieces of the second length, so that what it waits for is bounded. Characters. (ours) */
export const TRANSITION_CHARS_MAX = 256 * KIB;
export const TRANSITION_PIECE_CHARS = 64 * KIB;
/** Results between these lengths may be sent as a change of the one before: shorter ones gain nothing, longer ones take too long. (ours) */
export const DELTA_CHARS_MIN = 512;
export const DELTA_CHARS_MAX = 1 * MIB;
/** A socket's token whose provider's keys could not be fetched is checked again after so long, twice as long each time, up to the second. (ours) */
export const TOKEN_VERIFY_AGAIN_MS = 1_000;
export const TOKEN_VERIFY_AGAIN_MS_MAX = 16_000;
/** Queries of one socket. Beyond: the query's result is an error; twice as many with those: fatal_error. (ours) */
export const QUERIES_PER_SOCKET_MAX = 4_096;
/** Results of all queries of one socket, and the lines of their runs. Beyond: results of those added last are errors. Characters. (ours) */
export const SOCKET_RESULTS_CHARS_MAX = 32 * MIB;
/** Changes of one query_set: each query may go and come, and what is refused as well. Beyond: fatal_error. (ours) */
export const QUERY_CHANGES_MAX = 4 * QUERIES_PER_SOCKET_MAX;
/** Distinct queries that the sockets of a tenant hold, and the bytes of their results and read sets. Beyond: the query's result is an error. (ours) */
export const HELD_QUERIES_MAX = 100_000;
export const HELD_QUERIES_BYTES_MAX = 256 * MIB;
/** Stretches in the read set of one, and their bytes. Beyond: larger stretches are watched, up to all there is, and it runs more often. (ours) */
export const HELD_READ_INTERVALS_MAX = 4_096;
export const HELD_READS_BYTES_MAX = 2 * MIB;
/** Runs of held queries under way, and those of one function: others get their turn, and one that loops takes its own places. (ours) */
export const LIVE_RUNS_MAX = 512;
export const LIVE_RUNS_OF_ONE_MAX = 64;
/** A held query that could not be run, or held, is tried again after this; one that is refused again and again after twice as long, up to this. (ours) */
export const LIVE_RUN_AGAIN_MS = 1_000;
export const LIVE_RUN_AGAIN_MS_MAX = 30_000;
/** Refusals for overload in a row for which what was shown before stands. Beyond: the query's result is an error, until it was run. (ours) */
export const LIVE_REFUSALS_HIDDEN_MAX = 3;
/** Times that a socket's queries may fail to meet in one moment before they are run in one snapshot of their own. (ours) */
export const MOMENTS_MISSED_MAX = 3;
/** Mutations of one socket that wait for those before, and its actions under way. Beyond: session.overloaded for the call. (ours) */
export const SOCKET_MUTATIONS_WAITING_MAX = 10_000;
export const SOCKET_ACTIONS_MAX = 256;
/** Answers that wait for a slow socket. Beyond: its calls wait as well. Characters. (ours) */
export const SOCKET_ANSWERS_WAITING_CHARS = 4 * MIB;
/** … with those of calls that were under way already. Beyond: close 1013 session.overloaded. Characters. (ours) */
export const SOCKET_ANSWERS_CHARS_MAX = 48 * MIB;
/** What waits for all slow sockets of a tenant. Beyond: close 1013 for who adds to it and has more than an equal share. Characters. (ours) */
export const SOCKETS_WAITING_CHARS_MAX = 256 * MIB;
/** A socket that has been sent nothing for so long is sent a `ping`; sockets are looked at so often. (reference 9.8) */
export const FUNCTION_SOCKET_PING_MS = 15_000;
export const FUNCTION_SOCKET_LOOK_MS = 1_000;

/* Scheduler */

/** Furthest future of a job: ten years. Beyond: 400. (ours) */
export const RUN_AFTER_MS_MAX = 10 * 366 * 24 * 60 * 60 * 1000;
/** Cron intervals: a second to ten years. Beyond: 400. (ours) */
export const CRON_SECONDS_MIN = 1;
export const CRON_SECONDS_MAX = RUN_AFTER_MS_MAX / 1000;
/** Pending jobs and crons of a tenant. Beyond: 429 op.rate_limited. (ours) */
export const JOBS_PENDING_MAX = 1_000_000;
export const CRONS_MAX = 1_000;
/** Stored text of a tenant's pending jobs, arguments included. Beyond: 429 op.rate_limited. (ours) */
export const JOBS_PENDING_BYTES_MAX = 256 * MIB;
/** A cron's expression and the name of its time zone. Beyond: 400. (ours) */
export const CRON_EXPRESSION_CHARS_MAX = 256;
export const TIME_ZONE_CHARS_MAX = 64;
/** Runs of each cron that its history keeps, the newest. (ours) */
export const CRON_RUNS_KEEP = 100;
/** Expressions that a worker has ready, the newest. (ours) */
export const CRON_EXPRESSIONS_READY_MAX = 1_000;
/** A cron's name: printable, without `/`. Beyond: 400. (ours) */
export const CRON_NAME_CHARS_MAX = 128;
/** Job results kept, the newest; older ones are 404. (ours) */
export const JOB_RESULTS_KEEP = 10_000;
/** A clock that goes back by less is corrected, not set: crons wait until it is there again. (ours) */
export const CLOCK_STEP_MS = 60_000;
/** What is kept of the error of a failed job or cron run, in characters; the rest is cut. (ours) */
export const SCHEDULED_ERROR_CHARS_MAX = 4 * KIB;
/** Due work handed to the writer at a time; requests get their turn in between. (ours) */
export const DUE_AT_ONCE = 32;
/** The clock is looked at this often, at least: a timer does not notice a clock that is set. (ours) */
export const CLOCK_CHECK_MS = 30_000;
/** Runs of a function's job that its process did not survive, after the first: the next one fails instead. (ours) */
export const SUSPECT_RUNS_MAX = 2;

/* Functions */

/** CPU time of one query or mutation, the work of its host for it included. Beyond: the function fails, its realm is dropped. (reference 11.4) */
export const FUNCTION_MS_MAX = 1_000;
/** The clock's time it may take on a machine that is busy, of a query and of a mutation, which others wait for. Beyond: 503. (ours) */
export const QUERY_WALL_MS_MAX = 8_000;
export const MUTATION_WALL_MS_MAX = 4_000;
/** From this much of its time on, a log line says so. (reference 11.4) */
export const FUNCTION_MS_WARNING = 800;
/** Times a mutation is taken back because its modules were dropped meanwhile; then they are loaded inside its write. (ours) */
export const MUTATION_PREPARATIONS_MAX = 8;
/** Evaluating a module and all it imports. Beyond: the deploy is refused, the call fails. (reference 11.1) */
export const FUNCTION_LOAD_MS_MAX = 4_000;
/** Heap and buffers of one isolate, MiB. Beyond: the isolate ends, and with it the invocation. (reference 11.4) */
export const ISOLATE_MEMORY_MB = 64;
/** An isolate whose heap is larger than this between two invocations is replaced. (ours) */
export const ISOLATE_HEAP_RECYCLE_BYTES = 40 * MIB;
/** Deployments whose code an isolate keeps: the active one and the one it replaces or is replaced by. (ours) */
export const REALMS_PER_ISOLATE_MAX = 2;
/** A released realm leaves memory in its isolate until that is replaced, which costs 5 ms. */
export const REALMS_MADE_PER_ISOLATE_MAX = 8;
/** Arguments of a function, as JSON. Beyond: the call fails. (design) */
export const FUNCTION_ARGUMENT_BYTES_MAX = 8 * MIB;
/** What a function returns, as JSON. Beyond: the function fails. (design) */
export const FUNCTION_RESULT_BYTES_MAX = 16 * MIB;
/** Characters of all arguments of one call of an isolate to its host: they are copied. Beyond: the call throws. (ours) */
export const HOST_CALL_CHARS_MAX = 20 * MIB;
/** Console lines of one execution, and the length of one. Beyond: one last line says so; the line is cut. (reference 11.3) */
export const LOG_LINES_MAX = 256;
export const LOG_LINE_CHARS_MAX = 32 * KIB;
/** Of an action with all it calls, in characters, for its caller. Beyond: one last line says so. (ours) */
export const LOG_CALL_CHARS_MAX = 1 * MIB;
/** Name, message and stack of what user code throws, in characters. Beyond: they are cut. (ours) */
export const ERROR_NAME_CHARS_MAX = 200;
export const ERROR_MESSAGE_CHARS_MAX = 64 * KIB;
export const ERROR_STACK_CHARS_MAX = 128 * KIB;
/** Source maps kept parsed, and the longest that is: parsing takes the thread that serves. Beyond: frames are left out. (ours) */
export const SOURCE_MAPS_KEEP = 64;
export const SOURCE_MAP_CHARS_MAX = 8 * MIB;
/** Finished executions that GET …/logs can show from before it was asked. The oldest leave. (ours) */
export const LOG_ENTRIES_KEEP = 1_000;
/** Characters of console lines those entries hold together. The oldest leave. (ours) */
export const LOG_CHARS_KEEP = 4 * MIB;
/** Executions on disk, of those that failed or wrote a line: a file is begun anew from this size on, so many are kept. The oldest leave. (ours) */
export const LOG_FILE_BYTES = 4 * MIB;
export const LOG_FILES_KEEP = 8;
/** They are written this much later, together. A killed process loses them. (ours) */
export const LOG_FLUSH_MS = 100;
/** Of them, what waits for a slow disk. Beyond: dropped, and the service's log says so. (ours) */
export const LOG_UNWRITTEN_CHARS_MAX = 16 * MIB;
/** Failed executions of a tenant in the service's log: at once, and a second. Beyond: counted in the next line. (ours) */
export const LOG_FAILURES_BURST = 20;
export const LOG_FAILURES_PER_SECOND = 1;
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
/** Readers that follow the log of one tenant. Beyond: 503 session.overloaded. (ours) */
export const LOG_FOLLOWERS_MAX = 16;
/** Threads that run queries of one tenant; the second and more start only while another is held up. (ours) */
export const QUERY_THREADS_MAX = 4;
/** Queries handed to a thread at once: they share one snapshot and one crossing. (ours) */
export const QUERY_BATCH_MAX = 32;
/** So many queries wait while a thread is busy: it gets a second batch to go on with. (ours) */
export const QUERY_LOOK_AHEAD_MIN = 8;
/** A batch ends after this long, whatever is left of it: that goes on at once, here or on another thread. (ours) */
export const QUERY_SLICE_MS = 25;
/** A query that still runs at the second look holds up its thread: the others of its batch go to another. (ours) */
export const QUERY_LOOK_MS = 40;
/** … at so many looks when it is the first one that needs its module, which is loaded meanwhile. (ours) */
export const QUERY_LOOKS_FIRST = 12;
/** … at so many times as many when its thread was hardly let run meanwhile, or waited for the disk. (ours) */
export const QUERY_LOOKS_STARVED = 5;
/** A function that did counts as slow for this long, and so many of them: it runs alone, and one thread is kept for others. (ours) */
export const QUERY_SLOW_MS = 10_000;
export const QUERY_SLOW_PATHS_MAX = 1_000;
/** Beyond the time-outs of its queries a thread that still has not answered hangs: the worker is ended and replaced. (ours) */
export const QUERY_WEDGED_MS = 15_000;
/** Results of query functions kept for the next caller, with their keys and read sets: all of a tenant, and one. Beyond: those used least recently leave, and it is not kept. (ours) */
export const RESULTS_BYTES_MAX = 16 * MIB;
export const RESULT_KEPT_BYTES_MAX = 1 * MIB;
/** Stretches in the read set of a kept result. With more it is not kept: each is looked after. (ours) */
export const RESULT_INTERVALS_MAX = 256;
/** Documents written while queries are under way that their results are held against, and comparisons for one. Beyond: it is not kept. (ours) */
export const RECENT_CHANGES_MAX = 1_000;
export const RECENT_COMPARISONS_MAX = 10_000;
/** Queries that wait for a thread. Beyond: 503 session.overloaded. (ours; the router's in-flight limit comes first) */
export const QUERY_QUEUE_MAX = 8_192;
/** Threads and isolates without work for this long end, so that memory returns after a burst; threads a little later. (ours) */
export const FUNCTION_IDLE_MS = 30_000;
export const FUNCTION_IDLE_MARGIN_MS = 5_000;
/** A tenant with functions has opened this long before it loads what runs them: what woke it comes first. (ours) */
export const FUNCTIONS_WARM_DELAY_MS = 20;
/** Jobs one mutation schedules, the arguments of one, and of all of them. Beyond: the call fails. (reference 3.8, 4) */
export const SCHEDULED_JOBS_PER_MUTATION_MAX = 1_000;
export const SCHEDULED_ARGUMENT_BYTES_MAX = 4 * MIB;
export const SCHEDULED_ARGUMENTS_BYTES_MAX = 16 * MIB;
/** How far from now a function may be scheduled, in the past or the future: five years. Beyond: the call fails. (reference 4) */
export const SCHEDULE_DISTANCE_MS_MAX = 5 * 366 * 24 * 60 * 60 * 1000;

/* Functions: actions */

/** Actions and HTTP actions of a tenant under way, those called by others included. Beyond: 503 session.overloaded. (ours) */
export const ACTIONS_MAX = 128;
/** Characters of their arguments together: they wait in several copies. Beyond: 503 session.overloaded. (ours) */
export const ACTION_ARGUMENTS_CHARS_MAX = 64 * MIB;
/**
 * Memory of a worker without mapped files, from which isolates that no call has used for this long are given back; from which
 * it starts no more functions (503 session.overloaded); and from which actions are ended, the largest first, well below
 * PROCESS_BYTES_MAX: an isolate's limit does not see one large string, nor WebAssembly. Looked at this often while functions
 * are under way. (ours)
 */
export const FUNCTIONS_PROCESS_BYTES_SHORT = 1024 * MIB;
export const FUNCTIONS_SHORT_IDLE_MS = 1_000;
export const FUNCTIONS_PROCESS_BYTES_MAX = 2 * 1024 * MIB;
export const FUNCTIONS_PROCESS_BYTES_END = 2.5 * 1024 * MIB;
export const FUNCTIONS_PROCESS_LOOK_MS = 100;
/**
 * What an action's isolate may take before it can be ended, and for how long since it began to compute it is expected to, at
 * most also while memory is short. Others of its thread wait when there would not be as much for them. (ours)
 */
export const ENTRY_BYTES = 1024 * MIB;
export const ENTRY_YOUNG_MS = 500;
export const ENTRY_YOUNG_MS_MAX = 5_000;
/**
 * The process of query and action isolates: how long it stays without a call, and may take to end in order. Beyond: it is
 * killed. (ours)
 */
export const ISOLATE_PROCESS_IDLE_MS = 60_000;
export const ISOLATE_PROCESS_CLOSE_MS_MAX = 15_000;
/** While it has calls, its memory is looked at this often, and so many looks it may be silent. Beyond: it is killed. (ours) */
export const ISOLATE_PROCESS_LOOK_MS = 100;
export const ISOLATE_PROCESS_SILENT_LOOKS_MAX = 100;
/** What it and its worker tell each other at once: a result whose characters take three bytes each, and its lines. Beyond: it is killed. (ours) */
export const ISOLATE_FRAME_BYTES_MAX = 128 * MIB;
/** What waits to be read by it. Beyond, it is killed: it does not read what it asked for. (ours) */
export const ISOLATE_UNREAD_BYTES_MAX = 512 * MIB;
/** A process has ended, and what it started holds its pipes open: what they still bring is waited for so long. (ours) */
export const CHILD_PIPES_MS_MAX = 1_000;
/** Starts that fail in a row before calls are refused with 503. (ours) */
export const ISOLATE_PROCESS_STARTS_MAX = 2;
/** Of a process that runs code of tenants: the end of its standard error, which says what V8 dies of. (ours) */
export const LAST_WORDS_CHARS = 4_000;
/** Threads that run them; the second starts when the first has its half. (ours) */
export const ACTION_THREADS_MAX = 2;
/** JavaScript heap of one of these threads; the isolates in it have ISOLATE_MEMORY_MB each besides. (ours) */
export const ACTION_THREAD_HEAP_MB = 256;
/** One action, waiting included. Beyond: it fails, and what it left running ends with it. (reference 11.4) */
export const ACTION_MS_MAX = 10 * 60 * 1000;
/** User code of one action without what it waits for. Beyond: it fails. (ours) */
export const ACTION_CPU_MS_MAX = 30_000;
/** How often that is looked at. (ours) */
export const ACTION_CPU_CHECK_MS = 100;
/** An action that has its result but still runs code: its isolate is ended after this. (ours) */
export const ACTION_LINGER_MS = 1_000;
/** Isolates that a thread keeps for the next action, and for how long. (ours) */
export const ACTION_ISOLATES_IDLE_MAX = 32;
export const ACTION_ISOLATE_IDLE_MS = 10_000;
/** Operations of one action that wait for an answer. Beyond: the call fails. (reference 5) */
export const ACTION_CALLS_MAX = 1_000;
/** Timers of one action under way. Beyond: setTimeout throws. (ours) */
export const ACTION_TIMERS_MAX = 10_000;
/** Fetches of one action whose answers are not read to the end, and its WebSockets. Beyond: the call fails. (ours) */
export const ACTION_FETCHES_MAX = 128;
export const ACTION_SOCKETS_MAX = 16;
/** Old heap of a Node process, MiB, and all its memory, looked at this often. Beyond: it ends and its calls fail. (reference 11.4) */
export const NODE_HEAP_MB = 512;
export const NODE_PROCESS_BYTES_MAX = 768 * MIB;
export const NODE_LOOK_MS = 100;
/** Node processes of a tenant: one that computes is joined by another for calls that have waited so long. Beyond: they wait. (ours) */
export const NODE_PROCESSES_MAX = 4;
export const NODE_BUSY_MS = 250;
/** How long one without calls stays for the next, and how long it may take to start. (ours) */
export const NODE_IDLE_MS = 30_000;
export const NODE_START_MS_MAX = 15_000;
/** What a Node process and its worker tell each other at once. Beyond: it ends and its calls fail. (ours) */
export const NODE_FRAME_BYTES_MAX = 64 * MIB;
/** What the process of a service or a sandbox may say in one moment; the rest waits for the next. (ours) */
export const NODE_MESSAGES_MAX = 1_000;
export const NODE_HEARING_MS = 100;
/** What waits to be read by a Node process. Beyond, it is ended: it does not read what it asked for. (ours) */
export const NODE_UNREAD_BYTES_MAX = 192 * MIB;
/** Pieces of up to 64 KiB of its standard error that are read in NODE_HEARING_MS; the rest waits in the process. (ours) */
export const NODE_STDERR_PIECES_MAX = 16;
/** Installing a version of Node. Beyond: the deploy is refused. (ours) */
export const NODE_INSTALL_MS_MAX = 10 * 60 * 1000;
/** A request body of fetch up to this is sent whole, with its length; a longer one is streamed. (ours) */
export const FETCH_BODY_BUFFERED_BYTES = 4 * MIB;
/** An answer of fetch, or messages of a socket, that wait for the action to read them. Beyond: the sender waits; the socket is closed. (ours) */
export const FETCH_READ_AHEAD_BYTES = 64 * KIB;
export const SOCKET_READ_AHEAD_BYTES_MAX = 32 * MIB;
/** What an action sent on a socket and the network has not taken. Beyond: the socket is closed. (ours) */
export const SOCKET_UNSENT_BYTES_MAX = 16 * MIB;
/** How often a socket with something unsent is looked at, for its bufferedAmount. (ours) */
export const SOCKET_UNSENT_CHECK_MS = 5;
/** Response of an HTTP action: its body, and its headers. Beyond: the body is cut; 500. From the warning on a log line says so. (reference 6.2) */
export const HTTP_ACTION_RESPONSE_BYTES_MAX = 20 * MIB;
export const HTTP_ACTION_RESPONSE_BYTES_WARNING = 16 * MIB;
export const HTTP_ACTION_HEADERS_BYTES_MAX = 64 * KIB;
/** A piece of such a body crosses to its host in parts of this size. (ours) */
export const HTTP_ACTION_PART_BYTES = 1 * MIB;
/** How long the head of a response waits for the first piece of its body, whose failure is a 500 with its reason until then. (ours) */
export const HTTP_ACTION_HEAD_HELD_MS = 5_000;
/** The same for a stream of events, whose reader waits for the head. (ours) */
export const EVENT_STREAM_HEAD_HELD_MS = 100;

/* Functions: globals of the default runtime */

/** Text that showing one value to the log makes before it stops looking further. (ours) */
export const INSPECT_CHARS_MAX = 32 * KIB;
/** Maximum of one WebAssembly memory, in pages of 64 KiB, and memories of one invocation. Beyond: a RangeError. (ours) */
export const WASM_MEMORY_PAGES_MAX = 512;
export const WASM_MEMORIES_MAX = 16;
/** Beyond so many that its invocations made, a realm is replaced before the next: it may have kept them. (ours) */
export const WASM_MEMORIES_KEPT_MAX = 4;
/** Bytes one crypto.getRandomValues may ask for. Beyond: QuotaExceededError. (web cryptography standard) */
export const RANDOM_BYTES_MAX = 64 * KIB;
/** Input of one crypto.subtle call, and its parameters with the key. Beyond: OperationError. (ours) */
export const CRYPTO_INPUT_BYTES_MAX = 16 * MIB;
export const CRYPTO_PARAMETERS_CHARS_MAX = 256 * KIB;
/** PBKDF2: iterations times blocks of the result, which is half a second to a second; of one call in actions, of all calls of a query or mutation. Beyond: OperationError. (ours) */
export const PBKDF2_WORK_MAX = 1_000_000;
/** Result of one deriveBits. Beyond: OperationError. (ours) */
export const DERIVED_BYTES_MAX = 8 * KIB;
/** RSA keys that are used, and that are made: time grows with the third power and more. Beyond: OperationError. (ours) */
export const RSA_MODULUS_BITS_MAX = 8_192;
export const RSA_GENERATED_BITS_MAX = 4_096;

/* Functions: outgoing connections, and tokens */

/** Entries of each list of a tenant's egress policy, and the length of one: a host name's 253, a port. Beyond: 400. (ours) */
export const EGRESS_PATTERNS_MAX = 256;
export const EGRESS_PATTERN_CHARS_MAX = 262;
/** Connections of one thread to one origin, and origins at once. Beyond: requests wait; the request fails. (ours) */
export const EGRESS_CONNECTIONS_PER_ORIGIN_MAX = 32;
export const EGRESS_ORIGINS_MAX = 1_024;
/** Addresses of one name that are looked at; the others are not tried. (ours) */
export const EGRESS_ADDRESSES_MAX = 16;
/** Time to resolve and connect; then for the headers of the answer; then between two pieces of its body. Beyond: it fails. (ours) */
export const EGRESS_CONNECT_TIMEOUT_MS = 10_000;
export const EGRESS_HEADERS_TIMEOUT_MS = 60_000;
export const EGRESS_BODY_TIMEOUT_MS = 60_000;
/**
 * Connections of one tenant's code at once, those that are being made included, and of all tenants. Each takes two descriptors
 * of the egress process. A tenant has no more than are free. Beyond: the connection fails. (ours)
 */
export const EGRESS_CONNECTIONS_PER_TENANT_MAX = 1_024;
export const EGRESS_CONNECTIONS_MAX = 8_192;
/** Names that are looked up at once, of one tenant and of all, each with a socket. Beyond: they wait, and the tenant with the fewest is next. (ours) */
export const EGRESS_LOOKUPS_PER_TENANT_MAX = 8;
export const EGRESS_LOOKUPS_MAX = 512;
/** Names of one tenant that wait for that. Beyond: the look-up fails with EMFILE. (ours) */
export const EGRESS_LOOKUPS_WAITING_MAX = 256;
/** How long a name server may take, how often one is asked, and how long a look-up may take in all. Beyond: EAI_AGAIN. (ours) */
export const EGRESS_LOOKUP_TIMEOUT_MS = 2_000;
export const EGRESS_LOOKUP_TRIES = 2;
export const EGRESS_LOOKUP_MS_MAX = 8_000;
/** Names of one tenant whose failure is remembered, and for how long. (ours) */
export const EGRESS_LOOKUP_FAILURES_KEPT = 256;
export const EGRESS_LOOKUP_FAILURE_MS = 2_000;
/** Addresses of the machine's own interfaces are read at most this often. (ours) */
export const EGRESS_OWN_ADDRESSES_LOOK_MS = 1_000;
/** Search domains of resolv.conf that are tried. (as the C library of old) */
export const EGRESS_SEARCH_DOMAINS_MAX = 6;
/** /etc/hosts and /etc/resolv.conf are checked for changes at most this often. (ours) */
export const EGRESS_SYSTEM_FILE_LOOK_MS = 1_000;
/** Threads and processes of one tenant that have a link to the egress process. Beyond: they find nobody there. (ours) */
export const EGRESS_LINKS_PER_TENANT_MAX = 256;
/** What one tenant may ask of the egress process, in a second and at once. Beyond: its questions wait. (ours) */
export const EGRESS_QUESTIONS_PER_SECOND_MAX = 1_000;
/** One question, or answer, and how long a new link may take to show its secret. Beyond: the link is ended. (ours) */
export const EGRESS_LINE_BYTES_MAX = 4 * KIB;
export const EGRESS_HELLO_MS_MAX = 5_000;
/** From the answer that a connection is open until its client comes for it. Beyond: it is closed. (ours) */
export const EGRESS_CLAIM_MS_MAX = 10_000;
/** The name of a connection's path, in a directory that other users cannot go through: 72 random bits. (ours) */
export const EGRESS_PATH_CHARS = 12;
/** Neither direction of a connection has had a byte for so long. Beyond: it breaks off. (ours) */
export const EGRESS_IDLE_MS_MAX = 60 * 60 * 1000;
/** What is under way in one direction of a connection, in the memory of the egress process. Beyond: the sender waits. (ours) */
export const EGRESS_WINDOW_BYTES = 64 * KIB;
/** How long whoever wants out waits for an egress process that is being started (again). Beyond: the connection fails. (ours) */
export const EGRESS_START_MS_MAX = 5_000;
export const EGRESS_START_LOOK_MS = 50;
/** A door that cannot be opened is tried again after this long. (ours) */
export const EGRESS_DOOR_AGAIN_MS = 1_000;
/** Redirects one request follows; undici's own constant too, which a test holds against it. Beyond: it fails. (fetch standard) */
export const EGRESS_REDIRECTS_MAX = 20;
/** Headers of an answer from outside. Beyond: the request fails. (ours) */
export const EGRESS_HEADERS_BYTES_MAX = 64 * KIB;
/** Body of an answer from outside, after it was unpacked, so that a packed one cannot grow without end. Beyond: it fails. (ours) */
export const EGRESS_RESPONSE_BYTES_MAX = 64 * MIB;
/** A message a WebSocket of an action receives, after it was unpacked. Beyond: that socket is closed. (ours) */
export const EGRESS_SOCKET_MESSAGE_BYTES_MAX = 16 * MIB;
/** A bearer token; below HEADERS_BYTES_MAX over HTTP anyway. Beyond: 401. (ours) */
export const TOKEN_CHARS_MAX = 16 * KIB;
/** A key's name in a token. Beyond: 401. (ours) */
export const TOKEN_KEY_ID_CHARS_MAX = 256;
/** An identity as JSON: flattened claims repeat the names above them. Beyond: 401. (ours) */
export const IDENTITY_CHARS_MAX = 64 * KIB;
/** How far clocks may differ when a token's times are looked at. (reference 7.1) */
export const TOKEN_CLOCK_TOLERANCE_MS = 5_000;
/** Verified tokens a tenant remembers, and for how long: a key that was withdrawn is not trusted for longer. (ours) */
export const TOKENS_VERIFIED_KEEP = 1_024;
export const TOKENS_VERIFIED_KEEP_MS = 10 * 60 * 1000;
/** A provider's metadata or key set, in bytes, and its keys. Beyond: every token of that provider is 401. (ours) */
export const AUTH_DOCUMENT_BYTES_MAX = 256 * KIB;
export const AUTH_KEYS_MAX = 128;
/** Time a provider has for each of the two. (ours) */
export const AUTH_FETCH_TIMEOUT_MS = 5_000;
/** Keys are fetched again when they are this old; if that fails, the old ones serve until they are that old. (ours) */
export const AUTH_KEYS_FRESH_MS = 10 * 60 * 1000;
export const AUTH_KEYS_STALE_MS_MAX = 60 * 60 * 1000;
/** Pause between two fetches of a provider's keys, whether the first failed or a token names a key that is not there. (ours) */
export const AUTH_REFETCH_PAUSE_MS = 10_000;

/* Functions: the HTTP edge */

/** Body of a request to an HTTP action. Beyond: 413 op.too_large. (reference 6.2) */
export const HTTP_ACTION_BODY_BYTES_MAX = 20 * MIB;
/** Requests of a tenant to HTTP actions whose bodies are still arriving, half of ACTIONS_MAX. Beyond: 503 session.overloaded. (ours) */
export const HTTP_UPLOADS_MAX = 64;
/** Body of a deployment upload. Beyond: 413 op.too_large. (ours) */
export const DEPLOYMENT_BYTES_MAX = 64 * MIB;
/** Bodies of known length up to this size are sent to a worker whole, longer ones in pieces while they arrive. (ours) */
export const WHOLE_UPLOAD_BYTES_MAX = 64 * KIB;
/** Headers of an HTTP action's response, by count and by characters. Beyond: 500 op.failed. (ours) */
export const RESPONSE_HEADERS_MAX = 256;
export const RESPONSE_HEADERS_BYTES_MAX = 16 * KIB;
/** Bytes of a streamed response that wait in a worker for its reader's credit. Beyond: the response is cut short. (ours) */
export const STREAM_HELD_BYTES_MAX = 21 * MIB;
/** A pushed response leaves in pieces of at most this size, well below STREAM_WINDOW_BYTES. (ours) */
export const STREAM_PIECE_BYTES_MAX = 64 * KIB;

/* One query or mutation: what it may read and write. Beyond: the call fails, and a mutation that catches it does not commit. (reference 3.8) */
export const FUNCTION_READ_DOCUMENTS_MAX = 32_000;
export const FUNCTION_READ_BYTES_MAX = 16 * MIB;
/** Gets and queries. */
export const FUNCTION_READS_MAX = 4_096;
export const FUNCTION_WRITTEN_DOCUMENTS_MAX = 16_000;
export const FUNCTION_WRITTEN_BYTES_MAX = 16 * MIB;
/** A warning is logged from this part of a limit on. */
export const FUNCTION_LIMIT_WARNING = 0.8;
/** Text of documents handed to an isolate at once; at least one document. (ours) */
export const QUERY_PIECE_CHARS = 1 * MIB;
/** Operators, fields and values in the filters of one query. Beyond: the call fails. (ours) */
export const FILTER_NODES_MAX = 2_000;
/** Items of one page of a function's `paginate`. Beyond: the call fails. (reference 3.7) */
export const FUNCTION_PAGE_ITEMS_MAX = 32_000;

/* Deployments */

/** Body of POST …/deployments is DEPLOYMENT_BYTES_MAX; the code in it without source maps. Beyond: the deploy is refused. (reference 12.2) */
export const DEPLOYMENT_CODE_BYTES_MAX = 32 * MIB;
/** Characters at the top of a file of a bundle in which a runtime directive is looked for. (ours) */
export const DIRECTIVE_CHARS_MAX = 64 * KIB;
/** Functions a mistyped path is compared with, for a "did you mean". Beyond: none is suggested. (ours) */
export const SUGGESTION_FUNCTIONS_MAX = 2_000;
/** Files of a bundle, and the path of one. Beyond: 400. (ours) */
export const BUNDLE_FILES_MAX = 10_000;
export const BUNDLE_PATH_CHARS_MAX = 512;
/** What a deploy is for. Beyond: 400. (ours) */
export const DEPLOYMENT_MESSAGE_CHARS_MAX = 500;
/** Functions and HTTP routes of a deployment. Beyond: the deploy is refused. (ours) */
export const DEPLOYMENT_FUNCTIONS_MAX = 20_000;
/** Tables of a deployment's schema. Beyond: the deploy is refused. (ours) */
export const SCHEMA_TABLES_MAX = 1_000;
/** Deployments kept for rollback, the newest; the active one always. (ours) */
export const DEPLOYMENTS_KEEP = 20;
/** Deploys of a tenant that wait for the one under way. Beyond: 503 session.overloaded. (ours) */
export const DEPLOYS_WAITING_MAX = 4;
/** Running all modules of a deployment once, to see what they export. Beyond: the deploy is refused. (ours) */
export const ANALYSIS_MS_MAX = 60_000;
/** Heap of the isolate that does it, MiB: all modules are in it at once. (ours) */
export const ANALYSIS_MEMORY_MB = 256;
/** Memory of its process, checked this often. Beyond: the deploy is refused. (ours) */
export const ANALYSIS_PROCESS_BYTES_MAX = 1_536 * MIB;
export const ANALYSIS_LOOK_MS = 100;
/** Its writable memory, in use or not, held by the kernel: code that allocates faster than it is checked gets no further. (ours) */
export const ANALYSIS_DATA_BYTES_MAX = 2_048 * MIB;
/** What it answers besides the code: the manifest. Beyond: the deploy is refused. (ours) */
export const ANALYSIS_ANSWER_BYTES_MAX = 64 * MIB;
/** Code of a deployment stored by one write, in characters; one file at least. (ours) */
export const DEPLOYMENT_SLICE_CHARS = 256 * KIB;
/** Errors listed for a refused deployment. (ours) */
export const DEPLOYMENT_ERRORS_SHOWN = 100;
/** Text of one of them; user code throws what it likes. (ours) */
export const DEPLOYMENT_ERROR_CHARS_MAX = 4_000;
/** Components of a function's path, `a` of `a/b:f`. Beyond: the deploy is refused. (reference 2.2) */
export const PATH_COMPONENT_CHARS_MAX = 64;
/** A package of `node.externalPackages` as it was published, a tarball. Beyond: 413 op.too_large. (ours) */
export const PACKAGE_BYTES_MAX = 64 * MIB;
/** Packages of a deployment, with those that they depend on; their files, one file's path and bytes, and all bytes. Beyond: the deploy is refused. (ours) */
export const PACKAGES_MAX = 2_000;
export const PACKAGES_FILES_MAX = 50_000;
export const PACKAGE_PATH_CHARS_MAX = 512;
export const PACKAGE_FILE_BYTES_MAX = 64 * MIB;
export const PACKAGES_UNPACKED_BYTES_MAX = 256 * MIB;
/** Packages as published that a tenant keeps for all its deployments together. Beyond: 429 op.rate_limited. (ours) */
export const PACKAGES_KEPT_BYTES_MAX = 512 * MIB;
/** A package that no deployment has stays for so long: its deploy may be about to come. (ours) */
export const PACKAGE_UNUSED_KEEP_MS = 60 * 60 * 1000;
/** How often a command asks what the server does with its deploy. (ours) */
export const DEPLOY_PROGRESS_MS = 500;
/** How often a command that waits for a task asks whether it has ended. (ours) */
export const TASK_LOOK_MS = 500;
/** Packages that a command sends at once, and that npm is asked for at once. (ours) */
export const PACKAGE_UPLOADS_AT_ONCE = 4;
export const PACKAGES_PER_NPM = 50;
/** Environment variables of a tenant, their names and values. Beyond: 400, or 429 for one more. (reference 12.3) */
export const ENVIRONMENT_VARIABLES_MAX = 1_000;
export const ENVIRONMENT_NAME_CHARS_MAX = 256;
export const ENVIRONMENT_VALUE_BYTES_MAX = 8 * KIB;

/* Bulk: imports, exports, tasks */

/** Body of an import. It is not held: a bound against a stream that never ends. Beyond: 413 op.too_large. (ours) */
export const IMPORT_BYTES_MAX = 1024 * 1024 * MIB;
/** A line, or a CSV record, of an import. A longer one is refused as a line: op.too_large. (ours) */
export const IMPORT_LINE_BYTES_MAX = 4 * MIB;
/** What an import commits at once, whichever comes first; two such pieces are in memory: one is written, one is being read. (ours) */
export const IMPORT_COMMIT_LINES = 1_000;
export const IMPORT_COMMIT_BYTES = 2 * MIB;
/** Documents that are written before others may get the thread. (ours) */
export const BULK_DOCUMENTS_A_STEP = 16;
/** New documents, and entries of one index, that one statement writes: half the cost of a statement for each. (ours) */
export const INSERT_ROWS_AT_ONCE = 50;
/** Imports of a tenant under way. Beyond: 503 session.overloaded. (ours) */
export const IMPORTS_AT_ONCE_MAX = 4;
/** Name that a caller gives an import. Beyond: 400. (ours) */
export const IMPORT_ID_CHARS_MAX = 128;
/** How long an import can be continued after its last line, as for an `Idempotency-Key`; and how many are remembered. Beyond: 429 op.rate_limited. (ours) */
export const IMPORT_KEEP_MS = 24 * 60 * 60 * 1000;
export const IMPORTS_KEPT_MAX = 1_000;
/** Failures that an import or a task describes; further ones are counted. (ours) */
export const BULK_ERRORS_SHOWN = 20;
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

/* Command line */

/** What `svc import` reads of a file, and sends, at once. Of a pipe it is what comes. (ours) */
export const IMPORT_REQUEST_BYTES = MIB;
/** Tries of one request of a command: with the pauses below, half a minute, as long as a failing tenant rests. (ours) */
export const COMMAND_ATTEMPTS_MAX = 12;
/** The pause after the first try and the longest one; each is twice the one before, or what `Retry-After` asks for. (ours) */
export const COMMAND_RETRY_MS = 100;
export const COMMAND_RETRY_MS_MAX = 5_000;
/** A request of a command that gets no answer for this long has failed. (ours) */
export const COMMAND_TIMEOUT_MS = 60_000;

/* Inside: pieces of work, caches and pauses that no client sees */

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
/** Outcomes of mutations that a client has settled, removed with each new one: a long queue that is settled at once holds up no other write. (ours) */
export const CLIENT_MUTATIONS_SETTLED_AT_ONCE = 64;
/** How long an earlier owner, left over from a killed supervisor, may take to end. (ours) */
export const OWNER_WAIT_MS = 4_000;
/** Page caches: the writer keeps the B-tree paths it works on; readers map the file, so that a commit elsewhere costs them no re-reads. (ours) */
export const WRITER_CACHE_KIB = 32 * 1024;
export const READER_CACHE_KIB = 2 * 1024;
export const READER_MMAP_BYTES = 1 << 30;
/** More findings than this say nothing new. (ours) */
export const VERIFY_FINDINGS_MAX = 20;
/** How often it is said that log entries were dropped. (ours) */
export const LOG_DROPPED_TOLD_EVERY_MS = 60_000;
/** Part of a budget, and items of a page, from which on a page should be split. (reference) */
export const PAGE_SPLIT_RECOMMENDED_PART = 0.75;
export const PAGE_SPLIT_RECOMMENDED_ITEMS = 6_144;
/** Frames shown; deep recursion has no more to say. (ours) */
export const STACK_FRAMES_SHOWN = 10;
/** Frames in the console lines of one execution that are looked up: a function can print as many as it likes. (ours) */
export const LOG_STACK_FRAMES_MAX = 200;
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
/** Smaller steps back are corrections of the clock. (ours) */
export const CLOCK_SET_BACK_MS = 1_000;
/** A due tenant that still waits for its turn to wake is looked at again after this. (ours) */
export const DUE_AGAIN_MS = 1_000;
/** A free port may be taken by another process in the moment between finding it and listening on it. (ours) */
export const FREE_PORT_ATTEMPTS = 5;
/** Pause after a spare that ended before it was of use, doubled up to the maximum. (ours) */
export const SPARE_PAUSE_MS_MIN = 100;
export const SPARE_PAUSE_MS_MAX = 10_000;
/** The rest of a dead process's channel is read at once; this bounds the wait should somebody else hold it open. (ours) */
export const CHANNEL_END_MS = 1_000;
/** How often a waiting acquirer looks again. (ours) */
export const OWNER_POLL_MS = 50;
/** Characters of one value in a line of the service log. Longer ones are cut and say so. (ours) */
export const LOG_VALUE_CHARS_MAX = 1024;
/** A line that a child writes to its standard output or error; the rest of a longer one is dropped. Fields of one that are logged. (ours) */
export const CHILD_LINE_BYTES_MAX = 64 * KIB;
export const CHILD_LINE_FIELDS_MAX = 32;
/** Lines that one worker may write, a longer one counting as one for each KiB; the same for a router and for the egress process. (ours) */
export const WORKER_LINES_PER_SECOND_MAX = 10;
export const WORKER_LINES_AT_ONCE_MAX = 2_000;
export const ROUTER_LINES_PER_SECOND_MAX = 2_000;
export const ROUTER_LINES_AT_ONCE_MAX = 10_000;
/** Beyond that rate, lines are dropped for so long without a look at them; a flood is over when none was dropped for so long. (ours) */
export const CHILD_LINES_MUTED_MS = 100;
export const CHILD_LINES_COUNTED_MS = 1_000;
/** Lines of the log that its reader has not taken; beyond it, lines of children are dropped. (ours) */
export const LOG_UNWRITTEN_BYTES_MAX = 4 * MIB;
/** Causes of an error, and levels of a field, that a line of the service log shows. (ours) */
export const LOG_CAUSES_MAX = 4;
export const LOG_FIELD_LEVELS_MAX = 4;
/** Frames are gathered in chunks of this size; bodies from the second size on are written as they are. (ours) */
export const FRAME_CHUNK_BYTES = 64 * 1024;
export const FRAME_OWN_WRITE_BYTES = 32 * 1024;

/* Service control: services */

/** Services of a tenant. Beyond: 429 op.rate_limited. (ours) */
export const SERVICES_MAX = 64;
/** Old heap of the process of one, MiB: least, most and unless said otherwise. Beyond: 400; used up, the process ends. (ours) */
export const SERVICE_MEMORY_MB_MIN = 32;
export const SERVICE_MEMORY_MB_MAX = 1_024;
export const SERVICE_MEMORY_MB_DEFAULT = 128;
/** What its process may take besides: code, stacks, buffers. Beyond: it ends. Looked at this often. (ours) */
export const SERVICE_MEMORY_BESIDE_MB = 96;
export const SERVICE_LOOK_MS = 500;
/** `memory_mb` of all services of a tenant that are to run. Beyond: 429 op.rate_limited. (ours) */
export const SERVICES_MEMORY_MB_MAX = 2_048;
/** Code of an inline service, and the JSON of its variables. Beyond: 400. (ours) */
export const SERVICE_CODE_CHARS_MAX = 1024 * KIB;
export const SERVICE_ENV_CHARS_MAX = 32 * KIB;
/** The pause before a service is started again: twice the one before, part of it by chance. (ours) */
export const SERVICE_PAUSE_MS_MIN = 500;
export const SERVICE_PAUSE_MS_MAX = 60_000;
/** It ran for so long: the next pause is the first one again. (ours) */
export const SERVICE_HEALTHY_MS = 60_000;
/** From its abort signal to its end, and when its worker is closed. Beyond: its process is killed. (ours) */
export const SERVICE_STOP_MS_MAX = 10_000;
export const SERVICE_CLOSE_MS_MAX = 1_500;
/** Loading its code, until its function is called. Beyond: it ends, and is started again by its policy. (ours) */
export const SERVICE_LOAD_MS_MAX = 30_000;
/** Live queries that one service holds. Beyond: `onChange` throws. (ours) */
export const SERVICE_WATCHES_MAX = 64;
/** Lines that it logs in a second. Beyond: dropped, and its log says how many. (ours) */
export const SERVICE_LOG_LINES_MAX = 500;
/** Lines of one service that can be read, in memory and on disk: a file is begun anew from this size on, so many are kept. The oldest leave. (ours) */
export const SERVICE_LOG_ENTRIES_KEEP = 1_000;
export const SERVICE_LOG_FILE_BYTES = 1 * MIB;
export const SERVICE_LOG_FILES_KEEP = 4;
/** Readers that follow the log of one service. Beyond: 503 session.overloaded. (ours) */
export const SERVICE_LOG_FOLLOWERS_MAX = 16;
/** What one process of a service asked for and failed unexpectedly: so many are told to the server's log. Beyond: the process alone is told. (ours) */
export const SERVICE_FAILURES_LOGGED_MAX = 10;
/** What is kept of why a service ended. (ours) */
export const SERVICE_EXIT_CHARS_MAX = 4_000;
/** How much less of a busy processor it gets than its tenant's worker (`nice`). (ours) */
export const SERVICE_NICENESS = 5;
/** A tenant with services that gave its worker up to others is awake at least so long before it is asked to for tenants that nobody asks. (ours) */
export const IN_USE_TURN_MS = 30_000;
/** As long, a tenant that had traffic in this time is not asked to for those. (ours) */
export const RECENT_TRAFFIC_MS = 2_000;
/** Loading service control when a tenant with services is opened: the pause after the first failure, which doubles up to the second. (ours) */
export const CONTROL_WARM_RETRY_MS = 500;
export const CONTROL_WARM_RETRY_MS_MAX = 60_000;

/* Service control: sandboxes and sessions */

/** Sandboxes of a tenant that run. Beyond: 429 op.rate_limited. (ours; issue: 200 at once) */
export const SANDBOXES_MAX = 256;
/** Of those with `runtime: "node"`, each of which is a process of its own. Beyond: 429 op.rate_limited. (ours) */
export const NODE_SANDBOXES_MAX = 8;
/** Old heap of one of these, MiB: least, most and unless said otherwise. Beyond: 400; used up, it is `failed`. (ours) */
export const NODE_SANDBOX_MEMORY_MB_MIN = 32;
export const NODE_SANDBOX_MEMORY_MB_MAX = 256;
export const NODE_SANDBOX_MEMORY_MB_DEFAULT = 64;
/** What its process may take besides: code, stacks, buffers. Beyond: it is `failed`. Looked at this often, and what it has computed. (ours) */
export const NODE_SANDBOX_BESIDE_MB = 96;
export const NODE_SANDBOX_LOOK_MS = 50;
/** The time of an execution is over, and it has so long to show that it only waits. Beyond: it is cut off, and the sandbox `failed`. (ours) */
export const NODE_SANDBOX_ANSWER_MS_MAX = 1_000;
/** Heap and buffers of one, MiB: least, most and unless said otherwise. Beyond: 400; used up, it is `failed`. (ours) */
export const SANDBOX_MEMORY_MB_MIN = 8;
export const SANDBOX_MEMORY_MB_MAX = 128;
export const SANDBOX_MEMORY_MB_DEFAULT = 32;
/** CPU time of one execution. Beyond: 400; used up, the sandbox is `failed`. (ours) */
export const SANDBOX_CPU_MS_MAX = 30_000;
export const SANDBOX_CPU_MS_DEFAULT = 1_000;
/** From its creation to its end. Beyond: 400. (ours) */
export const SANDBOX_TTL_MS_MIN = 1_000;
export const SANDBOX_TTL_MS_MAX = 24 * 60 * 60 * 1000;
export const SANDBOX_TTL_MS_DEFAULT = 5 * 60 * 1000;
/** One execution with all that it waits for. Beyond: 400; used up, it fails. (ours) */
export const SANDBOX_EXECUTE_MS_MAX = 5 * 60 * 1000;
export const SANDBOX_EXECUTE_MS_DEFAULT = 30_000;
/** Code of one execution, and the JSON of a sandbox's variables. Beyond: 400. (ours) */
export const SANDBOX_CODE_CHARS_MAX = 1024 * KIB;
export const SANDBOX_ENV_CHARS_MAX = 8 * KIB;
/** What an execution returns, as JSON: its worker looks at all of it. Beyond: the execution fails. (ours) */
export const SANDBOX_VALUE_CHARS_MAX = 1024 * KIB;
/** Executions of one sandbox that wait for the one under way, and of a tenant together. Beyond: 429 op.rate_limited. (ours) */
export const SANDBOX_WAITING_MAX = 16;
export const SANDBOX_EXECUTIONS_MAX = 256;
/** Characters of their code and arguments together: they wait in several copies. Beyond: 503 session.overloaded. (ours) */
export const SANDBOX_ARGUMENTS_CHARS_MAX = 64 * MIB;
/** Ended sandboxes of a tenant that can still be read, and sessions. The oldest are forgotten. (ours) */
export const SANDBOXES_KEPT = 1_000;
export const SESSIONS_KEPT = 1_000;
/** Open sessions of a tenant. Beyond: 429 op.rate_limited. (ours) */
export const SESSIONS_MAX = 1_000;
/** A lease without use. Beyond: 400. (ours) */
export const SESSION_TTL_MS_MIN = 1_000;
export const SESSION_TTL_MS_MAX = 24 * 60 * 60 * 1000;
export const SESSION_TTL_MS_DEFAULT = 5 * 60 * 1000;
/** JSON of a session's metadata. Beyond: 400. (ours) */
export const SESSION_METADATA_CHARS_MAX = 4 * KIB;
/**
 * Memory of the process that a tenant's sandboxes share, from which the sandbox that takes most is ended, and from which the
 * process is: an isolate's limit does not see one large string, nor WebAssembly. Looked at this often. (ours)
 */
export const SANDBOX_PROCESS_BYTES_SHED = 1_536 * MIB;
export const SANDBOX_PROCESS_BYTES_MAX = 2_560 * MIB;
export const SANDBOX_PROCESS_LOOK_MS = 100;
/** A frame that it sends: a value of an execution, of six bytes for each character, an error as long, and lines. Beyond: it is killed. (ours) */
export const SANDBOX_FRAME_BYTES_MAX = 32 * MIB;
/** How much less of a busy processor it gets than its tenant's worker (`nice`). (ours) */
export const SANDBOX_PROCESS_NICENESS = 5;
/** Without a running sandbox it ends after this. (ours) */
export const SANDBOX_PROCESS_IDLE_MS = 10_000;
/** It has this long to make a sandbox, and to say how an execution ended whose time is up. Beyond: it is killed. (ours) */
export const SANDBOX_OPEN_MS_MAX = 20_000;
export const SANDBOX_ANSWER_MS_MAX = 10_000;
assert(
  FRAME_BODY_BYTES_MAX > RESULT_BYTES_MAX && FRAME_BODY_BYTES_MAX > BODY_BYTES_MAX,
  'a frame holds any body and result',
);
assert(BODY_BYTES_MAX > DOCUMENT_BYTES_MAX, 'a body holds any document');
assert(
  Math.min(TENANT_HELD_BYTES_MAX, IN_FLIGHT_BYTES_MAX) / ROUTERS_MAX >= BODY_BYTES_MAX &&
    UNSENT_REPLY_BYTES_MAX / ROUTERS_MAX >= FRAME_BODY_BYTES_MAX,
  "a router's share holds any request and any answer",
);
assert(
  FUNCTION_SOCKET_UNHANDLED_BYTES_MAX > 2 * FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  'a socket may have a message of any size under way behind another',
);
assert(
  CLIENT_ARGS_BYTES_MAX + 16 * KIB <= FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  'a message holds any arguments that a client sends, and the path and numbers beside them',
);
assert(3 * CLIENT_FRAME_CHARS <= FUNCTION_SOCKET_MESSAGE_BYTES_MAX, 'a message holds what clients say at once');
assert(CLIENT_QUERIES_MAX <= QUERIES_PER_SOCKET_MAX, 'what a client sends is taken');
assert(FUNCTION_SOCKET_PING_MS + FUNCTION_SOCKET_LOOK_MS < CLIENT_SILENCE_MS / 2, 'a ping may be lost');
assert(FRAME_BODY_BYTES_MAX > FUNCTION_SOCKET_MESSAGE_BYTES_READ, 'a frame holds any message of a socket');
assert(FUNCTION_SOCKET_WINDOW_BYTES > 2 * FUNCTION_SOCKET_CREDIT_BYTES, 'a window is opened before it is used up');
assert(ROUTER_DRAIN_MS < DRAIN_MS, 'a drain has time left for the workers');
assert(HEARTBEAT_TIMEOUT_MS > 3 * HEARTBEAT_INTERVAL_MS, 'a late heartbeat is not a death');
assert(
  READ_AGAIN_MS_MAX < HEARTBEAT_TIMEOUT_MS - HEARTBEAT_INTERVAL_MS,
  'what is sent again is not what a worker hung on',
);
assert(SANDBOX_PROCESS_BYTES_SHED < SANDBOX_PROCESS_BYTES_MAX, 'one sandbox goes before all do');
assert(HTTP_UPLOADS_MAX < ACTIONS_MAX, 'slow senders leave places for others');
assert(STARTUP_TIMEOUT_MS >= HEARTBEAT_TIMEOUT_MS, 'a starting process has no less time than a serving one');
assert(SILENCE_MS_MAX > STARTUP_TIMEOUT_MS, 'its own time is up before all time is');
assert(KILLS_FORGOTTEN_MS > KILL_PAUSE_MS_MAX, 'a pause between kills is not the end of them');
assert(CURSOR_CHARS_MAX > DOCUMENT_BYTES_MAX * 1.5, 'a cursor holds any value of a document');
