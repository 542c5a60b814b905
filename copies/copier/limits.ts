/**
 * Limits of the copier, with their units in their names: the reason for each number, and what happens beyond it.
 * docs/limits.md is made of them.
 */

const MIB = 1024 * 1024;

/**
 * Page sets of one tenant that are merged into one segment, before the merge. Beyond: the rest goes into the next pack.
 * (ours)
 */
export const TENANT_TURN_BYTES = 8 * MIB;
/** Segments of one round, of all tenants. Beyond: the next round begins at once, with the other tenants. (ours) */
export const ROUND_BYTES = 24 * MIB;
/** Tenants that are looked at without a pause for other work of the process. (ours) */
export const LOOKS_AT_ONCE = 64;
/** Pause after a store has failed; doubled up to the maximum. (ours) */
export const FAILURE_PAUSE_MS_MIN = 1_000;
export const FAILURE_PAUSE_MS_MAX = 30_000;
/** A repository to which nothing was written for this long is read, to see whether it can be reached. (ours) */
export const CHECK_MS = 15_000;
/** The heartbeat URL is requested this often at most, and has this long to answer. Beyond: it failed. (ours) */
export const HEARTBEAT_URL_MS_MIN = 60_000;
export const HEARTBEAT_URL_MS_MAX = 10_000;
/** Tenants that the answer of an incomplete run names. Beyond: they are only counted. (ours) */
export const MISSING_NAMED_MAX = 20;
/** Requests to copy everything now that wait at the same time. Beyond: 503. (ours) */
export const RUNS_MAX = 16;
/** The interval of rounds while such a request waits, if --backup-every is longer. (ours) */
export const RUN_EVERY_MS = 50;

/** Heap of the thread that restores a tenant: the lists of its copies. Beyond: that restore fails. (ours) */
export const RESTORE_THREAD_MIB = 1_024;
/** After a compaction has failed, the next one begins this much later. (ours) */
export const IDLE_FAILURE_PAUSE_MS = 600_000;
/** Packages of a tenant that are stored in one round. Beyond: with its next change of packages. (ours) */
export const PACKAGES_LISTED_MAX = 1_000;
