/** The name of a tenant's SQLite file inside its directory. */
export const TENANT_FILE = 'tenant.sqlite';
