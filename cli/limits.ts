/** Limits of the command line, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */

const MIB = 1024 * 1024;

/* HTTP edge */

/** Rate limits that an operator may set: requests a second, and at once. Beyond: it was mistyped, and is refused. (ours) */
export const RATE_LIMIT_PER_SECOND_MIN = 0.001;
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000;
export const RATE_LIMIT_BURST_MAX = 10_000_000;

/* Placement */

/** Routers that share the port; the other limits of routers hold for all of them together, each has its share. (ours) */
export const ROUTERS_MAX = 16;
/** Cores for each router with `--routers auto`: the others are for workers and the system. (design) */
export const CORES_PER_ROUTER = 4;

/* Commit pipeline */

/** What a tenant may keep on disk unless configured otherwise. Beyond: 507 session.storage_full for that tenant alone. (ours) */
export const TENANT_STORAGE_BYTES_DEFAULT = 10 * 1024 * MIB;

/* Journal */

/** Records kept unless configured otherwise. (ours) */
export const JOURNAL_KEEP_RECORDS_DEFAULT = 1_000_000;

/* Deployments */

/** How often a command asks what the server does with its deploy. (ours) */
export const DEPLOY_PROGRESS_MS = 500;
/** How often a command that waits for a task asks whether it has ended. (ours) */
export const TASK_LOOK_MS = 500;
/** Packages that a command sends at once, and that npm is asked for at once. (ours) */
export const PACKAGE_UPLOADS_AT_ONCE = 4;
export const PACKAGES_PER_NPM = 50;

/* Command line */

/** What `svc import` reads of a file, and sends, at once. Of a pipe it is what comes. (ours) */
export const IMPORT_REQUEST_BYTES = MIB;
/** Tries of one request of a command: with the pauses below, half a minute, as long as a failing tenant rests. (ours) */
export const COMMAND_ATTEMPTS_MAX = 12;
/** The pause after the first try and the longest one; each is twice the one before, or what `Retry-After` asks for. (ours) */
export const COMMAND_RETRY_MS = 100;
export const COMMAND_RETRY_MS_MAX = 5_000;
/** A request of a command that gets no answer for this long has failed. (ours) */
export const COMMAND_TIMEOUT_MS = 60_000;

/* Services */

/** `memory_mb` of all services of a tenant that are to run. Beyond: 429 op.rate_limited. (ours) */
export const SERVICES_MEMORY_MB_MAX = 2_048;
