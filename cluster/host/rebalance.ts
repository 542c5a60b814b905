/**
 * Which tenants of this host belong to a host that has joined: those that sleep first, a few at a time. A host gets tenants
 * once it has been a member for a while and was heard just now, so that one that is about to be lost gets none. When it
 * has them, tenants stay where they are, also those that an operator moves. A host of a later release gets its tenants when
 * all hosts have that release.
 */
import {MEMBER_SILENT_MS, REBALANCE_AFTER_MS, REBALANCE_ASLEEP_MAX, REBALANCE_AWAKE_MAX} from '../limits.ts';
import {type Members, placedHost} from '../members/members.ts';
import {isSameOwner, type Owner, placedTenant, type TenantRecord} from '../ownership/tenant-record.ts';
import {byRelease, type PlacedHost, placementOf} from '../placement/placement.ts';

export type Move = {readonly id: string; readonly host: string};

export class Rebalance {
  readonly #members: Pick<Members, 'all'>;
  /** When each membership was seen first, in milliseconds of the clock. */
  readonly #seen = new Map<string, {incarnation: number; sinceMs: number}>();
  /** Steady memberships that have all their tenants of this host. */
  readonly #settled = new Map<string, number>();

  constructor(members: Pick<Members, 'all'>) {
    this.#members = members;
  }

  /** Call it about once a second. @param isServing a worker of this host has the tenant */
  next(
    entries: ReadonlyMap<string, TenantRecord>,
    {self, nowMs, isServing}: {self: Owner; nowMs: number; isServing: (id: string) => boolean},
  ): Move[] {
    const hosts = this.#steadyHosts(nowMs);
    if (!hosts.some(({name}) => name === self.host) || hosts.length < 2) return [];
    const joined = hosts.filter(({name, incarnation}) => this.#settled.get(name) !== incarnation);
    const isJoined = new Set(joined.map(({name}) => name));
    const [asleep, awake]: [Move[], Move[]] = [[], []];
    for (const [id, entry] of entries) {
      if (!isSameOwner(entry.owner, self)) continue;
      const {owner: host} = placementOf(placedTenant(id, entry), hosts, 0);
      if (host === null || host === self.host || !isJoined.has(host)) continue;
      (isServing(id) ? awake : asleep).push({id, host});
      if (asleep.length >= REBALANCE_ASLEEP_MAX) return asleep;
    }
    for (const {name, incarnation} of joined) {
      if (![...asleep, ...awake].some(({host}) => host === name)) this.#settled.set(name, incarnation);
    }
    return asleep.length > 0 ? asleep : awake.slice(0, REBALANCE_AWAKE_MAX);
  }

  #steadyHosts(nowMs: number): (PlacedHost & {incarnation: number})[] {
    const steady = this.#members.all().flatMap(({host, record, silentMs}) => {
      if (record.state !== 'live') {
        this.#seen.delete(host);
        return [];
      }
      const {incarnation} = record;
      let seen = this.#seen.get(host);
      if (seen?.incarnation !== incarnation) {
        seen = {incarnation, sinceMs: nowMs};
        this.#seen.set(host, seen);
      }
      const isSteady = nowMs - seen.sinceMs >= REBALANCE_AFTER_MS && silentMs < MEMBER_SILENT_MS;
      return isSteady ? [{...placedHost(host, record), incarnation}] : [];
    });
    const [oldest] = byRelease(steady);
    return oldest;
  }
}
