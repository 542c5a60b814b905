/** Answers what routes request of the cluster. */
import {unreachable} from '../../shared/assert.ts';
import {conflict, ServiceError} from '../../shared/errors.ts';
import type {ClusterProcessRequest} from '../../shared/ipc/cluster.ts';
import type {EntryOutcome} from '../ownership/tenant-entries.ts';
import type {ClusterHost} from './cluster-host.ts';

/** @throws ServiceError; EngineError, LogError */
export async function answerOf(host: ClusterHost, request: ClusterProcessRequest): Promise<unknown> {
  switch (request.does) {
    case 'create': {
      const {tenant} = request;
      const outcome = await host.entries.create(tenant, Date.now());
      const {generation, createdMs} = recordOf(tenant, outcome);
      return {tenant, generation, createdMs};
    }
    case 'delete': {
      const {generation, createdMs} = recordOf(request.tenant, await host.entries.remove(request.tenant));
      return {tenant: request.tenant, generation, createdMs};
    }
    case 'due': {
      const {tenant, dueMs} = request;
      await host.tenants.ended(tenant);
      // Another host may have opened it meanwhile.
      const outcome = await host.entries.update(tenant, record => {
        const isOurs = record.owner?.host === host.self.host && !host.tenants.holds(tenant);
        return isOurs && record.dueMs !== dueMs ? {...record, dueMs} : record;
      });
      return outcome.kind;
    }
    case 'move':
      return await moved(host, request.tenant, request.host);
    case 'pin': {
      const {tenant, host: pin} = request;
      const record = recordOf(tenant, await host.entries.update(tenant, entry => ({...entry, pin})));
      if (pin !== null && record.owner?.host !== pin) await moved(host, tenant, pin);
      return {tenant, pin};
    }
    case 'drain':
      await host.drain();
      return null;
    case 'status':
      return statusOf(host);
    default:
      return unreachable(request);
  }
}

async function moved(host: ClusterHost, tenant: string, to: string): Promise<unknown> {
  const outcome = await host.move(tenant, to);
  if (outcome === 'unknown_host') {
    throw conflict(`there is no host ${JSON.stringify(to)} that takes tenants; see the hosts of the cluster`);
  }
  if (outcome === 'conflict') throw conflict(`tenant ${JSON.stringify(tenant)} was changed meanwhile; try again`);
  return {tenant, owner: to};
}

function statusOf(host: ClusterHost): unknown {
  const tenants = host.tenants.entries();
  const owned = new Map<string, number>();
  for (const {owner} of tenants.values()) if (owner !== null) owned.set(owner.host, (owned.get(owner.host) ?? 0) + 1);
  const serving = host.tenants.serving();
  return {
    cluster: host.settings.cluster,
    host: host.self.host,
    incarnation: host.self.incarnation,
    lease: host.lease.holds(),
    hosts: host.members.serving().map(({host: name, record}) => ({
      host: name,
      state: record.state,
      address: record.peer,
      incarnation: record.incarnation,
      tenants: owned.get(name) ?? 0,
      capacity: record.capacity,
      versions: record.versions,
    })),
    tenants: [...tenants]
      .map(([tenant, {owner, epoch, pin}]) => ({
        ...{tenant, owner: owner?.host ?? null, epoch, pin},
        state: serving.has(tenant) ? 'serving' : 'elsewhere_or_asleep',
      }))
      .sort((a, b) => (a.tenant < b.tenant ? -1 : 1)),
  };
}

/** @throws session.tenant_exists 409, session.tenant_not_found 404, session.storage_full 507, session.worker_unavailable 503 */
function recordOf(tenant: string, outcome: EntryOutcome) {
  switch (outcome.kind) {
    case 'stored':
      return outcome.record;
    case 'exists':
      throw new ServiceError('session.tenant_exists', `tenant ${tenant} exists already`);
    case 'missing':
      throw new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(tenant)}`);
    case 'full':
      throw new ServiceError('session.storage_full', "the cluster's log is full: free space in it and try again");
    case 'abandoned':
      throw new ServiceError('session.worker_unavailable', 'this host stops; nothing may have been changed');
    default:
      return unreachable(outcome);
  }
}
