/** Which tenants this host opens without a request: those with work, and those that were open when their host was lost. */
import {type Members, placedHosts} from '../members/members.ts';
import {isSameOwner, type Owner, placedTenant, type TenantRecord} from '../ownership/tenant-record.ts';
import {placementOf} from '../placement/placement.ts';

export type DueParts = {
  readonly self: Owner;
  readonly serving: ReturnType<Members['serving']>;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** A worker of this host has the tenant, or is about to. */
  readonly holds: (id: string) => boolean;
};

export function dueTenants(
  entries: ReadonlyMap<string, TenantRecord>,
  {self, serving, nowMs, holds}: DueParts,
): string[] {
  const live = serving.filter(({record}) => record.state === 'live');
  const hosts = placedHosts(serving);
  const isOfOther = ({owner, dueMs}: TenantRecord): boolean => {
    if (owner === null || owner.host === self.host) return false;
    // A host that drains still serves what is open, and wakes none that sleeps. One that has joined again wakes those that
    // the placement gives it.
    const candidates = dueMs === 0 ? serving : live;
    return candidates.some(({host, record: {incarnation}}) => isSameOwner({host, incarnation}, owner));
  };
  const due: string[] = [];
  for (const [id, entry] of entries) {
    const {dueMs, owner, paused} = entry;
    if (paused !== undefined || dueMs === null || dueMs > nowMs || holds(id) || isOfOther(entry)) continue;
    if (isSameOwner(owner, self) || placementOf(placedTenant(id, entry), hosts, 0).owner === self.host) due.push(id);
  }
  return due;
}
