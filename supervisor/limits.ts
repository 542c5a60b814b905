/**
 * Limits of the supervisor. Names contain the unit; each comment says why that number and what happens beyond it.
 * docs/limits.md is generated from these comments.
 */
import {PROCESS_BYTES_MAX} from '../shared/limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** Keys in total. Beyond: expired keys are removed; if there are none, a new key gets 429 op.rate_limited. (ours) */
export const KEYS_MAX = 5_000;
/**
 * Keys descended from one key that an admin credential made, and keys made by keys in total: the rest of the quota is
 * reserved for the operator. Beyond: as with KEYS_MAX. (ours)
 */
export const KEYS_OF_FAMILY_MAX = 500;
export const KEYS_MADE_BY_KEYS_MAX = 4_000;
/** How often the last use of keys is written to disk. (ours) */
export const KEY_USES_WRITE_MS = 60_000;
/**
 * Sessions of the dashboard: of one credential, and in total. Beyond: the least recently used one ends, of this
 * credential or of all keys. (ours)
 */
export const SESSIONS_OF_CREDENTIAL_MAX = 32;
export const SESSIONS_MAX = 1_000;
/** A session ends when it was not used for this long, and this long after it was opened. (ours) */
export const SESSION_IDLE_MS = 12 * 3_600_000;
export const SESSION_LIFE_MS = 14 * 24 * 3_600_000;
/** How often ended sessions are removed, which is when their open answers and sockets end, too. (ours) */
export const SESSION_SWEEP_MS = 30_000;
/** What is stored of the name that a browser gives itself. (ours) */
export const SESSION_BROWSER_CHARS_MAX = 200;
/**
 * One-time links of the dashboard: how long one is valid, and how many of one credential and in total. Beyond: the
 * oldest of the credential ends; in total 429 op.rate_limited. (ours)
 */
export const DASHBOARD_CODE_MS = 60_000;
export const DASHBOARD_CODES_OF_CREDENTIAL_MAX = 8;
export const DASHBOARD_CODES_MAX = 1_000;
/** Records that the audit log keeps; beyond, the oldest 1 in 100 are removed at once. (ours) */
export const AUDIT_RECORDS_MAX = 200_000;
/** Maximum delay before the outcome of an action is written. (ours) */
export const AUDIT_OUTCOME_MS = 250;
/**
 * Refusals (401, 403): stored records per minute (separately for valid keys and for other clients) and in total. Beyond
 * the rate they are only counted in a metric; beyond the total the oldest are removed. (ours)
 */
export const REFUSAL_RECORDS_PER_MINUTE_MAX = 30;
export const REFUSAL_RECORDS_MAX = 50_000;
/** Maximum delay before the record of a refusal is written. (ours) */
export const REFUSAL_WRITE_MS = 2_000;
/** Free space inside the file of the audit log, for a thousand records or more on a full disk. (ours) */
export const AUDIT_SPARE_BYTES = MIB;

/* Placement */

/**
 * How long the judgement of a worker's crash waits for the calls that each router had under way. Beyond: a router that
 * has not reported had none. (ours)
 */
export const CRASH_REPORT_MS = 1_000;
/**
 * Records of the figures file, 256 bytes each: 24 hours of 180 tenants and functions with traffic in every minute.
 * Beyond: the oldest are overwritten, so the charts begin later. (ours)
 */
export const FIGURE_RECORDS_MAX = 262_144;
/**
 * How long a measurement of the disk use of all tenants is kept, and how many tenants it reads before the supervisor
 * answers others. (ours)
 */
export const DISK_USE_MS = 60_000;
export const DISK_USE_BATCH = 200;
/** How long a measurement of processes is kept: a shorter one makes CPU shares of chance. (ours) */
export const PROCESSES_POLL_MS = 2_000;
/**
 * Free space on the disk of the data directory below which the state of the server has a warning, and a problem. Writes
 * get 507 when it is full. (ours)
 */
export const DISK_FREE_WARNING_BYTES = 2_048 * MIB;
export const DISK_FREE_PROBLEM_BYTES = 256 * MIB;
/** The same for memory: the part of it that is available. (ours) */
export const MEMORY_AVAILABLE_WARNING_SHARE = 0.1;
/** The same for a router: how long it kept its requests waiting. (ours) */
export const ROUTER_DELAY_WARNING_MS = 250;
/** How often the supervisor checks whether a minute of figures is over. (ours) */
export const TRAFFIC_POLL_MS = 1_000;
/** How often names without records are removed from memory, in minutes. (ours) */
export const FIGURES_PRUNE_MINUTES = 10;
/** Length of a worker's report about its functions. Beyond: a protocol violation. (ours) */
export const FUNCTION_REPORT_CHARS_MAX = 128 * KIB;
/** Characters of the answer to an errand. Beyond: its process is ended. (ours) */
export const ERRAND_RESULT_CHARS_MAX = 64 * KIB;
/** Time for an errand, whose checks read a whole file. Beyond: its process is ended, and the errand has failed. (ours) */
export const ERRAND_MS_MAX = 3_600_000;
/** Files of tenants that arrive at the same time. Beyond: 503. (ours) */
export const INCOMING_FILES_MAX = 8;
/** Clones that are being made at the same time. Beyond: 503. (ours) */
export const CLONES_MAX = 8;
/** Entries of a tenant's directory of packages that a clone reads, two per package. Beyond: left out. (ours) */
export const CLONED_PACKAGE_ENTRIES_MAX = 20_000;
/** A worker must answer within this time that it holds its file for a clone. Beyond: 503. (ours) */
export const FILE_HOLD_ANSWER_MS = 30_000;
/** Errands that wait for the one that runs. Beyond: 503. (ours) */
export const ERRANDS_WAITING_MAX = 16;
/** Wakes of each tenant that the overview shows. Beyond: the oldest is forgotten. (ours) */
export const WAKES_KEPT = 3;
/** Tenants opened at once because of requests; more would slow each other down. Beyond: they wait. (ours) */
export const WAKES_AT_ONCE_MAX = 8;
/** A tenant that takes longer than this to open no longer counts among them. (ours) */
export const WAKE_SLOW_MS = 4_000;
/** A process that does not report its metrics within this time is omitted from a scrape. (ours) */
export const METRICS_TIMEOUT_MS = 1_000;
/**
 * How often all processes report their metrics, in addition to scrapes: counts since the last report are lost when a
 * process is killed. (ours)
 */
export const METRICS_REPORT_MS = 15_000;
/**
 * A worker or router that sends no heartbeat for this long of its own time is killed and replaced. (design: shed within
 * 10 s)
 */
export const HEARTBEAT_TIMEOUT_MS = 8_000;
/** The same while it starts or opens its tenant, because that work blocks its event loop. (ours) */
export const STARTUP_TIMEOUT_MS = 30_000;
/**
 * Silence after which a process is killed whatever it waits for: a disk that is slower than this counts as gone. (ours)
 */
export const SILENCE_MS_MAX = 120_000;
/**
 * Hung processes that can be killed without a pause; after that, pauses between kills double from the minimum to the
 * maximum. (ours)
 */
export const KILLS_AT_ONCE_MAX = 4;
export const KILL_PAUSE_MS_MIN = 2_500;
export const KILL_PAUSE_MS_MAX = 30_000;
/** After this long without a kill, the pauses start from the beginning. (ours) */
export const KILLS_FORGOTTEN_MS = 60_000;
/**
 * Length of a message from a child to the supervisor, and bytes buffered for a child that does not read. Beyond: it is
 * killed. (ours)
 */
export const CONTROL_LINE_BYTES_MAX = 16 * MIB;
export const CONTROL_UNREAD_BYTES_MAX = 64 * MIB;
/**
 * Kernel limits of a worker and of each of its children, if the machine supports them: writable memory, as a hard limit
 * above the one that is polled once per second, and descriptors. (ours)
 */
export const WORKER_DATA_BYTES_MAX = 2 * PROCESS_BYTES_MAX;
export const WORKER_DESCRIPTORS_MAX = 16_384;
/**
 * Threads of a worker and its children together, if tenants have users of their own; a Node process has about eleven.
 * (ours)
 */
export const WORKER_THREADS_MAX = 4_096;
/** OOM-kill preference of workers: when the machine runs out of memory, they are killed before routers. (ours) */
export const WORKER_OOM_ADJUSTMENT = 500;
/**
 * Memory of a worker and all its children together, including their files in a tmpfs, if each worker has a cgroup: this
 * number, but at most this share of the memory available to the server. Beyond: the kernel kills one of its processes.
 * (ours)
 */
export const WORKER_GROUP_BYTES_MAX = 4 * PROCESS_BYTES_MAX;
export const WORKER_GROUP_SHARE_MAX = 0.75;
/** Time-out for probing a program that confines children, at a start. (ours) */
export const CONFINEMENT_TRY_MS_MAX = 5_000;
/**
 * A tenant whose workers crash this often, without serving for HEALTHY_MS in between, is suspended for COOL_DOWN_MS and
 * answers 503. (design)
 */
export const CRASHES_BEFORE_COOL_DOWN = 5;
export const HEALTHY_MS = 5_000;
export const COOL_DOWN_MS = 30_000;
/**
 * Time limit for requests under way when a tenant moves to a worker that runs code; other requests wait meanwhile.
 * (ours)
 */
export const MOVE_MS_MAX = 5_000;
/**
 * A tenant with a damaged file is opened again without a request after COOL_DOWN_MS, then after twice as long each time, up
 * to this. (ours)
 */
export const DAMAGED_COOL_DOWN_MS_MAX = 60 * 60 * 1000;
/** Time from SIGTERM to exit 0. Work that is not finished by then is ended. (design) */
export const DRAIN_MS = 4_500;
/**
 * Tenants opened at once without a request (after a start, when due). Few, so that they do not delay requested ones.
 * (ours)
 */
export const SILENT_WAKES_MAX = 2;
/** macOS and Linux silently truncate longer Unix socket paths at 104 to 108 bytes. (design) */
export const SOCKET_PATH_BYTES_MAX = 100;
/**
 * Space reserved for opening tenants on a full disk, released in steps; free space that is required to refill it; how
 * often that is checked. (ours)
 */
export const RESERVE_BYTES = MIB;
export const RESERVE_SPARE_BYTES = 8 * MIB;
export const RESERVE_POLL_MS = 10_000;
/** Directories of tenants that a refused start lists. (ours) */
export const REFUSAL_DIRECTORIES_SHOWN = 20;
/** Tenants of one server: the registry is kept in memory. Beyond: 503 session.overloaded on creation. (ours) */
export const TENANTS_MAX = 100_000;

/* Damage */

/**
 * Scans of all processes until none of a tenant's user runs, or polls of a worker's cgroup until it is empty, and the
 * pause between them. (ours)
 */
export const LEFTOVER_POLLS_MAX = 1_000;
export const LEFTOVER_POLL_MS = 5;
/** User ids are noted as given this many ahead, so that one write is sufficient for that many tenants. (ours) */
export const USER_NUMBERS_NOTED = 64;
/**
 * Metrics of workers: characters of one report (beyond: a protocol violation), series of one worker (beyond: not
 * shown), and series retained from all workers that ended. (ours)
 */
export const WORKER_REPORT_CHARS_MAX = 1 * MIB;
export const WORKER_SERIES_MAX = 2_000;
export const WORKER_SERIES_KEPT_MAX = 10_000;
/** Messages from a worker to the supervisor: average interval, and burst. Beyond: the worker is killed. (ours) */
export const WORKER_MESSAGE_MS = 5;
export const WORKER_MESSAGES_AT_ONCE = 2_000;
/**
 * Bytes of a process's command line that are read to determine its kind from the script, and command lines that are
 * read at once. (ours)
 */
export const COMMAND_BYTES_READ = 64 * KIB;
export const COMMANDS_READ_AT_ONCE = 64;
/** A version of Node that could not be installed is not tried again for this long. (ours) */
export const NODE_INSTALL_PAUSE_MS = 60_000;
/**
 * Entries of a tenant's directory, of which svc creates about twenty. Beyond: it is not opened under a user of its own.
 * (ours)
 */
export const TENANT_DIRECTORY_ENTRIES_MAX = 1_000;

/* Functions: actions */

/** Time for installing a version of Node. Beyond: the deploy is refused. (ours) */
export const NODE_INSTALL_MS_MAX = 10 * 60 * 1000;

/* Batches, caches and pauses that no client sees */

/** Backward steps of the clock below this are ordinary corrections. (ours) */
export const CLOCK_SET_BACK_MS = 1_000;
/** Pause before a due tenant that still waits to be woken is checked again. (ours) */
export const DUE_AGAIN_MS = 1_000;
/** Pause before the next spare starts when a tenant with code was opened, whose isolates can start at that time. (ours) */
export const SPARE_AFTER_CODE_MS = 500;
/** Pause after a spare that ended before it was used; doubled up to the maximum. (ours) */
export const SPARE_PAUSE_MS_MIN = 100;
export const SPARE_PAUSE_MS_MAX = 10_000;
/**
 * The rest of a dead process's channel is read at once; this bounds the wait if another process holds the channel open.
 * (ours)
 */
export const CHANNEL_END_MS = 1_000;
/**
 * Length of a line that a child writes to its standard output or error (the rest is dropped), and fields of a line that
 * are logged. (ours)
 */
export const CHILD_LINE_BYTES_MAX = 64 * KIB;
export const CHILD_LINE_FIELDS_MAX = 32;
/**
 * Lines that a worker can write, per second and in one burst, where a longer line counts as one per KiB; the same for a
 * router and for the egress process. (ours)
 */
export const WORKER_LINES_PER_SECOND_MAX = 10;
export const WORKER_LINES_AT_ONCE_MAX = 2_000;
export const ROUTER_LINES_PER_SECOND_MAX = 2_000;
export const ROUTER_LINES_AT_ONCE_MAX = 10_000;
/**
 * Beyond that rate, lines are dropped unparsed for this long; a flood is over when none was dropped for this long.
 * (ours)
 */
export const CHILD_LINES_MUTED_MS = 100;
export const CHILD_LINES_COUNTED_MS = 1_000;
/** Bytes of log lines that the log's reader has not taken. Beyond: lines of children are dropped. (ours) */
export const LOG_UNWRITTEN_BYTES_MAX = 4 * MIB;

/* Copies */

/**
 * A start waits this long for the copier to open its repository. Beyond: the server starts, and the copier tries again.
 * (ours)
 */
export const COPIER_START_MS = 5_000;
/** The same for its answer to a route, in addition to the time that the request itself has. Beyond: 503. (ours) */
export const COPIER_ANSWER_MS = 5_000;
/**
 * The copier has what is left of the drain to store what the workers left, and at least this. Beyond: it is killed, and
 * the spools keep it. (ours)
 */
export const COPIER_CLOSE_MS_MIN = 1_000;
/** The end of that time, in which the copier only logs what it could not store. (ours) */
export const COPIER_LAST_LINE_MS = 200;
/** The time of the last backup is stored this often. (ours) */
export const BACKUP_SUCCESS_STORE_MS = 600_000;
/** Time in which the base of a tenant is read from the log of the cluster. Beyond: it is tried again. (ours) */
export const BASE_OF_LOG_MS = 600_000;
/** A sleeping tenant whose base could not be made is tried again after this time. (ours) */
export const BASE_RETRY_MS = 60_000;
/** How often the server's own files are copied, if they have changed. (ours) */
export const STATE_COPY_MS = 30_000;
/** Workers have this long to put their commits into the spools, and the copier to store them. Beyond: 503. (ours) */
export const BACKUP_FLUSH_MS = 5_000;
export const BACKUP_RUN_MS = 60_000;
/** A restore into the running server has this long to make its file. Beyond: 503. (ours) */
export const RESTORE_MS = 60 * 60_000;

/* Drills of the backup */

/** Tenants that a drill at an interval restores, chosen at random. Those on request name their number. (ours) */
export const DRILL_TENANTS = 10;
/** Pause between two tenants of a drill. (ours) */
export const DRILL_PAUSE_MS = 1_000;
/** How often the server looks whether a drill is due. (ours) */
export const DRILL_CHECK_MS = 60 * 60_000;
/** A restore for a drill has this long, and then the check of the file. Beyond: that tenant is not proven. (ours) */
export const DRILL_RESTORE_MS = 60 * 60_000;
export const DRILL_ERRAND_MS = 60 * 60_000;

/* Services */

/**
 * A tenant with services that took its turn for a worker keeps it at least this long before it must give it up to
 * tenants without requests. (ours)
 */
export const IN_USE_TURN_MS = 30_000;
/** For the same time, a tenant that had traffic this recently keeps its worker too. (ours) */
export const RECENT_TRAFFIC_MS = 2_000;

/* Upgrades */

/** How long the copy of a tenant's file from before an upgrade is kept. (ours) */
export const KEPT_COPY_MS = 7 * 24 * 3_600_000;
/** How often old copies are looked for. (ours) */
export const KEPT_COPY_SWEEP_MS = 3_600_000;
/** Entries read in a directory of such copies, which its tenant owns. Beyond: the others are not found. (ours) */
export const KEPT_COPIES_MAX = 100;

/* Restores */

/** How long a directory stays in `set-aside/` that a restore replaced. Then it is removed. (design) */
export const SET_ASIDE_MS = 7 * 24 * 3_600_000;
/** How often such directories are looked for. (ours) */
export const SET_ASIDE_CHECK_MS = 24 * 3_600_000;
/** Time for an answer of the cluster process, in addition to what the request itself takes. Beyond: 503. (ours) */
export const CLUSTER_ANSWER_MS = 15_000;
/** Time in which a file becomes the beginning of a log, or is made of one. Beyond: 503. (ours) */
export const FILE_OF_LOG_MS = 60 * 60_000;
/** Time for a host to join its cluster at the start. Beyond: the start fails. (ours) */
export const CLUSTER_JOIN_MS = 90_000;
/** Time for a host to leave its cluster at the end. Beyond: the others wait for the end of its lease. (ours) */
export const CLUSTER_CLOSE_MS = 4_000;
/** Pause before a tenant that another host made or deleted is made or deleted here again, after a failure. (ours) */
export const CLUSTER_CHANGE_RETRY_MS = 5_000;
/** Pause before it is asked again which host serves a tenant, while the cluster cannot say. (ours) */
export const LOCATE_AGAIN_MS = 200;
/** So long a request waits for that. Beyond: 503 session.worker_unavailable. (ours) */
export const LOCATE_MS_MAX = 20_000;
