/** Which points of a tenant stay. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {isCheaper, plan, reachable} from '../../../copies/repository/plan.ts';
import {type Policy, tidied} from '../../../copies/repository/retention.ts';
import type {CopyItem, TimelineCopies} from '../../../copies/repository/tenant-copies.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

/** Digests are the numbers of the commits, so any items that meet fit. */
function item(first: number, last: number, timeMs: number, bytes = 10): CopyItem {
  const digests = {digestBefore: `d${Math.max(0, first - 1)}`, digestAfter: `d${last}`};
  const place = {pack: `packs/${first}-${last}`, at: 0, sealedBytes: bytes};
  const of = {timeline: 't', first, last, sequence: last, timeMs, pageBytes: 512, pages: 1, sha256: '', bytes, place};
  return {kind: first === 0 ? 'base' : 'set', ...of, ...digests};
}

/** A base, and a set for each time, oldest first. */
function timelineOf(times: readonly number[], bases: readonly number[] = [1]): TimelineCopies {
  const all = times.map((timeMs, i) => item(i + 1, i + 1, timeMs));
  const made = bases.map(commit => item(0, commit, times[commit - 1]!, 100));
  return {timeline: 't', origin: null, startedMs: 0, bases: made, sets: all.filter(({last}) => last > 1)};
}

/** As a turn of the compaction leaves it. @param sizeOf of what is merged: differences to a page can be smaller than it */
function applied(timeline: TimelineCopies, policy: Policy | null, sizeOf = (_: readonly CopyItem[]) => 10) {
  const {runs} = tidied([timeline], policy, NOW);
  const made = runs.filter(run => isCheaper(sizeOf(run), run));
  const merged = made.map(run => item(run[0]!.first, run.at(-1)!.last, run.at(-1)!.timeMs, sizeOf(run)));
  const tried = new Map(runs.filter(run => !made.includes(run)).map(run => [run.at(-1)!, run[0]!.first]));
  const sets = timeline.sets.map(set =>
    tried.has(set) ? {...set, apart: [...(set.apart ?? []), tried.get(set)!]} : set,
  );
  const next = {...timeline, sets: [...sets, ...merged].sort((a, b) => a.last - b.last)};
  const gone = new Set(tidied([next], policy, NOW).dropped);
  const left = (list: readonly CopyItem[]) => list.filter(one => !gone.has(one));
  return {...next, bases: left(next.bases), sets: left(next.sets)};
}

const pointsOf = (timeline: TimelineCopies) => reachable(timeline).map(reached => reached.item.timeMs);

test('points become fewer with their age: of a minute, an hour and a day the last one stays', () => {
  const young = [NOW - 3_000, NOW - 2_000, NOW];
  const hours = [NOW - 3 * HOUR, NOW - 3 * HOUR + 1_000, NOW - 3 * HOUR + MINUTE];
  const days = [NOW - 3 * DAY, NOW - 3 * DAY + MINUTE, NOW - 3 * DAY + 2 * HOUR];
  const months = [NOW - 40 * DAY, NOW - 40 * DAY + HOUR, NOW - 39 * DAY];
  const points = pointsOf(applied(timelineOf([...months, ...days, ...hours, ...young]), null));
  expect(points).toEqual([
    NOW - 40 * DAY, // its base
    ...months.slice(1),
    ...days.slice(1),
    ...hours.slice(1),
    ...young,
  ]);
});

test('a policy keeps the newest points and the last ones of periods, and what leads to them', () => {
  const times = Array.from({length: 20}, (_, i) => NOW - (19 - i) * DAY);
  const points = pointsOf(applied(timelineOf(times, [1, 12]), {daily: 3, weekly: 2}));
  // The base that leads to the oldest of them stays, and the one before does not.
  expect(points).toEqual([times[11], NOW - 6 * DAY, ...times.slice(-3)].sort());
  expect(pointsOf(applied(timelineOf(times), {last: 1}))).toEqual([times[0], NOW]);
});

test('every point that stays can be reached with what stays, and a second turn finds nothing to do', () => {
  const steps = fc.array(fc.constantFrom(1_000, 20_000, 10 * MINUTE, 5 * HOUR, 2 * DAY), {minLength: 1, maxLength: 60});
  const bases = fc.array(fc.nat(59), {maxLength: 3});
  const policies = fc.option(
    fc.record({last: fc.nat(5), hourly: fc.nat(3), daily: fc.nat(3), weekly: fc.nat(3), monthly: fc.nat(2)}),
  );
  fc.assert(
    fc.property(steps, bases, policies, (gaps, at, policy) => {
      const ages = gaps.map((_, i) => gaps.slice(0, i).reduce((sum, gap) => sum + gap, 0));
      const times = ages.map(age => NOW - age).reverse();
      const before = timelineOf(
        times,
        [...new Set([1, ...at.map(one => (one % times.length) + 1)])].sort((a, b) => a - b),
      );
      const after = applied(before, policy);
      const copies = {tenant: 't', timelines: [after], files: [], unreadable: []};
      expect(plan(copies, 'newest').end.last).toBe(times.length);
      // Nothing is there that does not lead to a point.
      const reached = reachable(after).map(one => one.item.last);
      for (const set of after.sets) expect(reached).toContain(set.last);
      const again = tidied([after], policy, NOW);
      expect(again.runs).toEqual([]);
      if (policy === null) {
        const minutes = new Set(times.map(one => Math.floor(one / DAY)));
        expect(new Set(pointsOf(after).map(one => Math.floor(one / DAY)))).toEqual(minutes);
      }
    }),
  );
});

test('compaction ends, whatever merges make of the sizes, and no merge is done twice', () => {
  const MIB = 1_048_576;
  const size = fc.oneof(fc.nat(200), fc.nat(100_000), fc.integer({min: MIB, max: 80 * MIB}));
  const steps = fc.array(fc.record({gap: fc.constantFrom(1_000, 20_000, 10 * MINUTE, 5 * HOUR), bytes: size}), {
    minLength: 1,
    maxLength: 40,
  });
  fc.assert(
    fc.property(
      steps,
      fc.func(size),
      fc.option(fc.record({last: fc.nat(5), daily: fc.nat(3)})),
      (all, sizes, policy) => {
        const ages = all.map((_, i) => all.slice(0, i).reduce((sum, {gap}) => sum + gap, 0));
        const times = ages.map(age => NOW - 10 * age).reverse();
        const begun = timelineOf(times);
        const sets = begun.sets.map((set, i) => ({...set, bytes: all[i]!.bytes}));
        const merge = (run: readonly CopyItem[]) => sizes(run.map(({first}) => first).join());
        const points = pointsOf(settled({...begun, sets}, policy, merge));
        expect(points).toEqual(expect.arrayContaining(pointsOf(settled({...begun, sets}, policy, () => 0))));
      },
    ),
  );
});

/** After as many turns as there is something to do. */
function settled(timeline: TimelineCopies, policy: Policy | null, sizeOf: (run: readonly CopyItem[]) => number) {
  const done = new Set<string>();
  for (let at = timeline; ; at = applied(at, policy, sizeOf)) {
    const {runs, dropped} = tidied([at], policy, NOW);
    if (runs.length + dropped.length === 0) return at;
    for (const run of runs) {
      const key = run.map(({first, last}) => `${first}-${last}`).join();
      expect(done.has(key), key).toBe(false);
      done.add(key);
    }
  }
}
