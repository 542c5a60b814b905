/**
 * Exports that code written for other platforms imports. They are not in the types, and throw an error that names them.
 */

/** @internal */
export function cronJobs(): never {
  throw new Error(
    'cronJobs is not supported: a function that runs again and again is a mutation that schedules itself with ctx.scheduler (docs/functions.md, "Scheduling"); the native crons of the tenant, /api/tenants/{tenant_id}/crons, write one document',
  );
}
