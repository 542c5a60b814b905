/**
 * Tenants that were restored to be looked at: read-only, named after the tenant and the time in UTC, such as
 * `acme-2026-11-23-1705`.
 */

/** As in `shared/protocol/tenants.ts`, which would bring more into the page. */
const TENANT_CHARS_MAX = 64;
const SUFFIX = /^(.+)-(\d{4})-(\d{2})-(\d{2})-(\d{2})(\d{2})$/;

/** @param at epoch milliseconds of the restored point */
export function lookName(tenant: string, at: number): string {
  const [date, time] = new Date(at).toISOString().split('T') as [string, string];
  const suffix = `-${date}-${time.slice(0, 5).replace(':', '')}`;
  return tenant.slice(0, TENANT_CHARS_MAX - suffix.length) + suffix;
}

/** Null: the name is not such a name. `of` is shortened if the tenant's name is long. */
export function lookOf(name: string): {of: string; at: number} | null {
  const parts = SUFFIX.exec(name);
  if (parts === null) return null;
  const [of, year, month, day, hour, minute] = parts.slice(1) as [string, string, string, string, string, string];
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}Z`);
  return Number.isNaN(at) ? null : {of, at};
}

export function isLookOf(name: string, tenant: string): boolean {
  const look = lookOf(name);
  return look !== null && lookName(tenant, look.at) === name;
}
