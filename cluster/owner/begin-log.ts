/**
 * Begins the log of a tenant with a file that is there already: that of a server alone, or the newest one of a cluster whose
 * log was lost. The file becomes a base, so it can have any size. The entry of the tenant is made after it, so no host
 * opens a log that is not complete.
 *
 *   nothing ──▶ open ──▶ close ──▶ the base at `close` ──▶ the records before are removed ──▶ begun
 *      ▲                               │ the process ended at any step, and the note says that this was its log
 *      └── its bases are removed ◀─────┘
 *
 * Without the records before the base, no reader takes the log for that of an empty tenant if the base is damaged.
 */
import {type Source, sourceOf} from '../../engine/copies/bytes.ts';
import {assert} from '../../shared/assert.ts';
import type {LogPosition, RecordKind} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {TenantName} from '../log/subjects.ts';
import {noteOf, type TenantLog} from '../log/tenant-log.ts';

export type Begun =
  /** The tenant has everything of the base, and its next record follows this one. */
  | {readonly kind: 'begun'; readonly position: LogPosition}
  /** The log has records that are not of such a beginning: it is not lost. */
  | {readonly kind: 'there'}
  /** Another process begins it as well, or there is no space. */
  | {readonly kind: 'refused' | 'full' | 'abandoned'};

export type Beginning = {
  /** The whole file, as a page set. */
  readonly base: Source;
  /** Who begins it. A log that begins with the same note is begun again. */
  readonly note: string;
  /** Every epoch that files of the tenant have; 0: none. */
  readonly aboveEpoch: number;
  readonly signal?: AbortSignal | undefined;
};

/** @throws LogError, EngineError: it can be begun again */
export async function beginLog(
  replicated: Pick<ReplicatedLog, 'tenant' | 'bases'>,
  tenant: TenantName,
  {base, note, aboveEpoch, signal}: Beginning,
): Promise<Begun> {
  const log = replicated.tenant(tenant);
  const newest = await log.newest();
  if (newest !== null) {
    const {kind} = newest.head;
    if ((kind !== 'open' && kind !== 'close') || (await noteOf(newest)) !== note) return {kind: 'there'};
    while (!(await replicated.bases.removeAll(tenant, signal))) if (signal?.aborted) return {kind: 'abandoned'};
  }
  const before = newest?.position ?? null;
  const epoch = Math.max(aboveEpoch, before?.epoch ?? 0) + 1;
  const opened = await appended(log, before, {kind: 'open', epoch, note, signal});
  if (opened.kind !== 'begun') return opened;
  const closed = await appended(log, opened.position, {kind: 'close', epoch, note, signal});
  if (closed.kind !== 'begun') return closed;
  const {position} = closed;
  const {kind} = await replicated.bases.put(tenant, {position, openedBy: note, file: base}, signal);
  if (kind === 'superseded') return {kind: 'refused'};
  if (kind !== 'stored') return {kind};
  await log.trim(position);
  return closed;
}

async function appended(
  log: TenantLog,
  after: LogPosition | null,
  {kind, epoch, note, signal}: {kind: RecordKind; epoch: number; note: string; signal: AbortSignal | undefined},
): Promise<Begun> {
  assert(after === null || after.epoch <= epoch, 'an epoch begins above those before');
  const outcome = await log.append(after, {kind, epoch, body: sourceOf(Buffer.from(note))}, signal);
  const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
  switch (decision.kind) {
    case 'committed':
      return {kind: 'begun', position: decision.position};
    case 'unknowable':
      return {kind: 'refused'};
    default:
      return decision;
  }
}
