/** Limits of the function platform, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const KIB = 1024;
const MIB = 1024 * KIB;

/* The function socket */

/** Function sockets of a tenant. Beyond: close 1013 session.overloaded, of one on which nothing was asked for if there is one. (ours) */
export const FUNCTION_SOCKETS_MAX = 20_000;
/** Bytes under way to a socket, beyond which it is shown no new moment until its network has taken some. (ours) */
export const FUNCTION_SOCKET_WINDOW_BYTES = 128 * KIB;
/** A transition longer than this leaves in pieces of the second length, so that what it waits for is bounded. Characters. (ours) */
export const TRANSITION_CHARS_MAX = 256 * KIB;
export const TRANSITION_PIECE_CHARS = 64 * KIB;
/** Results between these lengths may be sent as a change of the one before: shorter ones gain nothing, longer ones take too long. (ours) */
export const DELTA_CHARS_MIN = 512;
export const DELTA_CHARS_MAX = 1 * MIB;
/** A socket's token whose provider's keys could not be fetched is checked again after so long, twice as long each time, up to the second. (ours) */
export const TOKEN_VERIFY_AGAIN_MS = 1_000;
export const TOKEN_VERIFY_AGAIN_MS_MAX = 16_000;
/** Results of all queries of one socket, and the lines of their runs. Beyond: results of those added last are errors. Characters. (ours) */
export const SOCKET_RESULTS_CHARS_MAX = 32 * MIB;
/** Distinct queries that the sockets of a tenant hold, and the bytes of their results and read sets. Beyond: the query's result is an error. (ours) */
export const HELD_QUERIES_MAX = 100_000;
export const HELD_QUERIES_BYTES_MAX = 256 * MIB;
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

/* Functions */

/** The clock's time it may take on a machine that is busy, of a query and of a mutation, which others wait for. Beyond: 503. (ours) */
export const MUTATION_WALL_MS_MAX = 4_000;
/** Times a mutation is taken back because its modules were dropped meanwhile; then they are loaded inside its write. (ours) */
export const MUTATION_PREPARATIONS_MAX = 8;
/** Results of query functions kept for the next caller, with their keys and read sets: all of a tenant, and one. Beyond: those used least recently leave, and it is not kept. (ours) */
export const RESULTS_BYTES_MAX = 16 * MIB;
export const RESULT_KEPT_BYTES_MAX = 1 * MIB;
/** Stretches in the read set of a kept result. With more it is not kept: each is looked after. (ours) */
export const RESULT_INTERVALS_MAX = 256;
/** Documents written while queries are under way that their results are held against, and comparisons for one. Beyond: it is not kept. (ours) */
export const RECENT_CHANGES_MAX = 1_000;
export const RECENT_COMPARISONS_MAX = 10_000;
/** A tenant with functions has opened this long before it loads what runs them: what woke it comes first. (ours) */
export const FUNCTIONS_WARM_DELAY_MS = 20;
/** Jobs one mutation schedules, the arguments of one, and of all of them. Beyond: the call fails. (reference 3.8, 4) */
export const SCHEDULED_JOBS_PER_MUTATION_MAX = 1_000;
export const SCHEDULED_ARGUMENTS_BYTES_MAX = 16 * MIB;

/* Functions: actions */

/** How long the head of a response waits for the first piece of its body, whose failure is a 500 with its reason until then. (ours) */
export const HTTP_ACTION_HEAD_HELD_MS = 5_000;
/** The same for a stream of events, whose reader waits for the head. (ours) */
export const EVENT_STREAM_HEAD_HELD_MS = 100;

/* Functions: outgoing connections, and tokens */

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

/** Requests of a tenant to HTTP actions whose bodies are still arriving, half of ACTIONS_MAX. Beyond: 503 session.overloaded. (ours) */
export const HTTP_UPLOADS_MAX = 64;

/* Deployments */

/** Deployments kept for rollback, the newest; the active one always. (ours) */
export const DEPLOYMENTS_KEEP = 20;
/** Deploys of a tenant that wait for the one under way. Beyond: 503 session.overloaded. (ours) */
export const DEPLOYS_WAITING_MAX = 4;
/** Code of a deployment stored by one write, in characters; one file at least. (ours) */
export const DEPLOYMENT_SLICE_CHARS = 256 * KIB;

/* Batches, caches and pauses that no client sees */

/** Outcomes of mutations that a client has settled, removed with each new one: a long queue that is settled at once holds up no other write. (ours) */
export const CLIENT_MUTATIONS_SETTLED_AT_ONCE = 64;
