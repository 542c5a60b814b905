/**
 * Limits of the egress process. Names contain the unit; each comment says why that number and what happens beyond it.
 * docs/limits.md is generated from these comments.
 */

const KIB = 1024;

/* Functions: outgoing connections, and tokens */

/** Addresses of one name that are checked and tried; further ones are ignored. (ours) */
export const EGRESS_ADDRESSES_MAX = 16;
/**
 * Simultaneous connections of one tenant's code, including those being established, and of all tenants. Each takes two
 * descriptors of the egress process. A tenant can have at most as many as are still free. Beyond: the connection fails.
 * (ours)
 */
export const EGRESS_CONNECTIONS_PER_TENANT_MAX = 1_024;
export const EGRESS_CONNECTIONS_MAX = 8_192;
/**
 * Simultaneous name look-ups of one tenant and of all tenants, each with a socket. Beyond: they wait, and the tenant
 * with the fewest under way is next. (ours)
 */
export const EGRESS_LOOKUPS_PER_TENANT_MAX = 8;
export const EGRESS_LOOKUPS_MAX = 512;
/** Look-ups of one tenant that wait for that. Beyond: the look-up fails with EMFILE. (ours) */
export const EGRESS_LOOKUPS_WAITING_MAX = 256;
/** Time-out of one name server, tries per server, and time-out of a whole look-up. Beyond: EAI_AGAIN. (ours) */
export const EGRESS_LOOKUP_TIMEOUT_MS = 2_000;
export const EGRESS_LOOKUP_TRIES = 2;
export const EGRESS_LOOKUP_MS_MAX = 8_000;
/** Failed look-ups of one tenant that are cached, and for how long. (ours) */
export const EGRESS_LOOKUP_FAILURES_KEPT = 256;
export const EGRESS_LOOKUP_FAILURE_MS = 2_000;
/** Addresses of the machine's own interfaces are read at most this often. (ours) */
export const EGRESS_OWN_ADDRESSES_POLL_MS = 1_000;
/** Search domains of resolv.conf that are tried. (as older versions of the C library) */
export const EGRESS_SEARCH_DOMAINS_MAX = 6;
/** /etc/hosts and /etc/resolv.conf are checked for changes at most this often. (ours) */
export const EGRESS_SYSTEM_FILE_POLL_MS = 1_000;
/**
 * Threads and processes of one tenant that are connected to the egress process. Beyond: further connections are
 * refused. (ours)
 */
export const EGRESS_LINKS_PER_TENANT_MAX = 256;
/** Requests of one tenant to the egress process, per second and in one burst. Beyond: they wait. (ours) */
export const EGRESS_QUESTIONS_PER_SECOND_MAX = 1_000;
/**
 * Length of one request or answer, and how long a new egress client can take to send its secret. Beyond: it is
 * disconnected. (ours)
 */
export const EGRESS_LINE_BYTES_MAX = 4 * KIB;
export const EGRESS_HELLO_MS_MAX = 5_000;
/** A connection that transfers no byte in either direction for this long is closed. (ours) */
export const EGRESS_IDLE_MS_MAX = 60 * 60 * 1000;
/** Bytes buffered in the egress process for one direction of a connection. Beyond: the sender waits. (ours) */
export const EGRESS_WINDOW_BYTES = 64 * KIB;
/** Pause before the egress process tries again to open a proxy endpoint. (ours) */
export const EGRESS_ENDPOINT_RETRY_MS = 1_000;
