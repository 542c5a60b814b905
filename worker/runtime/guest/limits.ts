/** Limits inside of an isolate, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const KIB = 1024;
const MIB = 1024 * KIB;

/* Functions */

/** What a function returns, as JSON. Beyond: the function fails. (design) */
export const FUNCTION_RESULT_BYTES_MAX = 16 * MIB;
/** Characters of all arguments of one call of an isolate to its host: they are copied. Beyond: the call throws. (ours) */
export const HOST_CALL_CHARS_MAX = 20 * MIB;
/** Console lines of one execution, and the length of one. Beyond: one last line says so; the line is cut. (reference 11.3) */
export const LOG_LINES_MAX = 256;
export const LOG_LINE_CHARS_MAX = 32 * KIB;
/** Name, message and stack of what user code throws, in characters. Beyond: they are cut. (ours) */
export const ERROR_NAME_CHARS_MAX = 200;
export const ERROR_MESSAGE_CHARS_MAX = 64 * KIB;
export const ERROR_STACK_CHARS_MAX = 128 * KIB;
/** Jobs one mutation schedules, the arguments of one, and of all of them. Beyond: the call fails. (reference 3.8, 4) */
export const SCHEDULED_ARGUMENT_BYTES_MAX = 4 * MIB;
/** How far from now a function may be scheduled, in the past or the future: five years. Beyond: the call fails. (reference 4) */
export const SCHEDULE_DISTANCE_MS_MAX = 5 * 366 * 24 * 60 * 60 * 1000;

/* Functions: actions */

/** Operations of one action that wait for an answer. Beyond: the call fails. (reference 5) */
export const ACTION_CALLS_MAX = 1_000;
/** A request body of fetch up to this is sent whole, with its length; a longer one is streamed. (ours) */
export const FETCH_BODY_BUFFERED_BYTES = 4 * MIB;
/** A piece of such a body crosses to its host in parts of this size. (ours) */
export const HTTP_ACTION_PART_BYTES = 1 * MIB;

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
