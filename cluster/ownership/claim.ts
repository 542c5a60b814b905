/** Reads the entry of a tenant, and replaces its owner by its revision. The log decides afterwards who serves. */
import {READABLE_FROM} from '../../shared/storage-version.ts';
import type {SmallRecord, SmallRecords} from '../log/small-records.ts';
import {decodeTenant, encodeTenant, type FoundTenant, type Owner, tenantKey} from './tenant-record.ts';

export type Claim =
  | {readonly kind: 'claimed'; readonly epoch: number}
  /** Another change was first: read again. */
  | {readonly kind: 'conflict'}
  | {readonly kind: 'full'}
  | {readonly kind: 'abandoned'};

/** Null: there is no such tenant. It can be older than the newest; only a claim shows that. @throws LogError, EngineError */
export async function findTenant(records: SmallRecords, id: string): Promise<FoundTenant | null> {
  const found = await findEntry(records, id);
  return found === null || found.record.isDeleted ? null : found;
}

/** As `findTenant`, and deleted ones as well. */
export async function findEntry(records: SmallRecords, id: string): Promise<FoundTenant | null> {
  return decoded(id, await records.get(tenantKey(id)));
}

/**
 * Makes a host the owner, under a new epoch.
 * @param above the epoch that the log has, if it is known: an entry that was lost and made again can be behind it
 * @param opens the owner, this host, opens it now, so another host has to open it if this one is lost
 */
export async function claim(
  records: SmallRecords,
  id: string,
  {record, revision}: FoundTenant,
  {owner, above, opens, signal}: {owner: Owner; above: number; opens: boolean; signal: AbortSignal},
): Promise<Claim> {
  const epoch = Math.max(record.epoch, above) + 1;
  const opened = {dueMs: 0, storage: Math.max(record.storage ?? 0, READABLE_FROM)};
  const next = {...record, epoch, owner, ...(opens ? opened : {})};
  const outcome = await records.set(tenantKey(id), encodeTenant(next), revision, signal);
  const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
  if (decision.kind === 'stored') return {kind: 'claimed', epoch};
  return {kind: decision.kind};
}

function decoded(id: string, found: SmallRecord | null): FoundTenant | null {
  if (found === null || found.value === null) return null;
  return {record: decodeTenant(id, found.value), revision: found.revision};
}
