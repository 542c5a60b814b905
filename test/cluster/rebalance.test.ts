/** Tenants that belong to a host that has joined, as a pure function of entries, members and time. */
import {expect, test} from 'vitest';
import {Rebalance} from '../../cluster/host/rebalance.ts';
import {REBALANCE_AFTER_MS, REBALANCE_AWAKE_MAX} from '../../cluster/limits.ts';
import type {Members} from '../../cluster/members/members.ts';
import {newTenant} from '../../cluster/ownership/tenant-record.ts';
import {placementOf} from '../../cluster/placement/placement.ts';
import {ABOUT} from './harness/test-member.ts';

const SELF = {host: 'a', incarnation: 1};
const IDS = Array.from({length: 40}, (_, n) => `tenant-${n}`);
const ENTRIES = new Map(IDS.map(id => [id, {...newTenant(1, 1), owner: SELF, epoch: 1}]));

function member(host: string, silentMs = 0, state: 'live' | 'draining' = 'live'): ReturnType<Members['all']>[number] {
  const start = '0'.repeat(32);
  return {host, silentMs, record: {format: 1, state, incarnation: 1, start, counter: 1, ...ABOUT}};
}

/** A course of time with these members. */
function rebalance(members: ReturnType<Members['all']>, isServing: (id: string) => boolean = () => false) {
  const found = new Rebalance({all: () => members});
  return (nowMs: number) => found.next(ENTRIES, {self: SELF, nowMs, isServing});
}

test('a host that joined gets the tenants that the placement names, once it has been there for a while', () => {
  const next = rebalance([member('a'), member('b')]);
  expect(next(0)).toEqual([]);
  expect(next(REBALANCE_AFTER_MS - 1)).toEqual([]);
  const hosts = ['a', 'b'].map(name => ({name, capacity: 1, storage: 1}));
  const expected = IDS.filter(id => placementOf({id, pin: null, storage: 1}, hosts, 0).owner === 'b');
  expect(next(REBALANCE_AFTER_MS)).toEqual(expected.slice(0, 32).map(id => ({id, host: 'b'})));
});

test('tenants that are served follow one by one, when none sleeps', () => {
  const next = rebalance([member('a'), member('b')], () => true);
  next(0);
  expect(next(REBALANCE_AFTER_MS)).toHaveLength(REBALANCE_AWAKE_MAX);
});

test('a host that drains, or was not heard just now, gets none', () => {
  for (const other of [member('b', 0, 'draining'), member('b', 5_000)]) {
    const next = rebalance([member('a'), other]);
    next(0);
    expect(next(REBALANCE_AFTER_MS)).toEqual([]);
  }
});

test('a tenant that an operator moved stays, when a host that joined has its tenants', () => {
  const members = [member('a'), member('b')];
  const found = new Rebalance({all: () => members});
  const at = (entries: typeof ENTRIES, nowMs: number) =>
    found.next(entries, {self: SELF, nowMs, isServing: () => false});
  at(ENTRIES, 0);
  expect(at(new Map(), REBALANCE_AFTER_MS)).toEqual([]);
  expect(at(ENTRIES, REBALANCE_AFTER_MS + 1)).toEqual([]);
});
