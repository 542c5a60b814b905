/** Limits of what runs code of tenants, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const KIB = 1024;
const MIB = 1024 * KIB;

/* Functions */

/** CPU time of one query or mutation, the work of its host for it included. Beyond: the function fails, its realm is dropped. (reference 11.4) */
export const FUNCTION_MS_MAX = 1_000;
/** The clock's time it may take on a machine that is busy, of a query and of a mutation, which others wait for. Beyond: 503. (ours) */
export const QUERY_WALL_MS_MAX = 8_000;
/** From this much of its time on, a log line says so. (reference 11.4) */
export const FUNCTION_MS_WARNING = 800;
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
/** Of an action with all it calls, in characters, for its caller. Beyond: one last line says so. (ours) */
export const LOG_CALL_CHARS_MAX = 1 * MIB;
/** Source maps kept parsed, and the longest that is: parsing takes the thread that serves. Beyond: frames are left out. (ours) */
export const SOURCE_MAPS_KEEP = 64;
export const SOURCE_MAP_CHARS_MAX = 8 * MIB;
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
/** Queries that wait for a thread. Beyond: 503 session.overloaded. (ours; the router's in-flight limit comes first) */
export const QUERY_QUEUE_MAX = 8_192;
/** Threads and isolates without work for this long end, so that memory returns after a burst; threads a little later. (ours) */
export const FUNCTION_IDLE_MS = 30_000;
export const FUNCTION_IDLE_MARGIN_MS = 5_000;

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

/* Functions: globals of the default runtime */

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

/** Connections of one thread to one origin, and origins at once. Beyond: requests wait; the request fails. (ours) */
export const EGRESS_CONNECTIONS_PER_ORIGIN_MAX = 32;
export const EGRESS_ORIGINS_MAX = 1_024;
/** Time to resolve and connect; then for the headers of the answer; then between two pieces of its body. Beyond: it fails. (ours) */
export const EGRESS_HEADERS_TIMEOUT_MS = 60_000;
export const EGRESS_BODY_TIMEOUT_MS = 60_000;
/** How long whoever wants out waits for an egress process that is being started (again). Beyond: the connection fails. (ours) */
export const EGRESS_START_MS_MAX = 5_000;
export const EGRESS_START_LOOK_MS = 50;
/** Headers of an answer from outside. Beyond: the request fails. (ours) */
export const EGRESS_HEADERS_BYTES_MAX = 64 * KIB;
/** Body of an answer from outside, after it was unpacked, so that a packed one cannot grow without end. Beyond: it fails. (ours) */
export const EGRESS_RESPONSE_BYTES_MAX = 64 * MIB;
/** A message a WebSocket of an action receives, after it was unpacked. Beyond: that socket is closed. (ours) */
export const EGRESS_SOCKET_MESSAGE_BYTES_MAX = 16 * MIB;

/* One query or mutation */

/** A pushed response leaves in pieces of at most this size, well below STREAM_WINDOW_BYTES. (ours) */
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

/** Characters at the top of a file of a bundle in which a runtime directive is looked for. (ours) */
export const DIRECTIVE_CHARS_MAX = 64 * KIB;
/** Functions a mistyped path is compared with, for a "did you mean". Beyond: none is suggested. (ours) */
export const SUGGESTION_FUNCTIONS_MAX = 2_000;
/** Functions and HTTP routes of a deployment. Beyond: the deploy is refused. (ours) */
export const DEPLOYMENT_FUNCTIONS_MAX = 20_000;
/** Tables of a deployment's schema. Beyond: the deploy is refused. (ours) */
export const SCHEMA_TABLES_MAX = 1_000;
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
/** Errors listed for a refused deployment. (ours) */
export const DEPLOYMENT_ERRORS_SHOWN = 100;
/** Text of one of them; user code throws what it likes. (ours) */
export const DEPLOYMENT_ERROR_CHARS_MAX = 4_000;
/** Packages of a deployment, with those that they depend on; their files, one file's path and bytes, and all bytes. Beyond: the deploy is refused. (ours) */
export const PACKAGES_FILES_MAX = 50_000;
export const PACKAGE_PATH_CHARS_MAX = 512;
export const PACKAGE_FILE_BYTES_MAX = 64 * MIB;
export const PACKAGES_UNPACKED_BYTES_MAX = 256 * MIB;
/** Packages as published that a tenant keeps for all its deployments together. Beyond: 429 op.rate_limited. (ours) */
export const PACKAGES_KEPT_BYTES_MAX = 512 * MIB;
/** A package that no deployment has stays for so long: its deploy may be about to come. (ours) */
export const PACKAGE_UNUSED_KEEP_MS = 60 * 60 * 1000;
/** Environment variables of a tenant, their names and values. Beyond: 400, or 429 for one more. (reference 12.3) */
export const ENVIRONMENT_VARIABLES_MAX = 1_000;

/* Batches, caches and pauses that no client sees */

/** How often it is said that log entries were dropped. (ours) */
export const LOG_DROPPED_TOLD_EVERY_MS = 60_000;
/** Part of a budget, and items of a page, from which on a page should be split. (reference) */
export const PAGE_SPLIT_RECOMMENDED_PART = 0.75;
export const PAGE_SPLIT_RECOMMENDED_ITEMS = 6_144;
/** Frames shown; deep recursion has no more to say. (ours) */
export const STACK_FRAMES_SHOWN = 10;
/** Frames in the console lines of one execution that are looked up: a function can print as many as it likes. (ours) */
export const LOG_STACK_FRAMES_MAX = 200;
