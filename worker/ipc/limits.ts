/**
 * Limits of the router connections, with units in their names, reasons, and the effect of exceeding them.
 * docs/limits.md is generated from this file.
 */

const MIB = 1024 * 1024;
/**
 * Concurrent bootstraps of one tenant, each of which holds a snapshot and some documents. Beyond: 503
 * session.overloaded. (ours)
 */
export const BOOTSTRAPS_MAX = 16;
/** Replies buffered for a router that reads slowly. Beyond: the worker stops reading requests. (ours) */
export const WORKER_OUTPUT_BYTES_MAX = 32 * MIB;
/**
 * The same for one router, of this host or another, whatever their number: more than a socket takes before it says that
 * it has too much. (ours)
 */
export const WORKER_LINK_OUTPUT_BYTES_MIN = 256 * 1024;
/** Wait for a router that counts the subscriptions of a live query. Beyond: it counts as one subscription. (ours) */
export const SUBSCRIPTIONS_WAIT_MS = 1_000;
/** Requests of a host without its lease wait so long for it. Beyond: 503 session.worker_unavailable. (design) */
export const LEASE_WAIT_MS = 2_000;
/** Requests and bytes that wait for the lease, of all routers. Beyond: 503 session.overloaded at once. (ours) */
export const LEASE_WAITING_MAX = 10_000;
export const LEASE_WAITING_BYTES_MAX = 64 * MIB;
/**
 * Documents that the cache of one router may have, of this tenant. Beyond: all of them are dropped, and those that are
 * read again are cached again. (ours)
 */
export const CACHED_DOCUMENTS_MAX = 20_000;
/**
 * Comparisons of changes of a commit that is not visible yet with ranges that a result read. Beyond: routers may not
 * cache the result at that moment. (ours)
 */
export const PENDING_COMPARISONS_MAX = 10_000;
