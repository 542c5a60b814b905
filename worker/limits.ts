/** Limits of the worker, with their units in their names: why that number, and what happens beyond it. docs/limits.md is made of them. */
/** How often an idle worker looks whether its tenant's files are still there; a busy one looks with every commit. (ours) */
export const FILE_LOOK_MS = 1_000;
/** How long an earlier owner, left over from a killed supervisor, may take to end. (ours) */
export const OWNER_WAIT_MS = 4_000;
