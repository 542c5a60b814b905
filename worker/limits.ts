/**
 * Limits of the worker, with units in their names, reasons, and the effect of exceeding them. docs/limits.md is
 * generated from this file.
 */
/**
 * Interval at which an idle worker checks whether its tenant's files still exist; a busy one checks with every commit.
 * (ours)
 */
export const FILE_POLL_MS = 1_000;
/** Time for an earlier owner, left over from a killed supervisor, to end. (ours) */
export const OWNER_WAIT_MS = 4_000;

/** Queries that a drill calls until one returns. Beyond: none has, which is no fault. (ours) */
export const DRILL_QUERIES_MAX = 5;
/** Characters of what a query of a drill threw. Beyond: cut. (ours) */
export const DRILL_TEXT_CHARS_MAX = 300;
/** Niceness of the processes of a drill; that of tenants is 0, and the highest is 19. (ours) */
export const DRILL_NICENESS = 10;
