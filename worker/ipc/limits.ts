/** Limits of the link to the routers, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const MIB = 1024 * 1024;
/** Bootstraps of one tenant under way: each holds a snapshot and some documents. Beyond: 503 session.overloaded. (ours) */
export const BOOTSTRAPS_MAX = 16;
/** Replies a worker holds for a router that reads slowly before it stops reading requests. (ours) */
export const WORKER_OUTPUT_BYTES_MAX = 32 * MIB;
