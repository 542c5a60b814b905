/** Tenants that a host opens without a request, as a pure function of entries, members and time. */
import {expect, test} from 'vitest';
import {dueTenants} from '../../cluster/host/due-tenants.ts';
import type {Members} from '../../cluster/members/members.ts';
import {newTenant, type TenantRecord} from '../../cluster/ownership/tenant-record.ts';
import {placementOf} from '../../cluster/placement/placement.ts';
import {ABOUT} from './harness/test-member.ts';

const NOW = 1_000;
/** Of the placement of two hosts. */
const OF_A = idOf('a');
const OF_B = idOf('b');

function idOf(host: string): string {
  const hosts = ['a', 'b'].map(name => ({name, capacity: 1, storage: 1}));
  const ids = Array.from({length: 100}, (_, n) => `tenant-${n}`);
  return ids.find(id => placementOf({id, pin: null, storage: 1}, hosts, 0).owner === host)!;
}

function member(
  host: string,
  incarnation = 1,
  state: 'live' | 'draining' = 'live',
): ReturnType<Members['serving']>[number] {
  return {host, record: {format: 1, state, incarnation, start: '0'.repeat(32), counter: 1, ...ABOUT}};
}

/** What host `a` opens of a tenant that the placement gives it. */
function due(
  more: Partial<TenantRecord>,
  others: ReturnType<typeof member>[],
  {id = OF_A, held = [] as string[]} = {},
): string[] {
  const entries = new Map([[id, {...newTenant(1, 1), epoch: 1, ...more}]]);
  const serving = [member('a'), ...others];
  return dueTenants(entries, {
    self: {host: 'a', incarnation: 1},
    serving,
    nowMs: NOW,
    holds: its => held.includes(its),
  });
}

const ofB = {owner: {host: 'b', incarnation: 1}};

test('its own, when they have work and no worker', () => {
  const own = {owner: {host: 'a', incarnation: 1}};
  expect(due({...own, dueMs: NOW}, [])).toEqual([OF_A]);
  expect(due({...own, dueMs: NOW}, [member('b')], {id: OF_B})).toEqual([OF_B]);
  expect(due({...own, dueMs: NOW + 1}, [])).toEqual([]);
  expect(due({...own, dueMs: null}, [])).toEqual([]);
  expect(due({...own, dueMs: 0}, [], {held: [OF_A]})).toEqual([]);
});

test('those of a host that is lost, if the placement says so', () => {
  expect(due({...ofB, dueMs: 0}, [])).toEqual([OF_A]);
});

test('none of a host that serves', () => {
  for (const dueMs of [0, NOW]) expect(due({...ofB, dueMs}, [member('b')])).toEqual([]);
});

test('none that is open on a host that drains: its links would be cut each second', () => {
  expect(due({...ofB, dueMs: 0}, [member('b', 1, 'draining')])).toEqual([]);
  expect(due({...ofB, dueMs: NOW}, [member('b', 1, 'draining')])).toEqual([OF_A]);
});

test('those that were of a host before it joined again, also if it does not get them by the placement', () => {
  for (const dueMs of [0, NOW]) expect(due({...ofB, dueMs}, [member('b', 2)])).toEqual([OF_A]);
});
