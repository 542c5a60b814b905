/**
 * The storage version that this svc writes, for processes that never open a tenant's file. Its steps are in
 * `engine/storage/migrations.ts`.
 */
export const NEWEST_STORAGE_VERSION = 17;
