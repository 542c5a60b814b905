/**
 * The storage version that this svc writes, for processes that never open a tenant's file. Its steps are in
 * `engine/storage/migrations.ts`.
 */
export const NEWEST_STORAGE_VERSION = 17;
/** The oldest storage version whose svc can read and write files of the current one. */
export const READABLE_FROM = 17;
