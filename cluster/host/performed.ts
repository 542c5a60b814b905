/** Answers the routes of a cluster, as this host knows it. */
import {unreachable} from '../../shared/assert.ts';
import {conflict, notFound, ServiceError, unavailable} from '../../shared/errors.ts';
import type {ClusterAnswer, ClusterRequest} from '../../shared/ipc/cluster-requests.ts';
import type {ClusterHost as ShownHost, ClusterTenant as ShownTenant} from '../../shared/protocol/cluster.ts';
import type {EntryOutcome} from '../ownership/tenant-entries.ts';
import {placedTenant, type TenantRecord} from '../ownership/tenant-record.ts';
import {type PlacedTenant, placementOf} from '../placement/placement.ts';
import type {ClusterHost} from './cluster-host.ts';
import {requestDrain} from './drain.ts';

/** @throws ServiceError; EngineError, LogError */
export async function performed(host: ClusterHost, request: ClusterRequest): Promise<ClusterAnswer> {
  switch (request.action) {
    case 'cluster_status':
      return statusOf(host, request);
    case 'cluster_members':
      return {hosts: hostsOf(host)};
    case 'cluster_move':
      await move(host, request.tenant, request.host);
      return {tenant: await shownNow(host, request.tenant)};
    case 'cluster_pin':
      return {tenant: await pin(host, request)};
    case 'cluster_drain':
      return {host: await drain(host, request.host)};
    default:
      return unreachable(request);
  }
}

function statusOf(host: ClusterHost, {cursor, limit}: {cursor: string | null; limit: number}) {
  const ids = [...host.tenants.entries().keys()].sort();
  const first = cursor === null ? 0 : ids.findIndex(id => id > cursor);
  const page = first === -1 ? [] : ids.slice(first, first + limit);
  const last = page.at(-1);
  return {
    cluster: host.settings.cluster,
    host: host.self.host,
    incarnation: host.self.incarnation === 0 ? null : host.self.incarnation,
    lease: host.lease.holds(),
    state: host.state,
    hosts: hostsOf(host),
    tenants: page.map(id => shown(host, id, host.tenants.entries().get(id)!)),
    next_cursor: last === undefined || last === ids.at(-1) ? null : last,
  };
}

function hostsOf(host: ClusterHost): ShownHost[] {
  const owned = new Map<string, number>();
  for (const {owner} of host.tenants.entries().values()) {
    if (owner !== null) owned.set(owner.host, (owned.get(owner.host) ?? 0) + 1);
  }
  return host.members.all().map(({host: name, record, silentMs}) => ({
    host: name,
    state: record.state,
    address: 'peer' in record ? record.peer : null,
    incarnation: record.incarnation,
    silent_ms: silentMs,
    tenants: owned.get(name) ?? 0,
    capacity: 'capacity' in record ? record.capacity : null,
    versions: 'versions' in record ? record.versions : null,
  }));
}

function shown(host: ClusterHost, id: string, entry: TenantRecord): ShownTenant {
  const {owner, epoch, pin: pinned} = entry;
  const placed = placedTenant(id, {...entry, pin: owner?.host ?? pinned});
  const {standbys} = placementOf(placed, host.hosts(), host.settings.standbys);
  const isThere = host.members.serving().some(({host: name}) => name === owner?.host);
  const state = owner === null ? 'unowned' : isThere ? 'owned' : 'lost';
  const isMoving = owner !== null && owner.host !== host.self.host && host.tenants.holds(id);
  return {
    ...{tenant: id, owner: owner?.host ?? null, epoch, pin: pinned},
    state: isMoving ? 'moving' : state,
    standbys: [...standbys],
  };
}

async function move(host: ClusterHost, tenant: string, to: string): Promise<void> {
  const entry = host.tenants.entries().get(tenant);
  if (entry === undefined) throw tenantMissing(tenant);
  checkRelease(host, placedTenant(tenant, {...entry, pin: to}));
  const outcome = await host.move(tenant, to);
  if (outcome === 'unknown_host') {
    const names = host.hosts().map(({name}) => name);
    throw conflict(`no host ${JSON.stringify(to)} takes tenants; those that do are ${names.join(', ')}`);
  }
  if (outcome === 'failed') throw unavailable(`tenant ${JSON.stringify(tenant)} was not moved; try again`);
}

/** @throws op.conflict 409: hosts that cannot open it could be all that is left, or it is one of these */
function checkRelease(host: ClusterHost, tenant: PlacedTenant): void {
  const hosts = host.hosts();
  const [to, {owner}] = [hosts.find(({name}) => name === tenant.pin), placementOf(tenant, hosts, 0)];
  if (to === undefined || owner === tenant.pin) return;
  const why = to.storage < tenant.storage ? 'an earlier release, which cannot open the tenant' : 'a later release';
  throw conflict(`host ${to.name} has ${why}; it gets tenants when all hosts have the same one`);
}

async function pin(host: ClusterHost, {tenant, host: to}: {tenant: string; host: string | null}): Promise<ShownTenant> {
  const outcome = await host.entries.update(tenant, entry => (entry.pin === to ? entry : {...entry, pin: to}));
  const {owner} = recordOf(tenant, outcome);
  const takes = to !== null && host.hosts().some(({name}) => name === to);
  if (takes && owner !== null && owner.host !== to) await move(host, tenant, to);
  return await shownNow(host, tenant);
}

async function drain(host: ClusterHost, name: string): Promise<ShownHost> {
  const found = host.members.serving().find(member => member.host === name);
  if (found === undefined) throw notFound(`there is no host ${JSON.stringify(name)} that serves tenants`);
  const {start} = found.record;
  await requestDrain(host.replicated.records, {host: name, start, signal: host.signal});
  return hostsOf(host).find(({host: its}) => its === name)!;
}

async function shownNow(host: ClusterHost, tenant: string): Promise<ShownTenant> {
  const outcome = await host.entries.update(tenant, entry => entry);
  return shown(host, tenant, recordOf(tenant, outcome));
}

/** @throws session.tenant_exists 409, session.tenant_not_found 404, session.storage_full 507, session.worker_unavailable 503 */
export function recordOf(tenant: string, outcome: EntryOutcome): TenantRecord {
  switch (outcome.kind) {
    case 'stored':
      return outcome.record;
    case 'exists':
      throw new ServiceError('session.tenant_exists', `tenant ${tenant} exists already`);
    case 'missing':
      throw tenantMissing(tenant);
    case 'full':
      throw new ServiceError('session.storage_full', "the cluster's log is full: free space in it and try again");
    case 'abandoned':
      throw new ServiceError('session.worker_unavailable', 'this host stops; nothing may have been changed');
    default:
      return unreachable(outcome);
  }
}

function tenantMissing(tenant: string): ServiceError {
  return new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(tenant)}`);
}
