/** The bodies of the routes about backups. */
import {notFound, unavailable} from '../../shared/errors.ts';
import type {CopierSettings} from '../../shared/ipc/copier.ts';
import {BACKUP_POINTS_MAX} from '../../shared/limits.ts';
import type {
  BackupPoint,
  BackupStatus,
  DrillStatus,
  TenantBackup,
  TenantPoints,
} from '../../shared/protocol/backups.ts';
import {gapIn, pointsOf} from '../repository/plan.ts';
import type {Repository} from '../repository/repository.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import type {CopyItem, TenantCopies} from '../repository/tenant-copies.ts';
import {StoreError} from '../store/store-error.ts';
import type {Copier} from './copier.ts';
import type {Drills} from './drills.ts';
import type {TenantCopy} from './tenant-copy.ts';

/** The supervisor runs the drills, and puts their state here. */
const NO_DRILL: DrillStatus = {every_ms: 0, running: null, last: null};

/** @param after the last tenant of the page before; null: the first page */
export function statusOf(
  copier: Copier,
  drills: Drills,
  settings: CopierSettings,
  {after, limit}: {after: string | null; limit: number},
  nowMs: number,
): BackupStatus {
  const ids = [...copier.copies.keys()].filter(id => after === null || id > after).sort();
  const page = ids.slice(0, limit);
  drills.learn(page);
  return {
    backup: {
      to: settings.repository,
      repository_id: copier.repositoryId,
      every_ms: settings.everyMs,
      state: copier.state,
      age_ms: copier.ageMs,
      spool_bytes: copier.spoolBytes,
      last_success_at: copier.lastSuccessMs,
      last_fault: copier.fault,
      drill: NO_DRILL,
    },
    tenants: page.map(id => tenantBackup(copier.copies.get(id)!, drills, nowMs)),
    next_cursor: ids.length > limit ? page.at(-1)! : null,
  };
}

/** What can be restored of a tenant. @throws ServiceError */
export async function pointsIn(
  copier: Copier,
  drills: Drills,
  {tenant, before}: {tenant: string; before: number | null},
  nowMs: number,
): Promise<TenantPoints> {
  const copy = copier.copies.get(tenant);
  if (copy === undefined) throw notFound(`there is no tenant ${tenant}`);
  if (copier.writer === null) throw unavailable(copier.fault?.message ?? 'the repository is not open yet');
  drills.learn([tenant]);
  const copies = await copiesOf(copier.writer.repository, tenant);
  const timelines = copies?.timelines ?? [];
  const ranges: TenantPoints['ranges'] = [];
  const points: CopyItem[] = [];
  for (const one of [...timelines].reverse()) {
    const its = pointsOf(one);
    if (its.length === 0) continue;
    ranges.push({timeline: one.timeline, from: pointOf(its[0]!), to: pointOf(its.at(-1)!), points: its.length});
    points.push(...its.filter(({timeMs}) => before === null || timeMs < before).reverse());
  }
  return {
    tenant: tenantBackup(copy, drills, nowMs),
    ranges,
    points: points.slice(0, BACKUP_POINTS_MAX).map(pointOf),
    has_more: points.length > BACKUP_POINTS_MAX,
    gap: copies === null ? null : gapIn(copies),
  };
}

function tenantBackup(copy: TenantCopy, drills: Drills, nowMs: number): TenantBackup {
  const {tenant, position, spoolBytes, packages} = copy;
  const fault = copy.fault ?? packages.fault;
  const last_proof = drills.lastProof(tenant);
  const newest = position == null ? null : {at: position.timeMs, sequence: position.sequence, commit: position.commit};
  return {id: tenant, newest, age_ms: copy.ageMs(nowMs), spool_bytes: spoolBytes, fault, last_proof};
}

function pointOf({timeMs, sequence, last}: CopyItem): BackupPoint {
  return {at: timeMs, sequence, commit: last};
}

/** Null: there are none. @throws session.worker_unavailable 503 */
async function copiesOf(repository: Repository, tenant: string): Promise<TenantCopies | null> {
  try {
    return await repository.copies(tenant);
  } catch (caught) {
    if (caught instanceof RepositoryError && caught.code === 'no_copies') return null;
    if (caught instanceof RepositoryError || caught instanceof StoreError) throw unavailable(caught.message);
    throw caught;
  }
}
