/**
 * Decides which hosts a tenant belongs to. Tenants are divided among `SHARDS` shards by a hash of their id, and each shard
 * ranks the hosts by weighted rendezvous hashing: the first one owns its tenants, the next ones are standbys. A pin
 * overrides the owner of one tenant.
 *
 * Each host gets a score for each shard, from nothing but the two names and its capacity. So all hosts that know the same
 * members compute the same, whatever the order in which they learned of them. A host that joins takes shards from the
 * others, and moves none between them; a host that leaves gives its shards to the ones that ranked next. Its share is its
 * capacity divided by that of all hosts, on average over many clusters: with 32 shards and three equal hosts, one host
 * has between 5 and 16 shards in 19 of 20 clusters.
 *
 * Hosts can disagree for a moment, when they know of different members. This costs a move, never safety: only the log of
 * a tenant decides who owns it.
 */
import {createHash} from 'node:crypto';
import {assert} from '../../shared/assert.ts';
import {CAPACITY_MAX} from '../limits.ts';
import {shardOf} from '../log/subjects.ts';

export type PlacedHost = {
  readonly name: string;
  /** A weight, above 0 and up to `CAPACITY_MAX`: a host with 2 gets twice as many shards as a host with 1. */
  readonly capacity: number;
  /** The newest storage version that it can read and write. */
  readonly storage: number;
};

type Weighed = Pick<PlacedHost, 'name' | 'capacity'>;

/** What of a tenant decides where it is. */
export type PlacedTenant = {
  readonly id: string;
  /** Host that is to own it; null: there is none. */
  readonly pin: string | null;
  /** Storage version that a host must have to open its file. */
  readonly storage: number;
};

export type Placement = {
  /** Null: there are no hosts. */
  readonly owner: string | null;
  /** In the order in which they would become the owner. Fewer than requested, if there are not enough hosts. */
  readonly standbys: readonly string[];
};

/**
 * Only hosts that can open the tenant's file count, and of those the ones with the oldest release come first: a file that a
 * later release has migrated cannot be opened by the others, so it stays where it is until all of them are upgraded. A pin
 * is ignored while its host is not among the first ones, so that the tenant stays available.
 * @param hosts that can own tenants, in any order: live ones, without those that drain. Names are unique
 * @param standbys how many there should be, 0 or more
 */
export function placementOf(
  {id, pin, storage}: PlacedTenant,
  hosts: readonly PlacedHost[],
  standbys: number,
): Placement {
  const able = hosts.filter(host => host.storage >= storage);
  const [oldest, later] = byRelease(able).map(some => rankedHosts(shardOf(id), some)) as [string[], string[]];
  const pinned = oldest.filter(name => name === pin);
  const [owner, ...others] = [...pinned, ...oldest.filter(name => name !== pin), ...later];
  return {owner: owner ?? null, standbys: others.slice(0, standbys)};
}

/** Those that get tenants, and those that wait until all hosts have their release. */
export function byRelease<Host extends PlacedHost>(hosts: readonly Host[]): [oldest: Host[], later: Host[]] {
  const least = Math.min(...hosts.map(({storage}) => storage));
  return [hosts.filter(({storage}) => storage === least), hosts.filter(({storage}) => storage !== least)];
}

/** The names of all hosts, best first. @param shard 0 to `SHARDS` - 1 */
export function rankedHosts(shard: number, hosts: readonly Weighed[]): string[] {
  assert(new Set(hosts.map(({name}) => name)).size === hosts.length, 'hosts have different names');
  return hosts
    .map(({name, capacity}) => ({name, score: scoreOf(shard, name, capacity)}))
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .map(({name}) => name);
}

/** A hash makes a random number in (0, 1), and -capacity / ln of it ranks hosts in proportion to their capacities. */
function scoreOf(shard: number, name: string, capacity: number): number {
  assert(capacity > 0 && capacity <= CAPACITY_MAX, 'a capacity is checked where it is given');
  const hash = createHash('sha256').update(`${shard} ${name}`).digest().readUIntBE(0, 6);
  return -capacity / Math.log((hash + 0.5) / 2 ** 48);
}
