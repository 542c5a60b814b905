/** When a query counts as one that holds up its thread: by what its thread worked, not by the clock alone. */
import {expect, test} from 'vitest';
import {QUERY_POLL_MS, QUERY_POLLS_FIRST, QUERY_POLLS_STARVED} from '../../../worker/runtime/limits.ts';
import {holdsUp, NOT_SEEN, seen} from '../../../worker/runtime/queries/held-up.ts';

/** At which look behind the first it is held up. @param cpuMs of the thread, at each look */
function lookOf(isFirst: boolean, cpuMs: (look: number) => number | null): number {
  let running = seen(NOT_SEEN, 1, cpuMs(0));
  for (let look = 1; look < 1_000; look++) {
    running = seen(running, 1, cpuMs(look));
    if (holdsUp(running, isFirst, cpuMs(look))) return look;
  }
  return Number.POSITIVE_INFINITY;
}

test.each([
  ['works all the time', false, (look: number) => look * QUERY_POLL_MS, 1],
  ['works half of the time', false, (look: number) => look * QUERY_POLL_MS * 0.5, 1],
  ['is let run a fifth of the time', false, (look: number) => look * QUERY_POLL_MS * 0.2, 3],
  ['is never let run, or waits for the disk', false, () => 7, QUERY_POLLS_STARVED],
  ['is not reported by the system', false, () => null, 1],
  ['loads its module', true, (look: number) => look * QUERY_POLL_MS, QUERY_POLLS_FIRST],
  ['loads its module and is never let run', true, () => 7, QUERY_POLLS_FIRST * QUERY_POLLS_STARVED],
])('a thread that %s', (_what, isFirst, cpuMs, look) => {
  expect(lookOf(isFirst, cpuMs)).toBe(look);
});

test('each query of a batch begins anew', () => {
  const first = seen(seen(NOT_SEEN, 1, 0), 1, 100);
  expect(seen(first, 2, 100)).toEqual({begun: 2, polls: 0, cpuMs: 100});
});
