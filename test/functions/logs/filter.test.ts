/** Filters of the log of executions. */
import {expect, test} from 'vitest';
import type {LogEntry} from '../../../shared/protocol/functions.ts';
import {matches, readFilter} from '../../../worker/runtime/log/log-entries.ts';

const entry = (n: number, facts: Partial<LogEntry> = {}): LogEntry => {
  const base = {n, at: 1_000 * n, request_id: `r${n}`, path: 'm:f', kind: 'query', caller: 'client'} as const;
  return {...base, outcome: 'success', duration_ms: 0.25, error: null, lines: [], ...facts};
};

const ENTRIES = [
  entry(1, {lines: ["[LOG] 'A Word'"]}),
  entry(2, {lines: ["[WARN] 'careful'", "[INFO] 'x'"], path: 'words:all'}),
  entry(3, {outcome: 'error', error: 'Uncaught Error: a WORD too many'}),
  entry(4, {lines: ["[ERROR] 'caught'"]}),
];

test.each([
  ['text=word', [1, 2, 3]],
  ['text=[WARN]', [2]],
  ['text=none', []],
  ['level=warn', [2]],
  ['level=info', [2]],
  ['level=log', [1]],
  ['level=error', [3, 4]],
  ['level=error&text=word', [3]],
  ['before=3000.25-3', [1, 2]],
  ['before=3000.25-4', [1, 2, 3]],
  ['before=1000.25-1', []],
])('%s', (query, found) => {
  const filter = readFilter(new URLSearchParams(query));
  expect(ENTRIES.filter(one => matches(filter, one)).map(({n}) => n)).toEqual(found);
});

test.each(['level=loud', 'before=3', 'before=x-1'])('%s is refused', query => {
  expect(() => readFilter(new URLSearchParams(query))).toThrow(/^(?:level|before) must be /);
});
