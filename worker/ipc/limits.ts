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
/** Wait for a router that counts the subscriptions of a live query. Beyond: it counts as one subscription. (ours) */
export const SUBSCRIPTIONS_WAIT_MS = 1_000;
