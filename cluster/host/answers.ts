/** Answers what routes request of the cluster. */
import {dirname} from 'node:path';
import {unreachable} from '../../shared/assert.ts';
import {unavailable} from '../../shared/errors.ts';
import type {
  ClusterPause,
  ClusterProcessRequest,
  ClusterTenant,
  OwnedTenant,
  PausedTenant,
} from '../../shared/ipc/cluster.ts';
import type {PauseMode} from '../../shared/protocol/tenant-status.ts';
import {READABLE_FROM} from '../../shared/storage-version.ts';
import {Owned} from '../log/packages.ts';
import type {TenantName} from '../log/subjects.ts';
import type {EntryOutcome} from '../ownership/tenant-entries.ts';
import {newTenant, type TenantRecord} from '../ownership/tenant-record.ts';
import type {ClusterHost} from './cluster-host.ts';
import {performed, recordOf} from './performed.ts';

/** @throws ServiceError; EngineError, LogError */
export async function answerOf(host: ClusterHost, request: ClusterProcessRequest): Promise<unknown> {
  switch (request.does) {
    case 'create': {
      const {tenant} = request;
      const outcome = await host.entries.create(tenant, Date.now());
      const {generation, createdMs, epoch} = recordOf(tenant, outcome);
      await host.knownTenants.everywhere({id: tenant, generation}, epoch);
      return {tenant, generation, createdMs};
    }
    case 'reserve': {
      const {tenant} = request;
      const outcome = await host.entries.reserve(tenant);
      return typeof outcome === 'number' ? outcome : recordOf(tenant, {kind: outcome});
    }
    case 'begin': {
      const {tenant: id, generation} = request.tenant;
      await noted(host, {id, generation});
      const epoch = await host.files.begin({id, generation}, request.path);
      try {
        await host.packages.putAll(new Owned({id, generation}, epoch), dirname(request.path), host.signal);
      } catch (error) {
        void host.leftovers.forget({id, generation});
        throw error;
      }
      return epoch;
    }
    case 'enter':
      await enter(host, request.tenant);
      return null;
    case 'copy': {
      const {tenant: id, path} = request;
      const {generation} = recordOf(id, await host.entries.update(id, record => record));
      await host.files.copy({id, generation}, path);
      return null;
    }
    case 'copy_packages': {
      const {tenant: id, to} = request;
      const {generation} = recordOf(id, await host.entries.update(id, record => record));
      await host.packages.copy({id, generation}, to);
      return null;
    }
    case 'delete': {
      const {tenant} = request;
      const {generation, createdMs, owner, epoch} = await remove(host, tenant);
      return {tenant, generation, createdMs, owner, epoch} satisfies OwnedTenant;
    }
    case 'end_deleted':
      await host.endings.end(request.tenant, 'deleted');
      return null;
    case 'pause':
      return await pause(host, request.tenant, request.paused);
    case 'end_paused':
      await host.endings.end(request.tenant, 'paused');
      return null;
    case 'due': {
      const {tenant, dueMs} = request;
      await host.tenants.ended(tenant);
      // Another host may have opened it meanwhile.
      const outcome = await host.entries.setDue(
        tenant,
        dueMs,
        ({owner}) => owner?.host === host.self.host && !host.tenants.holds(tenant),
      );
      return outcome.kind;
    }
    case 'key_turn':
      return await host.keys.turn(host.signal);
    case 'key_put':
      return await host.keys.put(request.key, request.turn, host.signal);
    case 'key_remove':
      await host.keys.remove(request.key, host.signal);
      return null;
    case 'key_adopt':
      await host.keys.adopt(request.key, host.signal);
      return null;
    case 'copies_flush':
      await host.spools.flush();
      return null;
    case 'copies_base':
      await host.spools.base(request.tenant);
      return null;
    case 'perform':
      return await performed(host, request.request);
    case 'drain':
      await host.drain.run();
      return null;
    default:
      return unreachable(request);
  }
}

/** @throws ServiceError; EngineError: the entry can be there, or be there later */
async function enter(
  host: ClusterHost,
  {tenant: id, generation, createdMs, paused, epoch}: ClusterTenant & ClusterPause,
): Promise<void> {
  if (host.state === 'joining') {
    void host.leftovers.forget({id, generation});
    throw unavailable('this host is no member of the cluster at the moment; try again');
  }
  const begun = {epoch, owner: host.self, dueMs: 0, storage: READABLE_FROM};
  const entry = withPause({...newTenant(generation, createdMs), ...begun}, paused);
  const outcome = await knownOutcome(host, {id, generation}, host.entries.add(id, entry));
  if (outcome.kind === 'stored') await host.leftovers.made({id, generation});
  else if (outcome.kind !== 'abandoned') void host.leftovers.forget({id, generation});
  if (outcome.kind === 'missing') throw unavailable('the tenant was given up: this host had lost its lease; try again');
  await host.knownTenants.everywhere({id, generation}, recordOf(id, outcome).epoch);
}

/** @throws ServiceError; EngineError, LogError */
async function remove(host: ClusterHost, id: string): Promise<TenantRecord> {
  for (;;) {
    const {generation} = recordOf(id, await host.entries.update(id, record => record));
    const tenant = {id, generation};
    await noted(host, tenant);
    const outcome = await knownOutcome(host, tenant, host.entries.remove(tenant));
    const isStored = outcome.kind === 'stored' && outcome.record.generation === generation;
    // What was read instead can be older than the entry, and only a change of that shows what is gone.
    if (isStored) void host.leftovers.forget(tenant);
    else host.leftovers.unknown(tenant);
    const removed = recordOf(id, outcome);
    // Otherwise it was deleted meanwhile, and made again.
    if (removed.generation === generation) return removed;
  }
}

/** @throws ServiceError; EngineError */
async function noted({leftovers}: ClusterHost, tenant: TenantName): Promise<void> {
  const is = await leftovers.note(tenant);
  if (is !== 'noted') recordOf(tenant.id, {kind: is});
}

async function knownOutcome({leftovers}: ClusterHost, tenant: TenantName, outcome: Promise<EntryOutcome>) {
  try {
    return await outcome;
  } catch (error) {
    leftovers.unknown(tenant);
    throw error;
  }
}

/** A tenant that is paused, and was before, can still be served by a host that does not know it: it is awaited again. */
async function pause(host: ClusterHost, tenant: string, paused: PauseMode | null): Promise<PausedTenant> {
  let before: OwnedTenant | null = null;
  const outcome = await host.entries.update(tenant, record => {
    before = null;
    if (record.paused === undefined && paused === null) return record;
    const {generation, createdMs, owner, epoch} = record;
    before = {tenant, generation, createdMs, owner, epoch};
    return withPause({...record, epoch: epoch + 1}, paused);
  });
  const {generation, createdMs, epoch} = recordOf(tenant, outcome);
  if (before !== null && paused === null) await host.knownTenants.everywhere({id: tenant, generation}, epoch);
  return {tenant: {tenant, generation, createdMs, paused, epoch}, before};
}

function withPause({paused: _, ...record}: TenantRecord, paused: PauseMode | null): TenantRecord {
  return paused === null ? record : {...record, paused};
}
