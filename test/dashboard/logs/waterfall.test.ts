/** The bars of a request: one for each execution, inside of its scale, and a job has a scale of its own. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {barsOf} from '../../../dashboard/pages/logs/waterfall.ts';
import {callTree, linesOfTree} from '../../../shared/call-tree.ts';
import {entryOf} from '../../harness/log-entry.ts';

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const part = fc.record({
  at: fc.nat(1e6),
  duration_ms: fc.nat(1e5),
  call_id: id,
  parent_call_id: fc.option(id),
  caller: fc.constantFrom('client' as const, 'function' as const, 'job' as const),
});

test('every execution has a bar that is inside of its scale', () => {
  fc.assert(
    fc.property(fc.array(part, {minLength: 1, maxLength: 8}), parts => {
      const tree = callTree(parts.map(entryOf));
      const bars = barsOf(tree);
      expect(bars.map(({node}) => node)).toEqual(linesOfTree(tree).map(({node}) => node));
      for (const {left, width, afterMs} of bars) {
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left + width).toBeLessThanOrEqual(100 + 1e-9);
        expect(width).toBeGreaterThan(0);
        expect(Number.isFinite(afterMs)).toBe(true);
      }
    }),
  );
});

test('a job that runs an hour later does not press the request into a point', () => {
  const root = {at: 0, duration_ms: 100, call_id: 'a', parent_call_id: null};
  const call = {at: 50, duration_ms: 50, call_id: 'b', parent_call_id: 'a'};
  const job = {at: 3_600_000, duration_ms: 10, call_id: 'c', parent_call_id: 'a', caller: 'job'} as const;
  const bars = barsOf(callTree([root, call, job].map(entryOf)));
  expect(bars.map(({left, width, afterMs}) => [left, width, afterMs])).toEqual([
    [0, 100, 0],
    [50, 50, 50],
    [0, 100, 3_600_000],
  ]);
});
