import {beforeEach, describe, expect, test} from 'vitest';
import {
  IN_USE_TURN_MS,
  RECENT_TRAFFIC_MS,
  SILENT_WAKES_MAX,
  WAKE_SLOW_MS,
  WAKES_AT_ONCE_MAX,
} from '../../supervisor/limits.ts';
import type {Lifecycle} from '../../supervisor/tenants/lifecycle-states.ts';
import {Slots} from '../../supervisor/tenants/slots.ts';
import {TenantEntry} from '../../supervisor/tenants/tenant-entry.ts';

const NOW_MS = 10_000;
let slots: Slots;

beforeEach(() => {
  slots = new Slots(2);
});

function entry(id: string, lifecycle: Lifecycle, lastActiveMs = 0): TenantEntry {
  const made = new TenantEntry({id, generation: 1, createdMs: 0}, {isMarkedAwake: false, isToOpen: false});
  made.lastActiveMs = lastActiveMs;
  return move(made, lifecycle);
}

function move(at: TenantEntry, lifecycle: Lifecycle): TenantEntry {
  at.lifecycle = lifecycle;
  slots.follow(at);
  return at;
}

const awake: Lifecycle = {state: 'awake', crashes: 0, sinceMs: 0};
const closing: Lifecycle = {state: 'closing', crashes: 0, wanted: false, requested: false, stored: false};
const requested: Lifecycle = {state: 'queued', crashes: 0, requested: true};
const silent: Lifecycle = {state: 'queued', crashes: 0, requested: false};

function decision(nowMs = NOW_MS): string {
  const next = slots.decide(nowMs);
  return next === null ? 'nothing' : `${next.input.type} ${next.entry.id}`;
}

describe('who gets a worker', () => {
  test('nobody waits: nothing to do', () => {
    entry('a', awake);
    expect(decision()).toBe('nothing');
  });

  test('a free slot goes to who was asked for, before who came first', () => {
    entry('first', silent);
    entry('second', requested);
    expect(decision()).toBe('admit second');
  });

  test(`tenants nobody asked for open ${SILENT_WAKES_MAX} at a time`, () => {
    slots = new Slots(10);
    for (let i = 0; i < SILENT_WAKES_MAX; i++) {
      entry(`opening ${i}`, {state: 'waking', crashes: 0, requested: false, retried: false});
    }
    entry('waits', silent);
    expect(decision()).toBe('nothing');
    entry('asked', requested);
    expect(decision()).toBe('admit asked');
  });

  test(`tenants that were asked for open ${WAKES_AT_ONCE_MAX} at a time; one that is slow to open holds up nobody`, () => {
    slots = new Slots(100);
    const opening = Array.from({length: WAKES_AT_ONCE_MAX}, (_, i) => {
      const made = entry(`opening ${i}`, {state: 'waking', crashes: 0, requested: true, retried: false});
      made.wakingSinceMs = NOW_MS;
      return made;
    });
    entry('waits', requested);
    entry('silent', silent);
    expect(decision()).toBe('nothing');
    opening[0]!.wakingSinceMs = NOW_MS - WAKE_SLOW_MS;
    expect(decision()).toBe('admit waits');
    opening[0]!.wakingSinceMs = NOW_MS;
    move(opening[1]!, awake);
    expect(decision()).toBe('admit waits');
  });

  test('one that wants to stay awake is asked after all others, and not any more when its time is over', () => {
    const used = entry('used', awake, 100);
    entry('other', awake, 200);
    entry('waits', requested);
    used.inUseUntilMs = NOW_MS + 1;
    expect(decision()).toBe('let_go other');
    used.inUseUntilMs = NOW_MS;
    expect(decision()).toBe('let_go used');
  });

  test('when all want to, the least recently used is asked all the same', () => {
    for (const [id, at] of [
      ['newer', 200],
      ['older', 100],
    ] as const)
      entry(id, awake, at).inUseUntilMs = NOW_MS + 1;
    entry('waits', requested);
    expect(decision()).toBe('let_go older');
  });

  test('who wants to stay awake has its turn before it goes for one that nobody asked for', () => {
    const [first, second] = [entry('first', {...awake, sinceMs: 0}, 1), entry('second', {...awake, sinceMs: 0}, 2)];
    for (const each of [first, second]) each.inUseUntilMs = Number.MAX_SAFE_INTEGER;
    entry('waits', silent);
    expect(decision()).toBe('nothing');
    expect(decision(IN_USE_TURN_MS)).toBe('let_go first');
    entry('asked', requested);
    expect(decision()).toBe('let_go first');
  });

  test('who had traffic a moment ago has its turn before it goes for one that nobody asked for', () => {
    slots = new Slots(1);
    const used = entry('used', {...awake, sinceMs: NOW_MS - 100}, NOW_MS - 1);
    entry('due', silent);
    expect(decision()).toBe('nothing');
    expect(decision(NOW_MS + RECENT_TRAFFIC_MS)).toBe('let_go used');
    // Traffic that never pauses keeps nobody's work from its time for long.
    used.lastActiveMs = NOW_MS + IN_USE_TURN_MS;
    expect(decision(NOW_MS + IN_USE_TURN_MS)).toBe('let_go used');
    entry('asked', requested);
    used.lastActiveMs = NOW_MS;
    expect(decision()).toBe('let_go used');
  });

  test('no free slot: the least recently used worker is asked to let go', () => {
    entry('newer', awake, 2);
    entry('older', awake, 1);
    entry('waits', requested);
    expect(decision()).toBe('let_go older');
  });

  test('one slot becoming free is enough for one that waits', () => {
    entry('a', awake);
    entry('b', closing);
    entry('waits', requested);
    expect(decision()).toBe('nothing');
  });

  test('all in use: who came last is refused', () => {
    for (const id of ['a', 'b']) entry(id, awake).busyUntilMs = NOW_MS + 1;
    entry('waits', requested);
    entry('waits longer', requested);
    expect(decision()).toBe('refuse waits longer');
  });

  test('all in use: who was not asked for goes on waiting', () => {
    for (const id of ['a', 'b']) entry(id, awake).busyUntilMs = NOW_MS + 1;
    entry('waits', silent);
    expect(decision()).toBe('nothing');
  });

  test('a worker that has ended leaves its slot', () => {
    const a = entry('a', awake);
    entry('b', awake);
    entry('waits', requested);
    move(a, {state: 'asleep', crashes: 0});
    expect(decision()).toBe('admit waits');
  });
});
