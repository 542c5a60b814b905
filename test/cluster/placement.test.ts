import fc from 'fast-check';
import {expect, test} from 'vitest';
import {CAPACITY_MAX, SHARDS} from '../../cluster/limits.ts';
import {shardOf} from '../../cluster/log/subjects.ts';
import {type PlacedHost, placementOf, rankedHosts} from '../../cluster/placement/placement.ts';

const ALL_SHARDS = Array.from({length: SHARDS}, (_, shard) => shard);
const HOST = fc.record({
  name: fc.stringMatching(/^[a-z0-9]{1,8}$/),
  capacity: fc.double({min: 0.01, max: CAPACITY_MAX, noNaN: true}),
  storage: fc.constant(1),
});
const HOSTS = fc.uniqueArray(HOST, {minLength: 1, maxLength: 8, selector: ({name}) => name});
const TENANT = fc.record({
  id: fc.stringMatching(/^[A-Za-z0-9][\w-]{0,63}$/),
  pin: fc.constant(null),
  storage: fc.nat({max: 1}),
});

const owners = (hosts: Parameters<typeof rankedHosts>[1]) => ALL_SHARDS.map(shard => rankedHosts(shard, hosts)[0]);

test('the order in which hosts are known changes nothing', () => {
  fc.assert(
    fc.property(HOSTS, TENANT, fc.nat({max: 3}), fc.infiniteStream(fc.nat()), (hosts, tenant, standbys, order) => {
      const shuffled = hosts.map(host => ({host, at: order.next().value})).sort((a, b) => a.at - b.at);
      const other = shuffled.map(({host}) => host);
      expect(placementOf(tenant, other, standbys)).toEqual(placementOf(tenant, hosts, standbys));
    }),
  );
});

test('an owner and its standbys are different hosts, as many as there are', () => {
  fc.assert(
    fc.property(HOSTS, TENANT, fc.nat({max: 9}), (hosts, tenant, standbys) => {
      const placement = placementOf(tenant, hosts, standbys);
      const placed = [placement.owner, ...placement.standbys];
      expect(new Set(placed).size).toBe(Math.min(hosts.length, 1 + standbys));
      expect(hosts.map(({name}) => name)).toEqual(expect.arrayContaining(placed));
    }),
  );
});

test('a host that joins takes shards and moves none between the others; one that leaves gives its own to the next', () => {
  fc.assert(
    fc.property(HOSTS, HOST, (hosts, joining) => {
      fc.pre(!hosts.some(({name}) => name === joining.name));
      const [before, after] = [owners(hosts), owners([...hosts, joining])];
      for (const shard of ALL_SHARDS) {
        if (after[shard] !== joining.name) expect(after[shard]).toBe(before[shard]);
        const ranked = rankedHosts(shard, [...hosts, joining]);
        expect(ranked.filter(name => name !== joining.name)).toEqual(rankedHosts(shard, hosts));
      }
    }),
  );
});

test('a host whose capacity grows loses no shard', () => {
  fc.assert(
    fc.property(HOSTS, fc.double({min: 1, max: 10, noNaN: true}), (hosts, factor) => {
      const [first, ...rest] = hosts as [PlacedHost, ...PlacedHost[]];
      const grown = [{...first, capacity: Math.min(CAPACITY_MAX, first.capacity * factor)}, ...rest];
      const [before, after] = [owners(hosts), owners(grown)];
      for (const shard of ALL_SHARDS) if (before[shard] === first.name) expect(after[shard]).toBe(first.name);
    }),
  );
});

// The names are the same in each run, so the counts are too.
test('shards are shared in proportion to capacity', () => {
  const counts = [0, 0, 0];
  const clusters = 500;
  for (let i = 0; i < clusters; i++) {
    const hosts = [1, 1, 2].map((capacity, at) => ({name: `host-${i}-${at}`, capacity}));
    for (const owner of owners(hosts)) counts[hosts.findIndex(({name}) => name === owner)]!++;
  }
  const shares = counts.map(count => count / (clusters * SHARDS));
  expect(shares[0]).toBeCloseTo(0.25, 1);
  expect(shares[1]).toBeCloseTo(0.25, 1);
  expect(shares[2]).toBeCloseTo(0.5, 1);
});

test('all hosts of all versions agree: these shards have had these owners since the first one', () => {
  const hosts = ['a', 'b', 'c'].map(name => ({name, capacity: 1}));
  expect(owners(hosts).join('')).toBe('cbccbbbccaabcaaccccaaaacbcaacabc');
  expect(shardOf('acme')).toBe(13);
});

test('a pin names the owner while that host is there, and is ignored while it is not', () => {
  const hosts = ['a', 'b', 'c'].map(name => ({name, capacity: 1, storage: 1}));
  const placed = (pin: string | null, of = hosts) => placementOf({id: 'acme', pin, storage: 1}, of, 2);
  const free = placed(null);
  for (const {name} of hosts) {
    const pinned = placed(name);
    expect(pinned.owner).toBe(name);
    expect(pinned.standbys).toEqual([free.owner, ...free.standbys].filter(other => other !== name));
  }
  expect(placed('d')).toEqual(free);
  expect(placed('a', [])).toEqual({owner: null, standbys: []});
});

test('hosts of the oldest release get the tenants, and files that a later one has migrated stay with those', () => {
  const hosts = [
    ['a', 2],
    ['b', 1],
    ['c', 1],
  ].map(([name, storage]) => ({name, capacity: 1, storage}) as PlacedHost);
  const old = hosts.filter(({storage}) => storage === 1);
  for (const id of ['one', 'two', 'three', 'four']) {
    const tenant = {id, pin: null, storage: 1};
    const {owner, standbys} = placementOf(tenant, old, 1);
    expect(placementOf(tenant, hosts, 2)).toEqual({owner, standbys: [...standbys, 'a']});
    expect(placementOf({...tenant, pin: 'a'}, hosts, 2).owner).toBe(owner);
    expect(placementOf({...tenant, storage: 2}, hosts, 2)).toEqual({owner: 'a', standbys: []});
    expect(placementOf({...tenant, storage: 2}, old, 2)).toEqual({owner: null, standbys: []});
  }
});
