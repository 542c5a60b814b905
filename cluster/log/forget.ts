/**
 * Removes what a deleted tenant has in the log of the cluster. The last record stays, because an emptied log would accept
 * a first record again.
 */
import type {ReplicatedLog} from './replicated-log.ts';
import type {TenantName} from './subjects.ts';

/**
 * Call it when no host has the tenant open, and again if it was not complete.
 * @returns whether nothing but the last record is left. @throws LogError, EngineError
 */
export async function forgetTenant(
  replicated: Pick<ReplicatedLog, 'tenant' | 'bases' | 'packages'>,
  tenant: TenantName,
  signal?: AbortSignal,
): Promise<boolean> {
  const log = replicated.tenant(tenant);
  const tail = await log.tail();
  if (tail !== null) await log.trim(tail);
  const hasBases = !(await replicated.bases.removeAll(tenant, signal));
  return (await replicated.packages.removeAll(tenant, signal)) && !hasBases;
}
