/**
 * The limits of clients, a part of `shared/limits.ts`. Code outside clients imports them from there. They have their
 * own file so that a page's bundle does not contain every limit of the service.
 */
const MIB = 1024 * 1024;

/**
 * The client closes the socket and opens another after this long without a frame from the server, which sends one every
 * 15 s. (reference 9.8)
 */
export const CLIENT_SILENCE_MS = 60_000;
/** A socket that is not open after this long is abandoned. (ours) */
export const CLIENT_CONNECT_MS = 10_000;
/**
 * Wait before a new socket is opened, doubled after each failure, plus or minus up to half at random: after a clean
 * close; after an unclean close; after a close for overload; maximum. (reference 9.8)
 */
export const CLIENT_BACK_OFF_CLEAN_MS = 100;
export const CLIENT_BACK_OFF_MS = 1_000;
export const CLIENT_BACK_OFF_OVERLOAD_MS = 3_000;
export const CLIENT_BACK_OFF_MS_MAX = 16_000;
/** How long a prewarmed query stays subscribed before it is shown, unless the app sets another time. (ours) */
export const CLIENT_PREWARM_MS = 5_000;
/** `close` waits this long for the server to close, too. (ours) */
export const CLIENT_CLOSE_MS = 1_000;
/**
 * A new token is fetched this long before the old one expires, unless the app sets another time; and after this long in
 * any case, because timers cannot be longer. (reference 7.4)
 */
export const CLIENT_TOKEN_LEEWAY_MS = 10_000;
export const CLIENT_TOKEN_KEPT_MS_MAX = 20 * 24 * 3_600_000;
/** Fresh tokens refused by the server in a row. Beyond: the caller is anonymous. (reference 7.4) */
export const CLIENT_TOKEN_CONFIRMATIONS_MAX = 2;
/**
 * Failed attempts (exceptions, for example without a network) to fetch a fresh token ahead of time. Beyond: the old one
 * is used until it is refused. (ours)
 */
export const CLIENT_TOKEN_ATTEMPTS_MAX = 8;
/** Calls without an answer, including those that wait for a connection. Beyond: the next one fails. (ours) */
export const CLIENT_REQUESTS_MAX = 10_000;
/**
 * Mutations, and actions, sent but not answered; and the characters of their arguments. Beyond: the next one waits for
 * an answer. Less than servers accept. (ours)
 */
export const CLIENT_CALLS_UNDER_WAY_MAX = 256;
export const CLIENT_CALLS_UNDER_WAY_CHARS_MAX = 4 * MIB;
/**
 * Subscribed queries, as many as a server accepts per socket. Beyond: the result of each further one is an error until
 * another one is removed. (ours)
 */
export const CLIENT_QUERIES_MAX = 4_096;
/**
 * Changes of the set of subscribed queries in one frame; the rest follow in the next. A third of the frame that a
 * server accepts, because a character can be several bytes. (ours)
 */
export const CLIENT_FRAME_CHARS = 2 * MIB;
/**
 * Arguments of a call over the socket, encoded. Beyond: the call fails before it is sent. Smaller than the frame that a
 * server accepts. (ours)
 */
export const CLIENT_ARGS_BYTES_MAX = 8 * MIB - 64 * 1024;
/** Transitions that wait for the answers of resent mutations. Beyond: they are shown without waiting. (ours) */
export const CLIENT_HELD_TRANSITIONS_MAX = 100;
/**
 * One attempt of a svc/client call, unless the app sets another time; further attempts after temporary failures; the
 * wait before the first of them. (ours)
 */
export const NATIVE_TIMEOUT_MS = 30_000;
export const NATIVE_RETRIES = 3;
export const NATIVE_RETRY_BASE_MS = 200;
/** Longest wait that the service can request before a retry. Beyond: the call fails at once. (ours) */
export const NATIVE_RETRY_WAIT_MS_MAX = 10_000;
/**
 * An event stream sends a sign of life every 15 s; after this long without one it is requested again. A third of it
 * applies to a socket's hello. (ours)
 */
export const NATIVE_SILENCE_MS = 45_000;
/**
 * If the service does not accept the key for a socket, live queries use event streams for this long before a socket is
 * tried again. (ours)
 */
export const NATIVE_SOCKET_REFUSED_MS = 300_000;
/**
 * Characters of a query over the socket, of at most 3 bytes each, within the frame that a server accepts. Beyond: an
 * event stream is used. (ours)
 */
export const NATIVE_SUBSCRIBE_CHARS_MAX = 20_000;
