/**
 * Limits of the function platform, with units in their names, reasons, and the effect of exceeding them. docs/limits.md
 * is generated from this file.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/* The function socket */

/**
 * Function sockets per tenant. Beyond: close 1013 session.overloaded, of the oldest unused socket if there is one.
 * (ours)
 */
export const FUNCTION_SOCKETS_MAX = 20_000;
/** Unacknowledged bytes per socket. Beyond: no new transition is sent until the network has taken some. (ours) */
export const FUNCTION_SOCKET_WINDOW_BYTES = 128 * KIB;
/**
 * A transition longer than this is sent in chunks of the second length, which bounds the wait of other messages.
 * Characters. (ours)
 */
export const TRANSITION_CHARS_MAX = 256 * KIB;
export const TRANSITION_CHUNK_CHARS = 64 * KIB;
/**
 * Results between these lengths can be sent as a delta to the previous one: shorter ones gain nothing, longer ones take
 * too long. (ours)
 */
export const DELTA_CHARS_MIN = 512;
export const DELTA_CHARS_MAX = 1 * MIB;
/**
 * Delay before a socket's token is verified again after its provider's keys could not be fetched. It doubles up to the
 * second value. (ours)
 */
export const TOKEN_VERIFY_AGAIN_MS = 1_000;
export const TOKEN_VERIFY_AGAIN_MS_MAX = 16_000;
/**
 * Results of all queries of one socket, with the log lines of their runs. Beyond: the results of those added last are
 * errors. Characters. (ours)
 */
export const SOCKET_RESULTS_CHARS_MAX = 32 * MIB;
/**
 * Distinct queries that a tenant's sockets subscribe to, and the bytes of their results and read sets. Beyond: the
 * query's result is an error. (ours)
 */
export const SUBSCRIBED_QUERIES_MAX = 100_000;
export const SUBSCRIBED_QUERIES_BYTES_MAX = 256 * MIB;
/**
 * Concurrent runs of subscribed queries, and those of one function: others still get slots when one function loops.
 * (ours)
 */
export const LIVE_RUNS_MAX = 512;
export const LIVE_RUNS_OF_ONE_MAX = 64;
/**
 * Delay before a subscribed query that could not be run or held is tried again. It doubles with each further refusal,
 * up to the second value. (ours)
 */
export const LIVE_RUN_AGAIN_MS = 1_000;
export const LIVE_RUN_AGAIN_MS_MAX = 30_000;
/**
 * Overload refusals in a row during which the previous result stays in place. Beyond: the query's result is an error
 * until it has run. (ours)
 */
export const LIVE_REFUSALS_HIDDEN_MAX = 3;
/** Times in a row that a socket's queries can have no common version before they are run in one snapshot. (ours) */
export const MOMENTS_MISSED_MAX = 3;
/**
 * Mutations of one socket that wait for earlier ones, and its concurrent actions. Beyond: session.overloaded for the
 * call. (ours)
 */
export const SOCKET_MUTATIONS_WAITING_MAX = 10_000;
export const SOCKET_ACTIONS_MAX = 256;
/** Responses that wait for a slow socket. Beyond: its calls wait as well. Characters. (ours) */
export const SOCKET_ANSWERS_WAITING_CHARS = 4 * MIB;
/**
 * Responses that wait for a slow socket, including those of calls already under way. Beyond: close 1013
 * session.overloaded. Characters. (ours)
 */
export const SOCKET_ANSWERS_CHARS_MAX = 48 * MIB;
/**
 * Characters that wait for all slow sockets of a tenant. Beyond: close 1013 for a socket that adds to them and has more
 * than an equal share. (ours)
 */
export const SOCKETS_WAITING_CHARS_MAX = 256 * MIB;

/* Functions */

/** Wall-clock time of a mutation, for busy machines: other writes wait for it. Beyond: 503. (ours) */
export const MUTATION_WALL_MS_MAX = 4_000;
/**
 * Times that a mutation is rolled back because its modules were dropped meanwhile; after that they are loaded inside
 * its write. (ours)
 */
export const MUTATION_PREPARATIONS_MAX = 8;
/**
 * Cached results of query functions, with their keys and read sets: all of a tenant, and one. Beyond: the least
 * recently used are evicted; a larger one is not cached. (ours)
 */
export const RESULTS_BYTES_MAX = 16 * MIB;
export const RESULT_CACHED_BYTES_MAX = 1 * MIB;
/** Key ranges in the read set of a cached result. Beyond: it is not cached, because each range is watched. (ours) */
export const RESULT_INTERVALS_MAX = 256;
/**
 * Documents written during queries that their results are compared with, and comparisons per result. Beyond: it is not
 * cached. (ours)
 */
export const RECENT_CHANGES_MAX = 1_000;
export const RECENT_COMPARISONS_MAX = 10_000;
/**
 * Delay after opening a tenant with functions before it loads its function platform; the request that woke it goes
 * first. (ours)
 */
export const FUNCTIONS_WARM_DELAY_MS = 20;
/**
 * Jobs scheduled by one mutation, and the arguments of one and of all of them. Beyond: the call fails. (reference 3.8,
 * 4)
 */
export const SCHEDULED_JOBS_PER_MUTATION_MAX = 1_000;
export const SCHEDULED_ARGUMENTS_BYTES_MAX = 16 * MIB;

/* Functions: actions */

/**
 * How long the head of a response waits for the first chunk of its body. A failure of the body until then is a 500 with
 * its reason. (ours)
 */
export const HTTP_ACTION_HEAD_HELD_MS = 5_000;
/** The same for an event stream, whose reader waits for the head. (ours) */
export const EVENT_STREAM_HEAD_HELD_MS = 100;

/* Functions: outgoing connections, and tokens */

/** A bearer token. HEADERS_BYTES_MAX is the lower limit over HTTP. Beyond: 401. (ours) */
export const TOKEN_CHARS_MAX = 16 * KIB;
/** A key id in a token. Beyond: 401. (ours) */
export const TOKEN_KEY_ID_CHARS_MAX = 256;
/** An identity as JSON: flattened claims repeat the names above them. Beyond: 401. (ours) */
export const IDENTITY_CHARS_MAX = 64 * KIB;
/** Clock difference that is tolerated for a token's times. (reference 7.1) */
export const TOKEN_CLOCK_TOLERANCE_MS = 5_000;
/** Verified tokens that a tenant caches, and for how long: a withdrawn key is not trusted for longer. (ours) */
export const TOKENS_VERIFIED_KEEP = 1_024;
export const TOKENS_VERIFIED_KEEP_MS = 10 * 60 * 1000;
/**
 * A provider's metadata or key set, in bytes, and its number of keys. Beyond: every token of that provider is a 401.
 * (ours)
 */
export const AUTH_DOCUMENT_BYTES_MAX = 256 * KIB;
export const AUTH_KEYS_MAX = 128;
/** Timeout of each fetch from a provider. (ours) */
export const AUTH_FETCH_TIMEOUT_MS = 5_000;
/** Age at which keys are fetched again, and, if that fails, up to which the old ones stay in use. (ours) */
export const AUTH_KEYS_FRESH_MS = 10 * 60 * 1000;
export const AUTH_KEYS_STALE_MS_MAX = 60 * 60 * 1000;
/** Pause between two fetches of a provider's keys, after a failure or for a token with an unknown key id. (ours) */
export const AUTH_REFETCH_PAUSE_MS = 10_000;

/* Functions: the HTTP edge */

/**
 * Concurrent HTTP action requests of a tenant whose bodies are still arriving, half of ACTIONS_MAX. Beyond: 503
 * session.overloaded. (ours)
 */
export const HTTP_UPLOADS_MAX = 64;

/* Deployments */

/** Newest deployments kept for rollback; the active one is always kept. (ours) */
export const DEPLOYMENTS_KEEP = 20;
/** Deploys of a tenant that wait for the one under way. Beyond: 503 session.overloaded. (ours) */
export const DEPLOYS_WAITING_MAX = 4;
/** Characters of a deployment's code stored by one write; at least one file. (ours) */
export const DEPLOYMENT_SLICE_CHARS = 256 * KIB;

/* Batches, caches and pauses that no client sees */

/**
 * Settled mutation outcomes of clients deleted with each new one: a long queue that is settled at once blocks no other
 * write. (ours)
 */
export const CLIENT_MUTATIONS_SETTLED_AT_ONCE = 64;
