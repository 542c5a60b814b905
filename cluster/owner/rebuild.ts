/**
 * Begins the log of a tenant again after all data of NATS was lost: the newest file that a host has becomes its first
 * base. The entry of the tenant is made last, so no host opens a log that is not complete.
 */
import type {Source} from '../../engine/copies/bytes.ts';
import type {LogPosition} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {TenantName} from '../log/subjects.ts';
import {encodeTenant, newTenant, tenantKey} from '../ownership/tenant-record.ts';
import {beginLog} from './begin-log.ts';
import {byAge, type MemberFile} from './lost-tail.ts';

export type Rebuilt =
  | {readonly kind: 'rebuilt'; readonly position: LogPosition}
  /** The cluster has the tenant, or records of it, so its log is not lost. */
  | {readonly kind: 'there'}
  /** Another host appends to it, or there is no space. */
  | {readonly kind: 'refused' | 'full' | 'abandoned'};

/** The file that has the newest acknowledged write. Null: there is no file. */
export function newestFile(files: readonly MemberFile[]): MemberFile | null {
  return [...files].sort(byAge)[0] ?? null;
}

export type Rebuilding = {
  readonly newest: MemberFile;
  /** Of that file, as a page set. */
  readonly base: Source;
  /** The same for each rebuild: one that ended is begun again. */
  readonly note: string;
  readonly createdMs: number;
  /** The log has the file; no host opens it yet. */
  readonly begun?: (position: LogPosition) => Promise<void>;
  readonly signal?: AbortSignal;
};

/** A process that ends before the entry is made leaves a log that the next rebuild begins again. @throws LogError, EngineError */
export async function rebuildTenant(
  replicated: Pick<ReplicatedLog, 'records' | 'tenant' | 'bases'>,
  tenant: TenantName,
  {newest, base, note, createdMs, begun: onBegun, signal}: Rebuilding,
): Promise<Rebuilt> {
  const {records} = replicated;
  const found = await records.get(tenantKey(tenant.id));
  if (found !== null && found.value !== null) return {kind: 'there'};
  const begun = await beginLog(replicated, tenant, {base, note, aboveEpoch: newest.position.epoch, signal});
  if (begun.kind !== 'begun') return begun;
  await onBegun?.(begun.position);
  const {epoch} = begun.position;
  const entry = encodeTenant({...newTenant(tenant.generation, createdMs), epoch, dueMs: 0});
  const outcome = await records.set(tenantKey(tenant.id), entry, found?.revision ?? 0, signal);
  const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
  if (decision.kind === 'stored') return {kind: 'rebuilt', position: begun.position};
  return decision.kind === 'conflict' ? {kind: 'there'} : decision;
}
