/** Limits of the router, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */
import {RESULT_BYTES_MAX} from '../shared/limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/* HTTP edge */

/** All request headers together; a signed token can be several KiB. Beyond: uWebSockets.js answers 431. (design) */
export const HEADERS_BYTES_MAX = 16 * KIB;
/** How often a connection whose body is whole and not answered yet is kept from being idle: below half of what uWebSockets.js allows. (ours) */
export const UPLOAD_AWAKE_MS = 4_000;
/** How long a key may still be valid that a page sends as subprotocol of /ws. Beyond: 403 auth.forbidden. (ours) */
export const PAGE_KEY_LIFE_MS_MAX = 24 * 3_600_000;
/** Trusted proxies that a request may have come through. Beyond: the one before them counts as the caller. (ours) */
export const FORWARDED_HOPS_MAX = 32;
/** Lists of them of which a router knows whom they name, of each header, and the length of one: others are read again. (ours) */
export const FORWARDED_LISTS_KEPT = 1_024;
export const FORWARDED_KEPT_CHARS_MAX = 256;
/**
 * What is read and dropped of a request's body after its answer, so that the client can read the answer before its connection
 * closes: by bytes, and for how long. Beyond: it closes, and the client may find it reset. (ours)
 */
export const DROPPED_BODY_BYTES_MAX = 64 * MIB;
export const DROPPED_BODY_MS = 5_000;
/**
 * Wrong admin credentials: how many an address may show at once, how long one of them counts, and how many addresses are
 * remembered. Beyond: 429 op.rate_limited, this much later unless so many wait already. Right ones are always served. (ours)
 */
export const AUTH_FAILURES_AT_ONCE = 200;
export const AUTH_FAILURE_EARNED_MS = 1_000;
export const AUTH_FAILURE_ADDRESSES_MAX = 10_000;
export const AUTH_FAILURE_DELAY_MS = 1_000;
export const AUTH_FAILURES_DELAYED_MAX = 1_000;
/** How often routers look for keys that expired, and tell which were used; how often that is written. (ours) */
export const KEY_LOOK_MS = 1_000;
export const KEY_USES_REPORT_MS = 2_000;
/** A name or id of what an action is done to is cut to this in its record. (ours) */
export const AUDIT_SUBJECT_CHARS_MAX = 256;
/**
 * Refusals (401, 403): how long those that are alike are only counted after the first, how many kinds a router knows at once of keys and
 * as many of others, and how many records a minute and in all are kept of each. Beyond: they are counted in a metric. (ours)
 */
export const REFUSAL_WINDOW_MS = 60_000;
export const REFUSAL_LOOK_MS = 5_000;
export const REFUSAL_GROUPS_MAX = 500;
/** Replies from this size on are handed to the kernel as it takes them instead of being copied into a send buffer. (ours) */
export const LARGE_REPLY_BYTES = 128 * KIB;
/** Large replies kept for clients that read slowly, all together. Beyond: the next one is 503 session.overloaded. (ours) */
export const UNSENT_REPLY_BYTES_MAX = 512 * MIB;

/* Placement */

/** Requests that wait for one waking tenant, by count and by body bytes. Beyond: 503 session.overloaded. (ours) */
export const WAITING_REQUESTS_MAX = 1024;
export const WAITING_BYTES_MAX = 32 * MIB;
/** Requests of one tenant sent to its worker and not answered. Beyond: 503 session.overloaded. (ours) */
export const IN_FLIGHT_REQUESTS_MAX = 4096;
/** Bytes the router holds for one worker that reads slowly. Beyond: 503 session.overloaded. (ours) */
export const LINK_BUFFER_BYTES_MAX = 64 * MIB;
/** Bytes of their bodies, with a window for each that is sent in pieces. Beyond: 503 session.overloaded. (ours) */
export const IN_FLIGHT_BYTES_MAX = 128 * MIB;
/** Bytes of requests that the router holds itself, for one tenant and for all together. Beyond: 503 session.overloaded. (ours) */
export const TENANT_HELD_BYTES_MAX = 128 * MIB;
export const ROUTER_HELD_BYTES_MAX = 1024 * MIB;
/** Of it, what each tenant finds free however much others hold, as long as they are not hundreds. (ours) */
export const TENANT_SHARE_BYTES = 1 * MIB;
/** A scan whose worker died is sent once more unless it had been under way for longer: then it may be the reason. (ours) */
export const READ_AGAIN_MS_MAX = 2_000;
/** How long a request waits for its tenant to wake: a machine with too much to do is slow. Beyond: 503 session.worker_unavailable. (ours) */
export const WAKE_TIMEOUT_MS = 30_000;
/** Pause before a worker that could not be connected to is asked for again. (ours) */
export const WAKE_RETRY_MS = 50;
/** How often the router reports which tenants had traffic, and looks for requests that waited too long. (ours) */
export const ACTIVITY_INTERVAL_MS = 1_000;
/** Bodies of calls up to this are parsed for the function's name when their worker ended; of longer ones the beginning is looked at. (ours) */
export const CALL_BODY_BYTES_READ = 64 * KIB;

/* Live queries */

/** A client's frame on /ws. Beyond: error op.too_large; the connection stays. (design) */
export const SOCKET_FRAME_BYTES_MAX = 64 * KIB;
/** A client's frame that is not even read: uWebSockets.js drops the connection without a close frame (1006). (ours) */
export const SOCKET_FRAME_BYTES_READ = 1 * MIB;
/** Frames a client may send a second, on average and at once. Beyond: error op.rate_limited, the frame is dropped. (ours) */
export const SOCKET_FRAMES_PER_SECOND = 500;
export const SOCKET_FRAMES_AT_ONCE = 8_192;
/** Live subscriptions of one connection. Beyond: op.failed with op.rate_limited. (design) */
export const SUBSCRIPTIONS_PER_SOCKET_MAX = 4_096;
/** Open sockets of one router, and as many function sockets. Beyond: 503 session.overloaded, for a function socket of a tenant that has its share. (ours) */
export const SOCKETS_MAX = 100_000;
/** Bytes a socket may owe its reader before it gets only the newest snapshots, once it has caught up. (ours) */
export const SOCKET_SLOW_BYTES = 256 * KIB;
/** Bytes owed beyond which a socket is dropped (1006; it reads no close frame): one snapshot and the design's 4 MiB. (design) */
export const SOCKET_OWED_BYTES_MAX = RESULT_BYTES_MAX + 4 * MIB;
/** A socket that is silent for this long, pings included, is dead. Seconds, as uWebSockets.js wants it. (ours) */
export const SOCKET_IDLE_SECONDS = 60;

/* The function socket */

/** A client's message on the function socket. Beyond: fatal_error op.too_large. (design) */
export const FUNCTION_SOCKET_MESSAGE_BYTES_MAX = 8 * MIB;
/** … that is not even read: uWebSockets.js drops the connection without a close frame (1006). (ours) */
export const FUNCTION_SOCKET_MESSAGE_BYTES_READ = 16 * MIB;
/** Messages of one socket that its worker has not handled, which may be waking: close 1013 session.overloaded. (ours) */
export const FUNCTION_SOCKET_UNHANDLED_BYTES_MAX = 20 * MIB;
/** … and of all sockets of a tenant: who says more and has more than an equal share of it is closed, 1013 session.overloaded. (ours) */
export const FUNCTION_SOCKETS_UNHANDLED_BYTES_MAX = 64 * MIB;
/** Messages of one socket that wait while its worker wakes. Beyond: close 1013 session.overloaded. (ours) */
export const SOCKET_MESSAGES_WAITING_MAX = 4_096;
/** What a message that waits costs its router beside its bytes. (ours) */
export const MESSAGE_OVERHEAD_BYTES = 256;
/** What all sockets are owed together. Beyond: who is sent more and owes more than an equal share is dropped (1006). (ours) */
export const SOCKETS_OWED_BYTES_MAX = 1024 * MIB;
/** A socket that has been sent nothing for so long is sent a `ping`; sockets are looked at so often. (reference 9.8) */
export const FUNCTION_SOCKET_PING_MS = 15_000;
export const FUNCTION_SOCKET_LOOK_MS = 1_000;

/* Functions: the HTTP edge */

/** Bodies of known length up to this size are sent to a worker whole, longer ones in pieces while they arrive. (ours) */
export const WHOLE_UPLOAD_BYTES_MAX = 64 * KIB;
