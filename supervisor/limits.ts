/** Limits of the supervisor, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */
import {PROCESS_BYTES_MAX} from '../shared/limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** Keys at once; beyond, those that expired go first, and where none has, a new one is 429 op.rate_limited. (ours) */
export const KEYS_MAX = 5_000;
/**
 * Of those, how many may descend from one key that an admin credential made, and how many keys may have made together: the rest of the
 * places is the operator's. Beyond: as with KEYS_MAX. (ours)
 */
export const KEYS_OF_FAMILY_MAX = 500;
export const KEYS_MADE_BY_KEYS_MAX = 4_000;
/** How often routers look for keys that expired, and tell which were used; how often that is written. (ours) */
export const KEY_USES_WRITE_MS = 60_000;
/** Records of the audit log that are kept; the oldest leave first, 1 in 100 at once. (ours) */
export const AUDIT_RECORDS_MAX = 200_000;
/** How long the outcome of an action may wait to be written. (ours) */
export const AUDIT_OUTCOME_MS = 250;
/**
 * Refusals (401, 403): how long those that are alike are only counted after the first, how many kinds a router knows at once of keys and
 * as many of others, and how many records a minute and in all are kept of each. Beyond: they are counted in a metric. (ours)
 */
export const REFUSAL_RECORDS_PER_MINUTE_MAX = 30;
export const REFUSAL_RECORDS_MAX = 50_000;
/** How long a record of one may wait to be written. (ours) */
export const REFUSAL_WRITE_MS = 2_000;
/** Free space inside the file of the audit log, for records of what is done on a full disk: a thousand and more. (ours) */
export const AUDIT_SPARE_BYTES = MIB;

/* Placement */

/** How long a worker's death waits for what each router had under way; a router that says nothing had nothing. (ours) */
export const DEATH_REPORT_MS = 1_000;
/** Tenants opened at once because they were asked for; more would make each of them slower. Beyond: they wait. (ours) */
export const WAKES_AT_ONCE_MAX = 8;
/** One that takes longer than this does not count among them any more. (ours) */
export const WAKE_SLOW_MS = 4_000;
/** A process that does not report its metrics within this time is left out of a scrape. (ours) */
export const METRICS_TIMEOUT_MS = 1_000;
/** All processes report so often, in addition to scrapes: what one counted since its last report is lost when it is killed. (ours) */
export const METRICS_REPORT_MS = 15_000;
/** A worker or router that sends no heartbeat for this long of its own time is killed and replaced. (design: shed within 10 s) */
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
/** SIGTERM to exit 0. What is not finished by then is ended. (design) */
export const DRAIN_MS = 4_500;
/** Tenants opened at once without being asked for (after a start, when due), so that they do not delay those that are. (ours) */
export const SILENT_WAKES_MAX = 2;
/** macOS and Linux cut longer Unix socket paths silently at 104 to 108 bytes. (design) */
export const SOCKET_PATH_BYTES_MAX = 100;
/** Space kept for opening tenants on a full disk, given back in pieces, made whole again while so much more is free. (ours) */
export const RESERVE_BYTES = MIB;
export const RESERVE_SPARE_BYTES = 8 * MIB;
export const RESERVE_LOOK_MS = 10_000;
/** Directories of tenants that a refused start names. (ours) */
export const REFUSAL_DIRECTORIES_SHOWN = 20;
/** Tenants of one server: the registry is kept in memory. Beyond: 503 session.overloaded on creation. (ours) */
export const TENANTS_MAX = 100_000;

/* Damage */

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

/* Functions: actions */

/** Installing a version of Node. Beyond: the deploy is refused. (ours) */
export const NODE_INSTALL_MS_MAX = 10 * 60 * 1000;

/* Batches, caches and pauses that no client sees */

/** Smaller steps back are corrections of the clock. (ours) */
export const CLOCK_SET_BACK_MS = 1_000;
/** A due tenant that still waits for its turn to wake is looked at again after this. (ours) */
export const DUE_AGAIN_MS = 1_000;
/** Pause after a spare that ended before it was of use, doubled up to the maximum. (ours) */
export const SPARE_PAUSE_MS_MIN = 100;
export const SPARE_PAUSE_MS_MAX = 10_000;
/** The rest of a dead process's channel is read at once; this bounds the wait should somebody else hold it open. (ours) */
export const CHANNEL_END_MS = 1_000;
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

/* Services */

/** A tenant with services that gave its worker up to others is awake at least so long before it is asked to for tenants that nobody asks. (ours) */
export const IN_USE_TURN_MS = 30_000;
/** As long, a tenant that had traffic in this time is not asked to for those. (ours) */
export const RECENT_TRAFFIC_MS = 2_000;
