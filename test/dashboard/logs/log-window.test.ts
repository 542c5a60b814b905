/** The executions that the page of logs holds, against a list of all: any arrivals, pauses, and steps back in time. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {isFiltered, type LogFilter, queryOf} from '../../../dashboard/pages/logs/log-filter.ts';
import {
  type LogEntry,
  type LogWindow,
  NO_ENTRIES,
  released,
  withHistory,
  withNews,
  withOlder,
} from '../../../dashboard/pages/logs/log-window.ts';

const MOST = 6;
const HISTORY = 3;

function entryOf(n: number): LogEntry {
  const of = {request_id: `r${n}`, path: 'a:b', kind: 'query', caller: 'client', outcome: 'success'} as const;
  return {n, at: n, ...of, duration_ms: 1, error: null, lines: []};
}

const step = fc.oneof(
  fc.record({do: fc.constant('arrive' as const), count: fc.integer({min: 1, max: 9})}),
  fc.record({do: fc.constant('missed' as const), count: fc.integer({min: 0, max: 5})}),
  fc.constant({do: 'hold' as const}),
  fc.constant({do: 'release' as const}),
  fc.constant({do: 'older' as const}),
);

test('the window is a part of all executions without a gap, limited, and counts what waits', () => {
  fc.assert(
    fc.property(fc.array(step, {maxLength: 30}), steps => {
      const all = [1, 2, 3, 4, 5].map(entryOf);
      let window: LogWindow = withHistory(NO_ENTRIES, all.slice(-HISTORY), false, MOST);
      let isHeld = false;
      let arrivedWhileHeld = 0;
      const add = (count: number) => {
        const news = Array.from({length: count}, (_, i) => entryOf(all.length + 1 + i));
        all.push(...news);
        return news;
      };
      for (const one of steps) {
        if (one.do === 'arrive') {
          window = withNews(window, add(one.count), isHeld, MOST);
          arrivedWhileHeld = isHeld || window.isDetached ? arrivedWhileHeld + one.count : 0;
        } else if (one.do === 'missed') {
          // The connection was away for `count` entries, and begins again with a history.
          add(one.count);
          if (isHeld || window.isDetached) all.length -= one.count;
          window = withHistory(window, all.slice(-HISTORY), isHeld, MOST);
        } else if (one.do === 'hold') isHeld = true;
        else if (one.do === 'release') {
          isHeld = false;
          arrivedWhileHeld = 0;
          window = window.isDetached
            ? withHistory(NO_ENTRIES, all.slice(-HISTORY), false, MOST)
            : released(window, MOST);
        } else if (window.hasOlder) {
          isHeld = true;
          const last = all.findIndex(({n}) => n === window.entries.at(-1)!.n);
          window = withOlder(window, all.slice(Math.max(0, last - HISTORY), last), MOST);
        }
        const numbers = window.entries.map(({n}) => n);
        expect(numbers.length).toBeLessThanOrEqual(MOST);
        expect(window.waiting.length).toBeLessThanOrEqual(MOST);
        expect(numbers).toEqual(numbers.map((_, i) => numbers[0]! - i));
        if (isHeld) expect(window.waitingCount).toBe(arrivedWhileHeld);
        else if (!window.isDetached) expect(numbers[0]).toBe(all.length);
      }
    }),
  );
});

const ANY: LogFilter = {text: '', path: '', level: '', outcome: '', request: '', range: '', from: '', to: ''};

test('a filter becomes the parameters of the server, and what the server would refuse is left out', () => {
  expect(queryOf(ANY, 5)).toEqual({});
  expect(isFiltered(ANY)).toBe(false);
  expect(queryOf({...ANY, text: 'x', level: 'warn', outcome: 'error', range: '1h'}, 3_600_005)).toEqual({
    text: 'x',
    level: 'warn',
    outcome: 'error',
    since: '5',
  });
  expect(queryOf({...ANY, level: 'loud', outcome: 'maybe', range: 'between', from: 'soon'}, 5)).toEqual({});
  const between = {...ANY, range: 'between', from: '2026-01-31T12:00', to: '2026-01-31T13:00'};
  expect(queryOf(between, 5)).toEqual({
    since: String(new Date(between.from).getTime()),
    until: String(new Date(between.to).getTime()),
  });
});
