/**
 * Decides which tenants' files this host keeps at the tail of their logs, from the entries of tenants and the members.
 *
 * It keeps those of which it is the placed owner or a standby, so that it can take them over, and those that it owns while
 * they sleep. One of the hosts that keep a tenant makes its bases: a standby, because its file is closed. Hosts that know
 * of different members can both make one, which costs only the work: the list of bases takes one of them.
 */

import {shardOf} from '../log/subjects.ts';
import {placedTenant, type TenantRecord} from '../ownership/tenant-record.ts';
import type {PlacedHost, PlacedTenant, Placement} from '../placement/placement.ts';
import {placementOf} from '../placement/placement.ts';

export type Keeping = {readonly isKept: boolean; readonly makesBases: boolean};

export class KeptTenants {
  readonly #host: string;
  readonly #standbys: number;
  #hosts: readonly PlacedHost[] = [];
  /** Of tenants without a pin that each host can open. */
  #placements = new Map<number, Placement>();

  /** @param standbys of each tenant */
  constructor(host: string, standbys: number) {
    [this.#host, this.#standbys] = [host, standbys];
  }

  /** @param hosts that can own tenants. @returns whether they are others than before */
  set(hosts: readonly PlacedHost[]): boolean {
    if (JSON.stringify(hosts) === JSON.stringify(this.#hosts)) return false;
    this.#hosts = hosts;
    this.#placements = new Map();
    return true;
  }

  of(id: string, entry: Pick<TenantRecord, 'owner' | 'pin' | 'storage'>): Keeping {
    const {owner} = entry;
    const placement = this.#placementOf(placedTenant(id, entry));
    const placed = placement.owner === null ? [] : [placement.owner, ...placement.standbys];
    const others = this.#standbys === 0 ? [] : placed.filter(host => host !== owner?.host);
    const isOwner = owner?.host === this.#host;
    return {
      isKept: isOwner || others.includes(this.#host),
      makesBases: others.length === 0 ? isOwner : others[0] === this.#host,
    };
  }

  #placementOf(tenant: PlacedTenant): Placement {
    const isOfShard = tenant.pin === null && this.#hosts.every(({storage}) => storage >= tenant.storage);
    if (!isOfShard) return placementOf(tenant, this.#hosts, this.#standbys);
    const shard = shardOf(tenant.id);
    const placement = this.#placements.get(shard) ?? placementOf(tenant, this.#hosts, this.#standbys);
    this.#placements.set(shard, placement);
    return placement;
  }
}
