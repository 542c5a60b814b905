import {beforeEach, describe, expect, test} from 'vitest';
import {
  IN_USE_TURN_MS,
  RECENT_TRAFFIC_MS,
  SILENT_WAKES_MAX,
  WAKE_SLOW_MS,
  WAKES_AT_ONCE_MAX,
} from '../../supervisor/limits.ts';
import type {Lifecycle} from '../../supervisor/tenants/lifecycle.ts';
import {Place} from '../../supervisor/tenants/place.ts';
import {Slots} from '../../supervisor/tenants/slots.ts';

const NOW_MS = 10_000;
let slots: Slots;

beforeEach(() => {
  slots = new Slots(2);
});

function place(id: string, lifecycle: Lifecycle, lastActiveMs = 0): Place {
  const made = new Place({id, generation: 1, createdMs: 0}, {isMarkedAwake: false, isToOpen: false});
  made.lastActiveMs = lastActiveMs;
  return move(made, lifecycle);
}

function move(at: Place, lifecycle: Lifecycle): Place {
  at.lifecycle = lifecycle;
  slots.follow(at);
  return at;
}

const awake: Lifecycle = {state: 'awake', crashes: 0, sinceMs: 0};
const closing: Lifecycle = {state: 'closing', crashes: 0, wanted: false, asked: false, stored: false};
const asked: Lifecycle = {state: 'queued', crashes: 0, asked: true};
const silent: Lifecycle = {state: 'queued', crashes: 0, asked: false};

function decision(nowMs = NOW_MS): string {
  const next = slots.decide(nowMs);
  return next === null ? 'nothing' : `${next.input.type} ${next.place.id}`;
}

describe('who gets a worker', () => {
  test('nobody waits: nothing to do', () => {
    place('a', awake);
    expect(decision()).toBe('nothing');
  });

  test('a free slot goes to who was asked for, before who came first', () => {
    place('first', silent);
    place('second', asked);
    expect(decision()).toBe('admit second');
  });

  test(`tenants nobody asked for open ${SILENT_WAKES_MAX} at a time`, () => {
    slots = new Slots(10);
    for (let i = 0; i < SILENT_WAKES_MAX; i++) {
      place(`opening ${i}`, {state: 'waking', crashes: 0, asked: false, retried: false});
    }
    place('waits', silent);
    expect(decision()).toBe('nothing');
    place('asked', asked);
    expect(decision()).toBe('admit asked');
  });

  test(`tenants that were asked for open ${WAKES_AT_ONCE_MAX} at a time; one that is slow to open holds up nobody`, () => {
    slots = new Slots(100);
    const opening = Array.from({length: WAKES_AT_ONCE_MAX}, (_, i) => {
      const made = place(`opening ${i}`, {state: 'waking', crashes: 0, asked: true, retried: false});
      made.wakingSinceMs = NOW_MS;
      return made;
    });
    place('waits', asked);
    place('silent', silent);
    expect(decision()).toBe('nothing');
    opening[0]!.wakingSinceMs = NOW_MS - WAKE_SLOW_MS;
    expect(decision()).toBe('admit waits');
    opening[0]!.wakingSinceMs = NOW_MS;
    move(opening[1]!, awake);
    expect(decision()).toBe('admit waits');
  });

  test('one that wants to stay awake is asked after all others, and not any more when its time is over', () => {
    const used = place('used', awake, 100);
    place('other', awake, 200);
    place('waits', asked);
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
      place(id, awake, at).inUseUntilMs = NOW_MS + 1;
    place('waits', asked);
    expect(decision()).toBe('let_go older');
  });

  test('who wants to stay awake has its turn before it goes for one that nobody asked for', () => {
    const [first, second] = [place('first', {...awake, sinceMs: 0}, 1), place('second', {...awake, sinceMs: 0}, 2)];
    for (const each of [first, second]) each.inUseUntilMs = Number.MAX_SAFE_INTEGER;
    place('waits', silent);
    expect(decision()).toBe('nothing');
    expect(decision(IN_USE_TURN_MS)).toBe('let_go first');
    place('asked', asked);
    expect(decision()).toBe('let_go first');
  });

  test('who had traffic a moment ago has its turn before it goes for one that nobody asked for', () => {
    slots = new Slots(1);
    const used = place('used', {...awake, sinceMs: NOW_MS - 100}, NOW_MS - 1);
    place('due', silent);
    expect(decision()).toBe('nothing');
    expect(decision(NOW_MS + RECENT_TRAFFIC_MS)).toBe('let_go used');
    // Traffic that never pauses keeps nobody's work from its time for long.
    used.lastActiveMs = NOW_MS + IN_USE_TURN_MS;
    expect(decision(NOW_MS + IN_USE_TURN_MS)).toBe('let_go used');
    place('asked', asked);
    used.lastActiveMs = NOW_MS;
    expect(decision()).toBe('let_go used');
  });

  test('no free slot: the least recently used worker is asked to let go', () => {
    place('newer', awake, 2);
    place('older', awake, 1);
    place('waits', asked);
    expect(decision()).toBe('let_go older');
  });

  test('one slot becoming free is enough for one that waits', () => {
    place('a', awake);
    place('b', closing);
    place('waits', asked);
    expect(decision()).toBe('nothing');
  });

  test('all in use: who came last is refused', () => {
    for (const id of ['a', 'b']) place(id, awake).busyUntilMs = NOW_MS + 1;
    place('waits', asked);
    place('waits longer', asked);
    expect(decision()).toBe('refuse waits longer');
  });

  test('all in use: who was not asked for goes on waiting', () => {
    for (const id of ['a', 'b']) place(id, awake).busyUntilMs = NOW_MS + 1;
    place('waits', silent);
    expect(decision()).toBe('nothing');
  });

  test('a worker that has ended leaves its slot', () => {
    const a = place('a', awake);
    place('b', awake);
    place('waits', asked);
    move(a, {state: 'asleep', crashes: 0});
    expect(decision()).toBe('admit waits');
  });
});
