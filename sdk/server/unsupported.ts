/** Exports that code written for other platforms imports: not in the types, and they throw by name. */

/** @internal */
export function cronJobs(): never {
  throw new Error('cronJobs is not supported: use the native crons of the tenant, /api/tenants/{tenant_id}/crons');
}
