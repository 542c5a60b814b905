/**
 * Limits of services, sandboxes and sessions, with units in their names, reasons, and the effect of exceeding them.
 * docs/limits.md is generated from this file.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/* Services */

/** Services per tenant. Beyond: 429 op.rate_limited. (ours) */
export const SERVICES_MAX = 64;
/** Old heap of a service's process, MiB: the default. Beyond: it ends when the heap is used up. (ours) */
export const SERVICE_MEMORY_MB_DEFAULT = 128;
/**
 * Memory of a service's process in addition to its heap: code, stacks, buffers; and how often it is checked. Beyond: it
 * ends. (ours)
 */
export const SERVICE_MEMORY_BESIDE_MB = 96;
export const SERVICE_POLL_MS = 500;
/** JSON of a service's variables, in characters. Beyond: 400. (ours) */
export const SERVICE_ENV_CHARS_MAX = 32 * KIB;
/** Pause before a service is started again, first and longest: doubles each time, half of it random. (ours) */
export const SERVICE_PAUSE_MS_MIN = 500;
export const SERVICE_PAUSE_MS_MAX = 60_000;
/** Run time after which the next pause is the first one again. (ours) */
export const SERVICE_HEALTHY_MS = 60_000;
/**
 * Time for a service to end after its abort signal, and when its worker is closed. Beyond: its process is killed.
 * (ours)
 */
export const SERVICE_STOP_MS_MAX = 10_000;
export const SERVICE_CLOSE_MS_MAX = 1_500;
/**
 * Time to load a service's code, until its function is called. Beyond: it ends, and is restarted according to its
 * policy. (ours)
 */
export const SERVICE_LOAD_MS_MAX = 30_000;
/** Live queries of one service. Beyond: `onChange` throws. (ours) */
export const SERVICE_WATCHES_MAX = 64;
/** Lines that a service logs per second. Beyond: dropped, and its log says how many. (ours) */
export const SERVICE_LOG_LINES_MAX = 500;
/**
 * Size at which a service's log on disk continues in a new file, and files kept. Beyond: the oldest lines are deleted.
 * (ours)
 */
export const SERVICE_LOG_FILE_BYTES = 1 * MIB;
export const SERVICE_LOG_FILES_KEEP = 4;
/** Readers that follow the log of one service. Beyond: 503 session.overloaded. (ours) */
export const SERVICE_LOG_FOLLOWERS_MAX = 16;
/**
 * Unexpected failures of requests from one service process that go to the server's log. Beyond: only the process gets
 * the error. (ours)
 */
export const SERVICE_FAILURES_LOGGED_MAX = 10;
/** Characters stored of the reason why a service ended. (ours) */
export const SERVICE_EXIT_CHARS_MAX = 4_000;
/** Priority of a service's process below its tenant's worker (`nice`). (ours) */
export const SERVICE_NICENESS = 5;
/**
 * Retry pause after service control failed to load when a tenant with services was opened. It doubles up to the second
 * value. (ours)
 */
export const CONTROL_WARM_RETRY_MS = 500;
export const CONTROL_WARM_RETRY_MS_MAX = 60_000;

/* Sandboxes and sessions */

/** Running sandboxes per tenant. Beyond: 429 op.rate_limited. (ours; issue: 200 at once) */
export const SANDBOXES_MAX = 256;
/** Running sandboxes with `runtime: "node"`, each a process of its own. Beyond: 429 op.rate_limited. (ours) */
export const NODE_SANDBOXES_MAX = 8;
/**
 * Old heap of a Node sandbox, MiB: minimum, maximum and default. Beyond: 400; when the heap is used up, the sandbox is
 * `failed`. (ours)
 */
export const NODE_SANDBOX_MEMORY_MB_MIN = 32;
export const NODE_SANDBOX_MEMORY_MB_MAX = 256;
export const NODE_SANDBOX_MEMORY_MB_DEFAULT = 64;
/**
 * Memory of a Node sandbox in addition to its heap (code, stacks, buffers), and how often this and its CPU time are
 * checked. Beyond: it is `failed`. (ours)
 */
export const NODE_SANDBOX_BESIDE_MB = 96;
export const NODE_SANDBOX_POLL_MS = 50;
/**
 * Time for a Node sandbox to show that it only waits, after the time of its execution is over. Beyond: it is cut off
 * and `failed`. (ours)
 */
export const NODE_SANDBOX_ANSWER_MS_MAX = 1_000;
/**
 * Heap and buffers of a sandbox, MiB: minimum, maximum and default. Beyond: 400; when used up, the sandbox is `failed`.
 * (ours)
 */
export const SANDBOX_MEMORY_MB_MIN = 8;
export const SANDBOX_MEMORY_MB_MAX = 128;
export const SANDBOX_MEMORY_MB_DEFAULT = 32;
/** CPU time of one execution: the default. Beyond: the sandbox is `failed`. (ours) */
export const SANDBOX_CPU_MS_DEFAULT = 1_000;
/** Lifetime of a sandbox: the default. (ours) */
export const SANDBOX_TTL_MS_DEFAULT = 5 * 60 * 1000;
/** Time of one execution, including its waits: the default. Beyond: the execution fails. (ours) */
export const SANDBOX_EXECUTE_MS_DEFAULT = 30_000;
/** JSON of a sandbox's variables, in characters. Beyond: 400. (ours) */
export const SANDBOX_ENV_CHARS_MAX = 8 * KIB;
/** Result of an execution as JSON, all of which the worker validates. Beyond: the execution fails. (ours) */
export const SANDBOX_VALUE_CHARS_MAX = 1024 * KIB;
/**
 * Executions that wait for the one under way, of one sandbox and of all sandboxes of a tenant. Beyond: 429
 * op.rate_limited. (ours)
 */
export const SANDBOX_WAITING_MAX = 16;
export const SANDBOX_EXECUTIONS_MAX = 256;
/**
 * Characters of the code and arguments of waiting executions, of which several copies exist. Beyond: 503
 * session.overloaded. (ours)
 */
export const SANDBOX_ARGUMENTS_CHARS_MAX = 64 * MIB;
/** Ended sandboxes, and ended sessions, of a tenant that can still be read. Beyond: the oldest are deleted. (ours) */
export const SANDBOXES_KEPT = 1_000;
export const SESSIONS_KEPT = 1_000;
/** Open sessions per tenant. Beyond: 429 op.rate_limited. (ours) */
export const SESSIONS_MAX = 1_000;
/** Lease of a session without use: the default. (ours) */
export const SESSION_TTL_MS_DEFAULT = 5 * 60 * 1000;
/** JSON of a session's metadata, in characters. Beyond: 400. (ours) */
export const SESSION_METADATA_CHARS_MAX = 4 * KIB;
/**
 * Memory of the process that a tenant's sandboxes share. Beyond the first value the largest sandbox is ended, beyond
 * the second the process: an isolate's limit does not cover one large string, nor WebAssembly. Checked at the third
 * interval. (ours)
 */
export const SANDBOX_PROCESS_BYTES_SHED = 1_536 * MIB;
export const SANDBOX_PROCESS_BYTES_MAX = 2_560 * MIB;
export const SANDBOX_PROCESS_POLL_MS = 100;
/**
 * A frame from the sandbox process: a value of six bytes per character, an error of the same length, and log lines.
 * Beyond: it is killed. (ours)
 */
export const SANDBOX_FRAME_BYTES_MAX = 32 * MIB;
/** Priority of the sandbox process below its tenant's worker (`nice`). (ours) */
export const SANDBOX_PROCESS_NICENESS = 5;
/** Idle time without a running sandbox after which the process ends. (ours) */
export const SANDBOX_PROCESS_IDLE_MS = 10_000;
/**
 * Time for the process to create a sandbox, and to report the end of an execution whose time is up. Beyond: it is
 * killed. (ours)
 */
export const SANDBOX_OPEN_MS_MAX = 20_000;
export const SANDBOX_ANSWER_MS_MAX = 10_000;
