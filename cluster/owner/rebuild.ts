/**
 * Begins the log of a tenant again after all data of NATS was lost: the newest file that a host has becomes its first
 * commit. The entry of the tenant is made last, so no host opens a log that is not complete.
 */
import type {Source} from '../../engine/copies/bytes.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {assert} from '../../shared/assert.ts';
import type {LogPosition} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {TenantName} from '../log/subjects.ts';
import type {LogEntry} from '../log/tenant-log.ts';
import {encodeTenant, tenantKey} from '../ownership/tenant-record.ts';
import {byAge, type MemberFile} from './lost-tail.ts';

export type Rebuilt =
  | {readonly kind: 'rebuilt'; readonly position: LogPosition}
  /** The cluster has the tenant, so its log is not lost. */
  | {readonly kind: 'there'}
  /** Another host appends to it, or there is no space. */
  | {readonly kind: 'refused' | 'full' | 'abandoned'};

/** The file that has the newest acknowledged write. Null: there is no file. */
export function newestFile(files: readonly MemberFile[]): MemberFile | null {
  return [...files].sort(byAge)[0] ?? null;
}

/**
 * A process that ends before the entry is made leaves a log that the next rebuild continues: it opens a later epoch.
 * @param base of that file, as a page set. @param note of the host that rebuilds. @throws LogError, EngineError
 */
export async function rebuildTenant(
  replicated: Pick<ReplicatedLog, 'records' | 'tenant'>,
  tenant: TenantName,
  {newest, base, note, signal}: {newest: MemberFile; base: Source; note: string; signal?: AbortSignal},
): Promise<Rebuilt> {
  const {records} = replicated;
  const found = await records.get(tenantKey(tenant.id));
  if (found !== null && found.value !== null) return {kind: 'there'};
  const log = replicated.tenant(tenant);
  let tail = await log.tail();
  const epoch = Math.max(newest.position.epoch, tail?.epoch ?? 0) + 1;
  const by = sourceOf(Buffer.from(note));
  const entries: LogEntry[] = [
    {kind: 'open', epoch, body: by},
    {kind: 'commit', epoch, body: base},
    {kind: 'close', epoch, body: by},
  ];
  for (const entry of entries) {
    const outcome = await log.append(tail, entry, signal);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (decision.kind === 'full' || decision.kind === 'abandoned') return decision;
    if (decision.kind !== 'committed') return {kind: 'refused'};
    tail = decision.position;
  }
  assert(tail !== null, 'records were appended');
  const entry = encodeTenant({
    generation: tenant.generation,
    epoch,
    owner: null,
    pin: null,
    createdMs: 0,
    dueMs: 0,
    isDeleted: false,
  });
  const outcome = await records.set(tenantKey(tenant.id), entry, found?.revision ?? 0, signal);
  const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
  if (decision.kind === 'stored') return {kind: 'rebuilt', position: tail};
  return decision.kind === 'conflict' ? {kind: 'there'} : decision;
}
