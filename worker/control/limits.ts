/** Limits of services, sandboxes and sessions, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const KIB = 1024;
const MIB = 1024 * KIB;

/* Services */

/** Services of a tenant. Beyond: 429 op.rate_limited. (ours) */
export const SERVICES_MAX = 64;
/** Old heap of the process of one, MiB: least, most and unless said otherwise. Beyond: 400; used up, the process ends. (ours) */
export const SERVICE_MEMORY_MB_DEFAULT = 128;
/** What its process may take besides: code, stacks, buffers. Beyond: it ends. Looked at this often. (ours) */
export const SERVICE_MEMORY_BESIDE_MB = 96;
export const SERVICE_LOOK_MS = 500;
/** Code of an inline service, and the JSON of its variables. Beyond: 400. (ours) */
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
/** Loading service control when a tenant with services is opened: the pause after the first failure, which doubles up to the second. (ours) */
export const CONTROL_WARM_RETRY_MS = 500;
export const CONTROL_WARM_RETRY_MS_MAX = 60_000;

/* Sandboxes and sessions */

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
export const SANDBOX_CPU_MS_DEFAULT = 1_000;
/** From its creation to its end. Beyond: 400. (ours) */
export const SANDBOX_TTL_MS_DEFAULT = 5 * 60 * 1000;
/** One execution with all that it waits for. Beyond: 400; used up, it fails. (ours) */
export const SANDBOX_EXECUTE_MS_DEFAULT = 30_000;
/** Code of one execution, and the JSON of a sandbox's variables. Beyond: 400. (ours) */
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
