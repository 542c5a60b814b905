/**
 * Limits of the command line. Names contain the unit; comments say why that number, and what happens beyond it.
 * docs/limits.md is generated from them.
 */

const MIB = 1024 * 1024;

/* HTTP edge */

/**
 * Rate limits that an operator can set: requests per second, and burst. Beyond: the value is refused as a typing
 * mistake. (ours)
 */
export const RATE_LIMIT_PER_SECOND_MIN = 0.001;
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000;
export const RATE_LIMIT_BURST_MAX = 10_000_000;

/* Placement */

/**
 * Routers that share the port. The other limits of routers apply to all of them together; each has its share. (ours)
 */
export const ROUTERS_MAX = 16;
/** Cores for each router with `--routers auto`: the others are for workers and the system. (design) */
export const CORES_PER_ROUTER = 4;

/* Commit pipeline */

/** Default storage quota of a tenant. Beyond: 507 session.storage_full for that tenant alone. (ours) */
export const TENANT_STORAGE_BYTES_DEFAULT = 10 * 1024 * MIB;

/* Journal */

/** Records kept by default. (ours) */
export const JOURNAL_KEEP_RECORDS_DEFAULT = 1_000_000;

/* Deployments */

/** How often a command polls the server for the progress of its deploy. (ours) */
export const DEPLOY_PROGRESS_MS = 500;
/** How often a command that waits for a task polls for its end. (ours) */
export const TASK_POLL_MS = 500;
/** Packages that a command uploads at once, and that it requests from npm at once. (ours) */
export const PACKAGE_UPLOADS_AT_ONCE = 4;
export const PACKAGES_PER_NPM = 50;

/* Command line */

/** Bytes that `svc import` reads from a file, and sends, at once. From a pipe it takes chunks as they arrive. (ours) */
export const IMPORT_REQUEST_BYTES = MIB;
/**
 * Attempts of one request of a command: with the pauses below, half a minute, as long as the cool-down of a failing
 * tenant. (ours)
 */
export const COMMAND_ATTEMPTS_MAX = 12;
/**
 * The pause after the first attempt and the longest one. Each is twice the previous one, or the time in `Retry-After`.
 * (ours)
 */
export const COMMAND_RETRY_MS = 100;
export const COMMAND_RETRY_MS_MAX = 5_000;
/** A request of a command without an answer for this long has failed. (ours) */
export const COMMAND_TIMEOUT_MS = 60_000;

/* Services */

/** Total `memory_mb` of a tenant's services that are to run. Beyond: 429 op.rate_limited. (ours) */
export const SERVICES_MEMORY_MB_MAX = 2_048;

/** Between two requests for counts of a long journal, and requests without progress after which it is left at that. (ours) */
export const COUNTS_PAUSE_MS = 50;
export const COUNTS_STALLED_MAX = 20;
/** What waits on disk for the repository, for each tenant, unless --copies-spool-max says otherwise. (design) */
export const COPIES_SPOOL_BYTES_DEFAULT = 256 * 1024 * 1024;
/** The shortest --backup-every: each interval with changes is two objects in the store. (ours) */
export const BACKUP_EVERY_MS_MIN = 100;

/* Standby */

/**
 * How often `svc restore --follow` compares every tenant with all that the repository has of it, because a step can miss
 * a pack. (ours)
 */
export const FOLLOW_SYNC_MS = 60_000;
/** --backup-drill unless it is given. (ours) */
export const DRILL_EVERY_MS_DEFAULT = 7 * 24 * 60 * 60_000;
/** A tenant with copies younger than this before the list of tenants may be missing in the list. It is restored. (ours) */
export const TENANTS_LIST_MS = 600_000;
/** `svc backup run` without a server: its time limit, and how often it checks whether the store works. (ours) */
export const BACKUP_STOPPED_MS_MAX = 24 * 60 * 60_000;
export const BACKUP_STOPPED_CHECK_MS = 1_000;
/** Time for a host to look at a page of its files, or at one. Beyond: svc cluster rebuild ends, and can be run again. (ours) */
export const REBUILD_LIST_MS = 30_000;
