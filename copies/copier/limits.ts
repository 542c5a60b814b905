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
/**
 * The same for the pages of these sets, so that the result always fits a segment and takes a bounded time, however well
 * the sets are compressed. A single set with more is stored as it is. (ours)
 */
export const TENANT_TURN_RAW_BYTES = 15 * MIB;
/**
 * Segments of one round, of all tenants, and the pages that were merged for them. Beyond: the next round begins at once,
 * with the other tenants. (ours)
 */
export const ROUND_BYTES = 24 * MIB;
export const ROUND_RAW_BYTES = 128 * MIB;
/**
 * A base of this size is always stored. A larger one has at most the bytes of --tenant-storage-max, or twice those that
 * the tenant's file has on disk. Beyond: it is refused. (ours)
 */
export const BASE_BYTES_LEAST = 1_024 * MIB;
/** Tenants that are looked at without a pause for other work of the process. (ours) */
export const LOOKS_AT_ONCE = 64;
/** Pause after a store has failed; doubled up to the maximum. (ours) */
export const FAILURE_PAUSE_MS_MIN = 1_000;
export const FAILURE_PAUSE_MS_MAX = 30_000;
/** The same for the streamed files of one tenant, of which each attempt can take long. (ours) */
export const UPLOAD_PAUSE_MS_MAX = 600_000;
/**
 * A repository to which nothing was written for this long is read, to see whether it can be reached. A round that takes
 * longer counts as the age of the backup. (ours)
 */
export const CHECK_MS = 15_000;
/** A host of a cluster tries so often to get the lease that another host has. (ours) */
export const CLUSTER_LEASE_POLL_MS = 15_000;
/** How often data keys are tried again that were damaged or missing. (ours) */
export const KEYS_RETRY_MS = 30_000;
/** The heartbeat URL is requested this often at most, and has this long to answer. Beyond: it failed. (ours) */
export const HEARTBEAT_URL_MS_MIN = 60_000;
export const HEARTBEAT_URL_MS_MAX = 10_000;
/** Tenants that the answer of an incomplete run names, and the log line of an incomplete end. Beyond: they are only counted. (ours) */
export const MISSING_NAMED_MAX = 20;
/** Requests to copy everything now that wait at the same time. Beyond: 503. (ours) */
export const RUNS_MAX = 16;
/** The interval of rounds while such a request waits, if --backup-every is longer. (ours) */
export const RUN_EVERY_MS = 50;

/** Heap of the thread that restores a tenant: the lists of its copies. Beyond: that restore fails. (ours) */
export const RESTORE_THREAD_MIB = 1_024;
/** After a compaction has failed, the next one begins this much later. (ours) */
export const IDLE_FAILURE_PAUSE_MS = 600_000;
/**
 * Packages of a tenant that one round examines, and their bytes: those of one turn. Packages of all tenants have the
 * bytes of a round. Beyond: the next round goes on, with the packages of other tenants first. (ours)
 */
export const PACKAGES_TURN_MAX = 256;
/** Tenants whose packages are looked up in the repository in one round, once each. Beyond: in the next rounds. (ours) */
export const PACKAGE_READS_MAX = 8;
/**
 * Entries of a tenant's directory of packages, which has two per package, and packages of a tenant in the repository.
 * Beyond: no more of its packages are stored until they change, which is a fault of the tenant. (ours)
 */
export const PACKAGE_ENTRIES_MAX = 20_000;
export const PACKAGES_STORED_MAX = 20_000;
/** Names of lost packages of a tenant that are read. Beyond: the rest are not counted. (ours) */
export const LOST_BYTES_MAX = 1_048_576;
