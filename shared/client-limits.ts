/**
 * The limits of clients, a part of `shared/limits.ts` (import them from there, elsewhere than in clients): apart, because a page's bundle
 * should not hold every limit of the service.
 */
const MIB = 1024 * 1024;

/** No frame from the server for so long: the client closes the socket and opens another. The server sends one every 15 s. (reference 9.8) */
export const CLIENT_SILENCE_MS = 60_000;
/** A socket that is not open after so long is given up. (ours) */
export const CLIENT_CONNECT_MS = 10_000;
/**
 * Waited before a new socket is opened, twice as long after each failure, and a half more or less by chance: after a close that was meant,
 * after one that was not, after one for overload; at most. (reference 9.8)
 */
export const CLIENT_BACK_OFF_CLEAN_MS = 100;
export const CLIENT_BACK_OFF_MS = 1_000;
export const CLIENT_BACK_OFF_OVERLOAD_MS = 3_000;
export const CLIENT_BACK_OFF_MS_MAX = 16_000;
/** A query that is asked for before it is shown is watched so long, unless the app says otherwise. (ours) */
export const CLIENT_PREWARM_MS = 5_000;
/** `close` waits so long for the server to close, too. (ours) */
export const CLIENT_CLOSE_MS = 1_000;
/** A new token is fetched so long before the old one ends, unless the app says otherwise, and after so long in any case: timers hold no longer. (reference 7.4) */
export const CLIENT_TOKEN_LEEWAY_MS = 10_000;
export const CLIENT_TOKEN_KEPT_MS_MAX = 20 * 24 * 3_600_000;
/** Fresh tokens that the server has refused one after the other. Beyond: the caller is nobody. (reference 7.4) */
export const CLIENT_TOKEN_CONFIRMATIONS_MAX = 2;
/** Attempts to fetch a fresh token in time that failed (an exception, as without a network). Beyond: the old one is used until it is refused. (ours) */
export const CLIENT_TOKEN_ATTEMPTS_MAX = 8;
/** Calls without an answer, those that wait for a connection included. Beyond: the next one fails. (ours) */
export const CLIENT_REQUESTS_MAX = 10_000;
/** Mutations, and actions, that are sent and not answered; and the characters of their arguments. Beyond: the next waits for an answer. Less than servers take. (ours) */
export const CLIENT_CALLS_UNDER_WAY_MAX = 256;
export const CLIENT_CALLS_UNDER_WAY_CHARS_MAX = 4 * MIB;
/** Watched queries, as many as a server takes of a socket. Beyond: the result of each further one is an error until another one has gone. (ours) */
export const CLIENT_QUERIES_MAX = 4_096;
/** Changes of the set of watched queries in a frame; more come in the next. A third of the frame that a server takes, for bytes are more than characters. (ours) */
export const CLIENT_FRAME_CHARS = 2 * MIB;
/** Arguments of a call over the socket, encoded. Beyond: it fails before it is sent. Below the frame that a server takes. (ours) */
export const CLIENT_ARGS_BYTES_MAX = 8 * MIB - 64 * 1024;
/** Transitions that wait for the answers of mutations which were sent again. Beyond: they are shown before. (ours) */
export const CLIENT_HELD_TRANSITIONS_MAX = 100;
/** An attempt of a call of svc/client, unless the app says otherwise; further ones after failures that pass; the wait before the first of them. (ours) */
export const NATIVE_TIMEOUT_MS = 30_000;
export const NATIVE_RETRIES = 3;
export const NATIVE_RETRY_BASE_MS = 200;
/** The service asks for a longer wait: the call fails at once. (ours) */
export const NATIVE_RETRY_WAIT_MS_MAX = 10_000;
/** A stream of events says that it lives every 15 s; silent for so long it is asked for again. A third of it for a socket's hello. (ours) */
export const NATIVE_SILENCE_MS = 45_000;
/** The service does not take the key for a socket: live queries are streams of events so long before a socket is tried again. (ours) */
export const NATIVE_SOCKET_REFUSED_MS = 300_000;
/** Characters of a query over the socket, of at most 3 bytes, within the frame that a server takes. Beyond: a stream of events. (ours) */
export const NATIVE_SUBSCRIBE_CHARS_MAX = 20_000;
