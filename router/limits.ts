/**
 * Limits of the router. Names contain the unit; each comment says why that number and what happens beyond it.
 * docs/limits.md is generated from these comments.
 */
import {RESULT_BYTES_MAX} from '../shared/limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** All request headers together; a signed token can be several KiB. Beyond: uWebSockets.js answers 431. (design) */
export const HEADERS_BYTES_MAX = 16 * KIB;
/**
 * How often a connection with a complete, unanswered body is kept from timing out: less than half of the time-out in
 * uWebSockets.js. (ours)
 */
export const UPLOAD_AWAKE_MS = 4_000;
/**
 * Remaining lifetime that a key can have if a page sends it as subprotocol of /ws. Beyond: 403 auth.forbidden. (ours)
 */
export const PAGE_KEY_LIFE_MS_MAX = 24 * 3_600_000;
/** Trusted proxies that a request can have passed. Beyond: the proxy before them counts as the caller. (ours) */
export const FORWARDED_HOPS_MAX = 32;
/**
 * Parsed lists of proxies that a router caches, per header, and the characters of one list. Beyond: lists are parsed
 * again. (ours)
 */
export const FORWARDED_LISTS_KEPT = 1_024;
export const FORWARDED_KEPT_CHARS_MAX = 256;
/**
 * Rest of a request's body that is read and dropped after the answer, so that the client can read the answer before its
 * connection closes: bytes, and time. Beyond: the connection closes, and the client may see a reset. (ours)
 */
export const DROPPED_BODY_BYTES_MAX = 64 * MIB;
export const DROPPED_BODY_MS = 5_000;
/**
 * Wrong admin credentials: burst per address, time in which one of them expires, and addresses that are remembered.
 * Beyond: 429 op.rate_limited after this delay, unless that many answers are delayed already. Correct credentials are
 * always served. (ours)
 */
export const AUTH_FAILURES_AT_ONCE = 200;
export const AUTH_FAILURE_EARNED_MS = 1_000;
export const AUTH_FAILURE_ADDRESSES_MAX = 10_000;
export const AUTH_FAILURE_DELAY_MS = 1_000;
export const AUTH_FAILURES_DELAYED_MAX = 1_000;
/** How often a router checks for expired keys, and how often it reports which keys were used. (ours) */
export const KEY_POLL_MS = 1_000;
export const KEY_USES_REPORT_MS = 2_000;
/** Names and ids of an action's subject are cut to this length in the audit record. (ours) */
export const AUDIT_SUBJECT_CHARS_MAX = 256;
/**
 * Refusals (401, 403): similar ones within this window are counted after the first, windows are checked this often, and
 * a router tracks this many groups of keys and as many of other clients. Beyond: they are counted in a metric. (ours)
 */
export const REFUSAL_WINDOW_MS = 60_000;
export const REFUSAL_POLL_MS = 5_000;
export const REFUSAL_GROUPS_MAX = 500;
/**
 * Replies of this size and above are handed to the kernel as it takes them instead of being copied into a send buffer.
 * (ours)
 */
export const LARGE_REPLY_BYTES = 128 * KIB;
/** Large replies buffered for slow clients, in total. Beyond: the next one gets 503 session.overloaded. (ours) */
export const UNSENT_REPLY_BYTES_MAX = 512 * MIB;

/* Placement */

/**
 * Requests that wait for one waking tenant: number, and bytes of their bodies. Beyond: 503 session.overloaded. (ours)
 */
export const WAITING_REQUESTS_MAX = 1024;
export const WAITING_BYTES_MAX = 32 * MIB;
/** Requests of one tenant that were sent to its worker and are unanswered. Beyond: 503 session.overloaded. (ours) */
export const IN_FLIGHT_REQUESTS_MAX = 4096;
/** Bytes that the router buffers for one worker that reads slowly. Beyond: 503 session.overloaded. (ours) */
export const LINK_BUFFER_BYTES_MAX = 64 * MIB;
/**
 * Body bytes of the requests in flight to one worker, counting one window for each streamed body. Beyond: 503
 * session.overloaded. (ours)
 */
export const IN_FLIGHT_BYTES_MAX = 128 * MIB;
/**
 * Bytes of requests that the router buffers itself, for one tenant and in total. Beyond: 503 session.overloaded. (ours)
 */
export const TENANT_RESERVED_BYTES_MAX = 128 * MIB;
export const ROUTER_RESERVED_BYTES_MAX = 1024 * MIB;
/** Per-tenant share of the total above that is always available, unless hundreds of tenants compete. (ours) */
export const TENANT_SHARE_BYTES = 1 * MIB;
/**
 * A scan whose worker crashed is sent once more unless it had run for longer than this, because then it may be the
 * cause. (ours)
 */
export const READ_AGAIN_MS_MAX = 2_000;
/**
 * How long a request waits for its tenant to wake. Long, because an overloaded machine is slow. Beyond: 503
 * session.worker_unavailable. (ours)
 */
export const WAKE_TIMEOUT_MS = 30_000;
/** Pause before a worker is requested again after a failed connection. (ours) */
export const WAKE_RETRY_MS = 50;
/** How often the router reports which tenants had traffic, and checks for requests that waited too long. (ours) */
export const ACTIVITY_INTERVAL_MS = 1_000;
/** How often the router reports the requests and open sockets of tenants. (ours) */
export const TRAFFIC_INTERVAL_MS = 5_000;
/**
 * Bodies of calls up to this size are parsed for the function's name when their worker crashed; of longer ones only the
 * beginning is read. (ours)
 */
export const CALL_BODY_BYTES_READ = 64 * KIB;

/* Routers of other hosts */

/** First message of a connection to the peer port: a tenant's name and a few numbers. Beyond: the connection ends. (ours) */
export const PEER_HELLO_BYTES_MAX = 4 * KIB;
/**
 * Time for the TLS handshake, and then for that message; the same time for a connection to another host. Beyond: the
 * connection ends, and what needs it tries again. (ours)
 */
export const PEER_HELLO_MS = 5_000;
/** Connections to the peer port that have not sent that message. Beyond: further ones are closed. (ours) */
export const PEER_HELLOS_MAX = 256;
/** Routers of other hosts that are connected: 64 hosts with 16 routers each. Beyond: 503 session.overloaded. (ours) */
export const PEER_CHANNELS_MAX = 1_024;
/**
 * Links of routers of other hosts to workers of this one, and those that wait for a worker. Beyond: 503
 * session.overloaded. (ours)
 */
export const PEER_LINKS_MAX = 16_384;
/** A message between two routers after the first one. Beyond: their connections end. (ours) */
export const PEER_MESSAGE_BYTES_MAX = 1 * MIB;
/** Messages that a router of another host has not taken. Beyond: its connections end. (ours) */
export const PEER_UNSENT_BYTES_MAX = 4 * MIB;
/** Bytes that a link buffers in each direction, for a reader that is slower. Beyond: it stops reading. (ours) */
export const PEER_LINK_BUFFER_BYTES_MAX = 256 * KIB;
/**
 * Routers of two hosts send each other a sign this often. One that is silent for so many intervals is cut off: its
 * host is gone, or it does not run. The lease of a host lasts six. (design)
 */
export const PEER_SIGN_MS = 1_000;
export const PEER_SILENT_SIGNS = 5;
/** Connections to a host without a link are closed after so many of these intervals. (ours) */
export const PEER_IDLE_SIGNS = 60;
/**
 * Wait for the calls that routers of other hosts had under way when a worker ended: less than the supervisor waits for
 * this router. Beyond: the crash is attributed without them. And the bytes of the calls that such a report has; further
 * ones are left out. (ours)
 */
export const PEER_REPORT_MS = 500;
export const PEER_REPORT_BYTES_MAX = 512 * KIB;
/** Pause before a worker of another host is requested again after its host could not be reached. (ours) */
export const PEER_RETRY_MS = 250;
/* Cached answers */

/**
 * Documents and results of query functions that a router answers without their workers, of all tenants, and the longest
 * answer. Beyond: the oldest that were not read again are removed; longer ones are not cached. (ours)
 */
export const CACHED_ANSWERS_BYTES_MAX = 64 * MIB;
export const CACHED_ANSWER_BYTES_MAX = 64 * KIB;
/** Memory of a cached answer in addition to its bytes. (ours) */
export const CACHED_ANSWER_OVERHEAD_BYTES = 768;
/** Longest path of a cached document that is remembered. Beyond: its parts are found at each read. (ours) */
export const CACHED_PATH_CHARS_MAX = 256;
/**
 * Longest call of a query function that is cached: its body, and the `Origin` of its page. Beyond: the worker answers.
 * (ours)
 */
export const CACHED_CALL_CHARS_MAX = 4 * KIB;
/**
 * Calls that a router answered are reported to their worker after so long, or when the report has so many characters.
 * They are not reported while the worker leaves more unread than a link buffers. (ours)
 */
export const CALLS_REPORT_MS = 100;
export const CALLS_REPORT_CHARS = 16 * KIB;
/** Reads that a router remembers: what is read again meanwhile is cached. (ours) */
export const READS_REMEMBERED = 65_536;
/**
 * Before the lease of a cache ends, a read goes to the worker to begin a new one: so long before, and again after this
 * time without an answer. (ours)
 */
export const CACHE_RENEWAL_MS = 400;
export const CACHE_RENEWAL_RETRY_MS = 50;

/* Live queries */

/** A client's frame on /ws. Beyond: error op.too_large; the connection stays. (design) */
export const SOCKET_FRAME_BYTES_MAX = 64 * KIB;
/**
 * A client's frame that is not read at all: uWebSockets.js drops the connection without a close frame (1006). (ours)
 */
export const SOCKET_FRAME_BYTES_READ = 1 * MIB;
/**
 * Frames that a client can send, per second on average and in one burst. Beyond: error op.rate_limited, the frame is
 * dropped. (ours)
 */
export const SOCKET_FRAMES_PER_SECOND = 500;
export const SOCKET_FRAMES_AT_ONCE = 8_192;
/** Live subscriptions of one connection. Beyond: op.failed with op.rate_limited. (design) */
export const SUBSCRIPTIONS_PER_SOCKET_MAX = 4_096;
/**
 * Open sockets of one router, and the same number of function sockets. Beyond: 503 session.overloaded; for a function
 * socket, if the tenant has its share. (ours)
 */
export const SOCKETS_MAX = 100_000;
/** Bytes buffered for a socket beyond which it gets only the newest snapshots, once it has caught up. (ours) */
export const SOCKET_SLOW_BYTES = 256 * KIB;
/**
 * Bytes buffered beyond which a socket is dropped (1006; it reads no close frame): one snapshot and the design's 4 MiB.
 * (design)
 */
export const SOCKET_BUFFERED_BYTES_MAX = RESULT_BYTES_MAX + 4 * MIB;
/**
 * A socket that sends nothing for this long, including pings, is dead. In seconds, as uWebSockets.js expects. (ours)
 */
export const SOCKET_IDLE_SECONDS = 60;

/* The function socket */

/** A client's message on the function socket. Beyond: fatal_error op.too_large. (design) */
export const FUNCTION_SOCKET_MESSAGE_BYTES_MAX = 8 * MIB;
/**
 * A client's message on the function socket that is not read at all: uWebSockets.js drops the connection without a
 * close frame (1006). (ours)
 */
export const FUNCTION_SOCKET_MESSAGE_BYTES_READ = 16 * MIB;
/**
 * Messages of one socket that its worker, which may be waking, has not handled. Beyond: close 1013 session.overloaded.
 * (ours)
 */
export const FUNCTION_SOCKET_UNHANDLED_BYTES_MAX = 20 * MIB;
/**
 * The same for all sockets of a tenant. Beyond: a socket that sends more and has more than an equal share is closed,
 * 1013 session.overloaded. (ours)
 */
export const FUNCTION_SOCKETS_UNHANDLED_BYTES_MAX = 64 * MIB;
/** Messages of one socket that wait while its worker wakes. Beyond: close 1013 session.overloaded. (ours) */
export const SOCKET_MESSAGES_WAITING_MAX = 4_096;
/** Memory that a waiting message costs its router in addition to its bytes. (ours) */
export const MESSAGE_OVERHEAD_BYTES = 256;
/**
 * Bytes buffered for all sockets together. Beyond: a socket that is sent more and has more than an equal share is
 * dropped (1006). (ours)
 */
export const SOCKETS_BUFFERED_BYTES_MAX = 1024 * MIB;
/**
 * A socket that was sent nothing for this long is sent a `ping`, and how often sockets are checked for that. (reference
 * 9.8)
 */
export const FUNCTION_SOCKET_PING_MS = 15_000;
export const FUNCTION_SOCKET_POLL_MS = 1_000;

/* Functions: the HTTP edge */

/**
 * Bodies of known length up to this size are sent to a worker whole, longer ones in chunks while they arrive. (ours)
 */
export const WHOLE_UPLOAD_BYTES_MAX = 64 * KIB;

/* The dashboard */

/** Time in which the address of a download can be opened: a page opens it at once. (ours) */
export const DOWNLOAD_TICKET_MS = 60_000;
/** Used addresses that a router remembers, for that time. Beyond: 429 op.rate_limited. (ours) */
export const DOWNLOAD_TICKETS_USED_MAX = 1_000;

/** Bytes of such a file after which the disk is checked again. (ours) */
export const INCOMING_CHECK_BYTES = 16 * 1024 * 1024;
