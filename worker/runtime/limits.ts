/**
 * Limits of the processes and threads that run code of tenants. Units are in the names; comments give the reason for
 * the number and what happens beyond it. docs/limits.md is generated from this file.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/* Functions */

/**
 * CPU time of one query or mutation, including the host's work for it. Beyond: the function fails and its realm is
 * dropped. Code that runs while isolated-vm reads an error is not counted, such as a getter of the error of a promise
 * without a handler, or of one that a module throws. If it never ends, its process is killed as a hung one.
 * (reference 11.4)
 */
export const FUNCTION_MS_MAX = 1_000;
/** Wall-clock time of a query on a busy machine; other calls wait for it. Beyond: 503. (ours) */
export const QUERY_WALL_MS_MAX = 8_000;
/** A log line warns when a function has used this much of its time. (reference 11.4) */
export const FUNCTION_MS_WARNING = 800;
/** Time to evaluate a module and all it imports. Beyond: the deploy is refused, or the call fails. (reference 11.1) */
export const FUNCTION_LOAD_MS_MAX = 4_000;
/** Heap and buffers of one isolate, MiB. Beyond: the isolate and its invocation end. (reference 11.4) */
export const ISOLATE_MEMORY_MB = 64;
/** An isolate whose heap is larger than this between two invocations is replaced. (ours) */
export const ISOLATE_HEAP_RECYCLE_BYTES = 40 * MIB;
/** Deployments whose code an isolate keeps: the active one and its predecessor or successor. (ours) */
export const REALMS_PER_ISOLATE_MAX = 2;
/**
 * Realms made in one isolate before it is replaced, which costs 5 ms: a released realm leaves memory in its isolate
 * until then.
 */
export const REALMS_MADE_PER_ISOLATE_MAX = 8;
/** Arguments of a function, as JSON. Beyond: the call fails. (design) */
export const FUNCTION_ARGUMENT_BYTES_MAX = 8 * MIB;
/**
 * Characters of the console lines that the caller of an action gets, from the action and all functions that it calls.
 * Beyond: one last line reports it. (ours)
 */
export const LOG_CALL_CHARS_MAX = 1 * MIB;
/**
 * Parsed source maps to keep, and the longest one to parse: parsing blocks the serving thread. Beyond: frames are left
 * out. (ours)
 */
export const SOURCE_MAPS_KEEP = 64;
export const SOURCE_MAP_CHARS_MAX = 8 * MIB;
/**
 * Characters of console lines that the newest log entries in memory hold together. Beyond: the oldest are dropped.
 * (ours)
 */
export const LOG_CHARS_KEEP = 4 * MIB;
/**
 * Log files on disk of executions that failed or wrote a line: the size at which a new file begins, and the number of
 * files. Beyond: the oldest are removed. (ours)
 */
export const LOG_FILE_BYTES = 4 * MIB;
export const LOG_FILES_KEEP = 8;
/** Delay before log entries are written to disk, together. A killed process loses them. (ours) */
export const LOG_FLUSH_MS = 100;
/** Log entries that wait for a slow disk. Beyond: they are dropped, and the service's log reports it. (ours) */
export const LOG_UNWRITTEN_CHARS_MAX = 16 * MIB;
/**
 * Failed executions of a tenant in the service's log: the burst, and the rate per second. Beyond: they are counted in
 * the next line. (ours)
 */
export const LOG_FAILURES_BURST = 20;
export const LOG_FAILURES_PER_SECOND = 1;
/** Readers that follow the log of one tenant. Beyond: 503 session.overloaded. (ours) */
export const LOG_FOLLOWERS_MAX = 16;
/**
 * Jobs in a row in one trace. Beyond: the next job begins a trace, so the trace of a job that schedules itself ends.
 * (ours)
 */
export const TRACE_JOBS_MAX = 8;
/** Threads that run queries of one tenant. All but the first start only while another is blocked by a query. (ours) */
export const QUERY_THREADS_MAX = 4;
/** Queries sent to a thread at once: they share one snapshot and one message. (ours) */
export const QUERY_BATCH_MAX = 32;
/** Waiting queries from which a busy thread gets a second batch in advance. (ours) */
export const QUERY_LOOK_AHEAD_MIN = 8;
/** A batch ends after this time. Its remaining queries continue at once, on this thread or another. (ours) */
export const QUERY_SLICE_MS = 25;
/**
 * Poll interval for running queries. A query that still runs at the second poll blocks its thread: the others of its
 * batch move to another thread. (ours)
 */
export const QUERY_POLL_MS = 40;
/**
 * Number of polls instead, if the query is the first that needs its module, which is loaded during that time. (ours)
 */
export const QUERY_POLLS_FIRST = 12;
/** Factor for the number of polls if the thread got little CPU time or waited for the disk. (ours) */
export const QUERY_POLLS_STARVED = 5;
/**
 * How long a function that blocked its thread counts as slow, and how many functions can. A slow function runs alone,
 * and one thread is kept for others. (ours)
 */
export const QUERY_SLOW_MS = 10_000;
export const QUERY_SLOW_PATHS_MAX = 1_000;
/**
 * A thread that has not answered this long after the time-outs of its queries is hung: the worker is ended and
 * replaced. (ours)
 */
export const QUERY_WEDGED_MS = 15_000;
/** Queries that wait for a thread. Beyond: 503 session.overloaded. (ours; the router's in-flight limit comes first) */
export const QUERY_QUEUE_MAX = 8_192;
/**
 * Idle time after which isolates and threads of actions end, so that memory is freed after a burst. Threads of queries
 * end after twice this time. (ours)
 */
export const FUNCTION_IDLE_MS = 30_000;

/* Functions: actions */

/**
 * Running actions and HTTP actions of a tenant, including those called by other functions. Beyond: 503
 * session.overloaded. (ours)
 */
export const ACTIONS_MAX = 128;
/**
 * Characters of the arguments of all running actions: they exist in several copies. Beyond: 503 session.overloaded.
 * (ours)
 */
export const ACTION_ARGUMENTS_CHARS_MAX = 64 * MIB;
/**
 * Memory of a worker without mapped files. At the first limit, isolates that have been idle for this long are freed. At
 * the next, no more functions start (503 session.overloaded). At the last, actions are ended, the largest first. All
 * are well below PROCESS_BYTES_MAX, because an isolate's limit counts neither one large string nor WebAssembly. Memory
 * is polled at this interval while functions run. (ours)
 */
export const FUNCTIONS_PROCESS_BYTES_SHORT = 1024 * MIB;
export const FUNCTIONS_SHORT_IDLE_MS = 1_000;
export const FUNCTIONS_PROCESS_BYTES_MAX = 2 * 1024 * MIB;
export const FUNCTIONS_PROCESS_BYTES_END = 2.5 * 1024 * MIB;
export const FUNCTIONS_PROCESS_POLL_MS = 100;
/**
 * Memory that an action's isolate can use before it can be ended, and how long after it starts to compute this is
 * assumed; the last value applies while memory is short. Others of its thread wait if there would not be enough memory.
 * (ours)
 */
export const ENTRY_BYTES = 1024 * MIB;
export const ENTRY_YOUNG_MS = 500;
export const ENTRY_YOUNG_MS_MAX = 5_000;
/**
 * The process of query and action isolates: how long it stays without a call, and how long it can take to shut down.
 * Beyond: it is killed. (ours)
 */
export const ISOLATE_PROCESS_IDLE_MS = 60_000;
export const ISOLATE_PROCESS_CLOSE_MS_MAX = 15_000;
/** Time for a spare worker's process of isolates to be ready. Beyond: it ends, and the worker is a spare without. (ours) */
export const SPARE_ISOLATES_MS_MAX = 20_000;
/**
 * Poll interval for the memory of that process while it has calls, and the number of polls it can leave unanswered.
 * Beyond: it is killed. (ours)
 */
export const ISOLATE_PROCESS_POLL_MS = 100;
export const ISOLATE_PROCESS_SILENT_POLLS_MAX = 100;
/**
 * Longest message between that process and its worker: a result whose characters take three bytes each, and its lines.
 * Beyond: it is killed. (ours)
 */
export const ISOLATE_FRAME_BYTES_MAX = 128 * MIB;
/**
 * Characters of queries, or of their results, that share a message between that process and its worker, so that it fits
 * a chunk of frames. Beyond: another message; longer arguments and results have one of their own. (ours)
 */
export const QUERY_FRAME_CHARS = 16 * KIB;
/**
 * Bytes sent to that process that it has not read. Beyond: it is killed, because it does not read its answers. (ours)
 */
export const ISOLATE_UNREAD_BYTES_MAX = 512 * MIB;
/**
 * How long to wait for output of a process that has ended, while its child processes hold its pipes open; and for the
 * end of a process that has closed its pipe. Beyond: it is killed. (ours)
 */
export const CHILD_PIPES_MS_MAX = 1_000;
/** Starts that fail in a row before calls are refused with 503. (ours) */
export const ISOLATE_PROCESS_STARTS_MAX = 2;
/** Threads that run actions; the second starts when the first has half of the maximum. (ours) */
export const ACTION_THREADS_MAX = 2;
/** JavaScript heap of one of these threads, MiB; its isolates have ISOLATE_MEMORY_MB each in addition. (ours) */
export const ACTION_THREAD_HEAP_MB = 256;
/** Duration of one action, including waits. Beyond: it fails, and the code it left running ends. (reference 11.4) */
export const ACTION_MS_MAX = 10 * 60 * 1000;
/** Time that user code of one action computes, without waits. Beyond: it fails. (ours) */
export const ACTION_CPU_MS_MAX = 30_000;
/** Poll interval for that time. (ours) */
export const ACTION_CPU_CHECK_MS = 100;
/** An action that has its result but still runs code: its isolate is ended after this time. (ours) */
export const ACTION_LINGER_MS = 1_000;
/** Idle isolates that a thread keeps for later actions, and for how long. (ours) */
export const ACTION_ISOLATES_IDLE_MAX = 32;
export const ACTION_ISOLATE_IDLE_MS = 10_000;
/** Running timers of one action. Beyond: setTimeout throws. (ours) */
export const ACTION_TIMERS_MAX = 10_000;
/** Fetches of one action whose responses are not read to the end, and its WebSockets. Beyond: the call fails. (ours) */
export const ACTION_FETCHES_MAX = 128;
export const ACTION_SOCKETS_MAX = 16;
/**
 * Old heap of a Node process, MiB; all its memory; and the poll interval. Beyond: it ends and its calls fail.
 * (reference 11.4)
 */
export const NODE_HEAP_MB = 512;
export const NODE_PROCESS_BYTES_MAX = 768 * MIB;
export const NODE_POLL_MS = 100;
/**
 * Node processes of a tenant. While one computes, another starts for calls that have waited this long. Beyond: they
 * wait. (ours)
 */
export const NODE_PROCESSES_MAX = 4;
export const NODE_BUSY_MS = 250;
/** How long a Node process without calls stays, and how long it can take to start. (ours) */
export const NODE_IDLE_MS = 30_000;
export const NODE_START_MS_MAX = 15_000;
/** Longest message between a Node process and its worker. Beyond: it ends and its calls fail. (ours) */
export const NODE_FRAME_BYTES_MAX = 64 * MIB;
/**
 * Messages read from the process of a service or sandbox per interval; the others wait for the next interval. (ours)
 */
export const NODE_MESSAGES_MAX = 1_000;
export const NODE_READ_INTERVAL_MS = 100;
/**
 * Bytes sent to a Node process that it has not read. Beyond: it is ended, because it does not read its answers. (ours)
 */
export const NODE_UNREAD_BYTES_MAX = 192 * MIB;
/**
 * Chunks of up to 64 KiB of its standard error that are read in NODE_READ_INTERVAL_MS; the others wait in the process. (ours)
 */
export const NODE_STDERR_CHUNKS_MAX = 16;
/**
 * Unread data of a response of fetch, and unread messages of a socket. Beyond: the sender of the response waits; the
 * socket is closed. (ours)
 */
export const FETCH_READ_AHEAD_BYTES = 64 * KIB;
export const SOCKET_READ_AHEAD_BYTES_MAX = 32 * MIB;
/** Bytes that an action sent on a socket and the network has not accepted. Beyond: the socket is closed. (ours) */
export const SOCKET_UNSENT_BYTES_MAX = 16 * MIB;
/** Poll interval for the bufferedAmount of a socket with unsent bytes. (ours) */
export const SOCKET_UNSENT_CHECK_MS = 5;
/**
 * Response of an HTTP action: its body, the body size from which a log line warns, and its headers. Beyond: the body is
 * cut; headers get a 500. (reference 6.2)
 */
export const HTTP_ACTION_RESPONSE_BYTES_MAX = 20 * MIB;
export const HTTP_ACTION_RESPONSE_BYTES_WARNING = 16 * MIB;
export const HTTP_ACTION_HEADERS_BYTES_MAX = 64 * KIB;

/* Functions: globals of the default runtime */

/** Input of one crypto.subtle call, and its parameters with the key. Beyond: OperationError. (ours) */
export const CRYPTO_INPUT_BYTES_MAX = 16 * MIB;
export const CRYPTO_PARAMETERS_CHARS_MAX = 256 * KIB;
/**
 * PBKDF2: iterations times blocks of the result, about half a second to a second. Applies to one call in actions, and
 * to all calls together of a query or mutation. Beyond: OperationError. (ours)
 */
export const PBKDF2_WORK_MAX = 1_000_000;
/** Result of one deriveBits. Beyond: OperationError. (ours) */
export const DERIVED_BYTES_MAX = 8 * KIB;
/**
 * RSA keys that can be used, and that can be generated: the time grows with the third power or faster. Beyond:
 * OperationError. (ours)
 */
export const RSA_MODULUS_BITS_MAX = 8_192;
export const RSA_GENERATED_BITS_MAX = 4_096;

/* Functions: outgoing connections, and tokens */

/**
 * Connections of one thread to one origin, and origins at once. Beyond: requests wait for a connection; a request to
 * one more origin fails. (ours)
 */
export const EGRESS_CONNECTIONS_PER_ORIGIN_MAX = 32;
export const EGRESS_ORIGINS_MAX = 1_024;
/**
 * Time to resolve and connect, then for the headers of the response, then between two chunks of its body. Beyond: it
 * fails. (ours)
 */
export const EGRESS_HEADERS_TIMEOUT_MS = 60_000;
export const EGRESS_BODY_TIMEOUT_MS = 60_000;
/**
 * How long a connection waits for an egress process that is starting, and the poll interval. Beyond: the connection
 * fails. (ours)
 */
export const EGRESS_START_MS_MAX = 5_000;
export const EGRESS_START_POLL_MS = 50;
/** Headers of a response from outside. Beyond: the request fails. (ours) */
export const EGRESS_HEADERS_BYTES_MAX = 64 * KIB;
/**
 * Body of a response from outside, after decompression, so that a compressed one cannot grow without limit. Beyond: it
 * fails. (ours)
 */
export const EGRESS_RESPONSE_BYTES_MAX = 64 * MIB;
/** A message that a WebSocket of an action receives, after decompression. Beyond: that socket is closed. (ours) */
export const EGRESS_SOCKET_MESSAGE_BYTES_MAX = 16 * MIB;

/* One query or mutation */

/**
 * Documents that one query or mutation reads, and their bytes. Beyond: the call fails, and a mutation that catches the
 * error does not commit. (reference 3.8)
 */
export const FUNCTION_READ_DOCUMENTS_MAX = 32_000;
export const FUNCTION_READ_BYTES_MAX = 16 * MIB;
/**
 * Gets and queries of one query or mutation; documents that one mutation writes, and their bytes. Beyond: the call
 * fails, and a mutation that catches the error does not commit. (reference 3.8)
 */
export const FUNCTION_READS_MAX = 4_096;
export const FUNCTION_WRITTEN_DOCUMENTS_MAX = 16_000;
export const FUNCTION_WRITTEN_BYTES_MAX = 16 * MIB;
/** A warning is logged when a function has used this part of a limit. */
export const FUNCTION_LIMIT_WARNING = 0.8;
/**
 * Documents that a mutation has read or written and that are held until it ends, and the characters of each. Beyond:
 * they are read from the file again. (ours)
 */
export const KNOWN_ROWS_MAX = 64;
export const KNOWN_ROW_CHARS_MAX = 16 * 1024;
/** Text of documents sent to an isolate at once; at least one document is sent. (ours) */
export const QUERY_BATCH_CHARS = 1 * MIB;
/** Operators, fields and values in the filters of one query. Beyond: the call fails. (ours) */
export const FILTER_NODES_MAX = 2_000;
/** Items of one page of a function's `paginate`. Beyond: the call fails. (reference 3.7) */
export const FUNCTION_PAGE_ITEMS_MAX = 32_000;

/* Deployments */

/** Characters at the start of a bundled file that are searched for a runtime directive. (ours) */
export const DIRECTIVE_CHARS_MAX = 64 * KIB;
/** Functions that a mistyped path is compared with, for a "did you mean". Beyond: no suggestion. (ours) */
export const SUGGESTION_FUNCTIONS_MAX = 2_000;
/** Functions and HTTP routes of a deployment. Beyond: the deploy is refused. (ours) */
export const DEPLOYMENT_FUNCTIONS_MAX = 20_000;
/** Tables of a deployment's schema. Beyond: the deploy is refused. (ours) */
export const SCHEMA_TABLES_MAX = 1_000;
/** Time to run all modules of a deployment once and read their exports. Beyond: the deploy is refused. (ours) */
export const ANALYSIS_MS_MAX = 60_000;
/** Heap of the isolate that runs them, MiB: it holds all modules at once. (ours) */
export const ANALYSIS_MEMORY_MB = 256;
/** Memory of the analysis process, and the poll interval. Beyond: the deploy is refused. (ours) */
export const ANALYSIS_PROCESS_BYTES_MAX = 1_536 * MIB;
export const ANALYSIS_POLL_MS = 100;
/**
 * Writable memory of that process, in use or not. The kernel enforces it, so that code which allocates faster than it
 * is polled is stopped. (ours)
 */
export const ANALYSIS_DATA_BYTES_MAX = 2_048 * MIB;
/** What the analysis returns in addition to the code: the manifest. Beyond: the deploy is refused. (ours) */
export const ANALYSIS_ANSWER_BYTES_MAX = 64 * MIB;
/** Errors listed for a refused deployment. (ours) */
export const DEPLOYMENT_ERRORS_SHOWN = 100;
/** Characters of one of them; user code can throw anything. (ours) */
export const DEPLOYMENT_ERROR_CHARS_MAX = 4_000;
/**
 * Packages of a deployment, including their dependencies: the files, one file's path and bytes, and all bytes. Beyond:
 * the deploy is refused. (ours)
 */
export const PACKAGES_FILES_MAX = 50_000;
export const PACKAGE_PATH_CHARS_MAX = 512;
export const PACKAGE_FILE_BYTES_MAX = 64 * MIB;
export const PACKAGES_UNPACKED_BYTES_MAX = 256 * MIB;
/** How long a package that no deployment uses is kept: its deploy can be about to arrive. (ours) */
export const PACKAGE_UNUSED_KEEP_MS = 60 * 60 * 1000;
/** Environment variables of a tenant. Beyond: 429 op.rate_limited. (reference 12.3) */
export const ENVIRONMENT_VARIABLES_MAX = 1_000;

/* Batches, caches and pauses that no client sees */

/** Interval at which the service's log reports dropped log entries. (ours) */
export const LOG_DROPPED_REPORT_EVERY_MS = 60_000;
/** Part of a budget, and items of a page, from which a page should be split. (reference) */
export const PAGE_SPLIT_RECOMMENDED_PART = 0.75;
export const PAGE_SPLIT_RECOMMENDED_ITEMS = 6_144;
/** Stack frames shown; the frames of a deep recursion repeat. (ours) */
export const STACK_FRAMES_SHOWN = 10;
/**
 * Frames in the console lines of one execution that are mapped to sources: a function can print any number of them.
 * (ours)
 */
export const LOG_STACK_FRAMES_MAX = 200;
