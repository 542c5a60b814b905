/**
 * What lies in a tenant's directory, as far as more than one process knows it.
 *
 *   just created        tenant.new
 *   its first open      tenant.new, tenant.sqlite   (also after a crash before the file was whole: it is made again)
 *   from then on        tenant.sqlite, and after a close empty tenant.sqlite-wal and tenant.sqlite-shm
 *
 *   while its log has commits   tenant.sqlite, tenant.sqlite-wal, tenant.logged
 *
 * So a directory without `tenant.new` whose `tenant.sqlite` is missing or empty has lost it: it is never made a second time.
 */

/** The tenant's SQLite file. */
export const TENANT_FILE = 'tenant.sqlite';
/** Says that the tenant's file is still to be made. JSON of NewTenant. */
export const NEW_TENANT_FILE = 'tenant.new';

export type NewTenant = {tenant: string; generation: number; created_ms: number};

/** Empty. Says that the file's log has commits, so that a log that is gone is missed. */
export const LOGGED_FILE = 'tenant.logged';

/** Beside the tenant's file once a check found it damaged: what was found. The tenant stays stopped while it is there. */
export const DAMAGED_FILE = 'damaged.txt';
