/** Limits of the egress process, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const KIB = 1024;

/* Functions: outgoing connections, and tokens */

/** Addresses of one name that are looked at; the others are not tried. (ours) */
export const EGRESS_ADDRESSES_MAX = 16;
/**
 * Connections of one tenant's code at once, those that are being made included, and of all tenants. Each takes two descriptors
 * of the egress process. A tenant has no more than are free. Beyond: the connection fails. (ours)
 */
export const EGRESS_CONNECTIONS_PER_TENANT_MAX = 1_024;
export const EGRESS_CONNECTIONS_MAX = 8_192;
/** Names that are looked up at once, of one tenant and of all, each with a socket. Beyond: they wait, and the tenant with the fewest is next. (ours) */
export const EGRESS_LOOKUPS_PER_TENANT_MAX = 8;
export const EGRESS_LOOKUPS_MAX = 512;
/** Names of one tenant that wait for that. Beyond: the look-up fails with EMFILE. (ours) */
export const EGRESS_LOOKUPS_WAITING_MAX = 256;
/** How long a name server may take, how often one is asked, and how long a look-up may take in all. Beyond: EAI_AGAIN. (ours) */
export const EGRESS_LOOKUP_TIMEOUT_MS = 2_000;
export const EGRESS_LOOKUP_TRIES = 2;
export const EGRESS_LOOKUP_MS_MAX = 8_000;
/** Names of one tenant whose failure is remembered, and for how long. (ours) */
export const EGRESS_LOOKUP_FAILURES_KEPT = 256;
export const EGRESS_LOOKUP_FAILURE_MS = 2_000;
/** Addresses of the machine's own interfaces are read at most this often. (ours) */
export const EGRESS_OWN_ADDRESSES_LOOK_MS = 1_000;
/** Search domains of resolv.conf that are tried. (as the C library of old) */
export const EGRESS_SEARCH_DOMAINS_MAX = 6;
/** /etc/hosts and /etc/resolv.conf are checked for changes at most this often. (ours) */
export const EGRESS_SYSTEM_FILE_LOOK_MS = 1_000;
/** Threads and processes of one tenant that have a link to the egress process. Beyond: they find nobody there. (ours) */
export const EGRESS_LINKS_PER_TENANT_MAX = 256;
/** What one tenant may ask of the egress process, in a second and at once. Beyond: its questions wait. (ours) */
export const EGRESS_QUESTIONS_PER_SECOND_MAX = 1_000;
/** One question, or answer, and how long a new link may take to show its secret. Beyond: the link is ended. (ours) */
export const EGRESS_LINE_BYTES_MAX = 4 * KIB;
export const EGRESS_HELLO_MS_MAX = 5_000;
/** Neither direction of a connection has had a byte for so long. Beyond: it breaks off. (ours) */
export const EGRESS_IDLE_MS_MAX = 60 * 60 * 1000;
/** What is under way in one direction of a connection, in the memory of the egress process. Beyond: the sender waits. (ours) */
export const EGRESS_WINDOW_BYTES = 64 * KIB;
/** A door that cannot be opened is tried again after this long. (ours) */
export const EGRESS_DOOR_AGAIN_MS = 1_000;
