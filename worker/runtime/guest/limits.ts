/**
 * Limits inside an isolate. Units are in the names; comments give the reason for the number and what happens beyond it.
 * docs/limits.md is generated from this file.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/* Functions */

/** Result of a function, as JSON. Beyond: the function fails. (design) */
export const FUNCTION_RESULT_BYTES_MAX = 16 * MIB;
/**
 * Characters of all arguments of one call from an isolate to its host: they are copied. Beyond: the call throws. (ours)
 */
export const HOST_CALL_CHARS_MAX = 20 * MIB;
/**
 * Console lines of one execution, and the length of one. Beyond: one last line reports it; a long line is cut.
 * (reference 11.3)
 */
export const LOG_LINES_MAX = 256;
export const LOG_LINE_CHARS_MAX = 32 * KIB;
/** Characters of the name, message and stack of an error that user code throws. Beyond: they are cut. (ours) */
export const ERROR_NAME_CHARS_MAX = 200;
export const ERROR_MESSAGE_CHARS_MAX = 64 * KIB;
export const ERROR_STACK_CHARS_MAX = 128 * KIB;
/** Arguments of one scheduled job. Beyond: the call fails. (reference 3.8, 4) */
export const SCHEDULED_ARGUMENT_BYTES_MAX = 4 * MIB;
/** How far in the past or the future a function can be scheduled: five years. Beyond: the call fails. (reference 4) */
export const SCHEDULE_DISTANCE_MS_MAX = 5 * 366 * 24 * 60 * 60 * 1000;

/* Functions: actions */

/** Operations of one action that wait for an answer. Beyond: the call fails. (reference 5) */
export const ACTION_CALLS_MAX = 1_000;
/** A request body of fetch up to this size is sent whole, with its length; a longer one is streamed. (ours) */
export const FETCH_BODY_BUFFERED_BYTES = 4 * MIB;
/** Part size in which a chunk of an HTTP action's response body crosses to the host. (ours) */
export const HTTP_ACTION_PART_BYTES = 1 * MIB;

/* Functions: globals of the default runtime */

/** Text after which the formatting of one logged value stops. (ours) */
export const INSPECT_CHARS_MAX = 32 * KIB;
/**
 * Maximum of one WebAssembly memory, in pages of 64 KiB, and memories of one invocation. Beyond: a RangeError. (ours)
 */
export const WASM_MEMORY_PAGES_MAX = 512;
export const WASM_MEMORIES_MAX = 16;
/**
 * WebAssembly memories that invocations made in a realm. Beyond: the realm is replaced before its next invocation,
 * because it can still hold them. (ours)
 */
export const WASM_MEMORIES_KEPT_MAX = 4;
/** Bytes of one crypto.getRandomValues call. Beyond: QuotaExceededError. (web cryptography standard) */
export const RANDOM_BYTES_MAX = 64 * KIB;
