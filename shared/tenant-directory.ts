/**
 * The files in a tenant's directory that more than one process knows.
 *
 *   just created        tenant.new
 *   its first open      tenant.new, tenant.sqlite   (also after a crash before the file was whole: it is made again)
 *   from then on        tenant.sqlite, and after a close empty tenant.sqlite-wal and tenant.sqlite-shm
 *
 *   while its log has commits   tenant.sqlite, tenant.sqlite-wal, tenant.logged
 *
 * So a directory without `tenant.new` whose `tenant.sqlite` is missing or empty has lost it: the file is never created
 * a second time.
 */

/** The tenant's SQLite file. */
export const TENANT_FILE = 'tenant.sqlite';
/** Marks that the tenant's file has not been created yet. JSON of NewTenant. */
export const NEW_TENANT_FILE = 'tenant.new';

export type NewTenant = {tenant: string; generation: number; created_ms: number};

/** Empty. Marks that the file's log has commits, so that a missing log is noticed. */
export const LOGGED_FILE = 'tenant.logged';

/**
 * Written next to the tenant's file when a check found damage: the findings. The tenant stays stopped while it exists.
 */
export const DAMAGED_FILE = 'damaged.txt';

/** A directory: page sets that wait for the copier. */
export const SPOOL_DIRECTORY = 'spool';
