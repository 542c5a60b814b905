/** The index of held stretches against a list that is gone through. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {type Interval, IntervalIndex} from '../../engine/live/interval-index.ts';

/** Few letters, so that bounds and places meet; what continues another is behind it, as with keys. */
const place = fc.string({unit: fc.constantFrom('\0', 'a', 'b', '\xff'), maxLength: 4});
const range = fc
  .oneof(
    fc.tuple(place, place),
    place.map((lower): [string, string] => [lower, `${lower}\0`]),
  )
  .filter(([lower, upper]) => lower < upper);
const step = fc.oneof(
  {weight: 3, arbitrary: fc.record({do: fc.constant('add' as const), range})},
  {weight: 1, arbitrary: fc.record({do: fc.constant('remove' as const), pick: fc.nat()})},
  {weight: 3, arbitrary: fc.record({do: fc.constant('ask' as const), place})},
);

class NaiveIndex {
  readonly held: Interval<number>[] = [];

  at(place: string): number[] {
    return this.held.filter(({lower, upper}) => lower <= place && place < upper).map(({holder}) => holder);
  }
}

const sorted = (numbers: Iterable<number>) => [...new Set(numbers)].sort((a, b) => a - b);

describe('an index of intervals', () => {
  test('knows at each moment who holds a place', () => {
    fc.assert(
      fc.property(fc.array(step, {minLength: 1, maxLength: 120}), steps => {
        const index = new IntervalIndex<number>();
        const naive = new NaiveIndex();
        let holder = 0;
        for (const one of steps) {
          if (one.do === 'add') naive.held.push(index.add(...one.range, holder++ % 7));
          else if (one.do === 'remove') {
            const [gone] = naive.held.splice(one.pick % Math.max(1, naive.held.length), 1);
            if (gone !== undefined) index.remove(gone);
          } else {
            const found = new Set<number>();
            index.collect(one.place, found);
            expect(sorted(found)).toEqual(sorted(naive.at(one.place)));
          }
          expect(index.size).toBe(naive.held.length);
        }
        const all = new Set<number>();
        index.collectAll(all);
        expect(sorted(all)).toEqual(sorted(naive.held.map(one => one.holder)));
      }),
      {numRuns: 500},
    );
  });

  test('is about as deep as a balanced tree, however its stretches come in', () => {
    const index = new IntervalIndex<number>();
    const key = (n: number) => String(n).padStart(6, '0');
    const held = Array.from({length: 20_000}, (_, n) => index.add(key(n), key(n + 2), n));
    const root = held.reduce((a, b) => (a.priority > b.priority ? a : b));
    const depth = (node: Interval<number> | null): number =>
      node === null ? 0 : 1 + Math.max(depth(node.left), depth(node.right));
    expect(depth(root)).toBeLessThan(60);
    const found = new Set<number>();
    index.collect(key(777), found);
    expect([...found]).toEqual([776, 777]);
    for (const interval of held) index.remove(interval);
    expect(index.size).toBe(0);
    index.collectAll(found);
    expect(found.size).toBe(2);
  });

  test('keys of any length are distinguished', () => {
    const index = new IntervalIndex<string>();
    const long = 'x'.repeat(5_000);
    for (const end of ['a', 'b']) index.add(`${long}${end}`, `${long}${end}\0`, end);
    const found = new Set<string>();
    index.collect(`${long}b`, found);
    expect([...found]).toEqual(['b']);
  });
});
