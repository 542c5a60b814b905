import {expect, test} from 'vitest';
import {Metrics} from '../../shared/metrics/metrics.ts';

const TABLE = {
  calls_total: {type: 'counter', help: 'Calls.', labels: ['kind', 'outcome']},
  ends_total: {type: 'counter', help: 'Ends.', labels: ['cause'], from: ['crash']},
  writes_total: {type: 'counter', help: 'Writes.'},
  seconds: {type: 'histogram', help: 'Time.', buckets: [1, 2]},
  open: {type: 'gauge', help: 'Open.', aggregator: 'max'},
  bytes: {type: 'gauge', help: 'Bytes.', labels: ['tenant']},
} as const;

/** Series with their values, by metric. */
function series(metrics: Metrics<typeof TABLE>): Record<string, [string, number][]> {
  const shown = metrics
    .report()
    .map(({name, values}) => [
      name,
      values.map(({labels, metricName, value}) => [[metricName, ...Object.values(labels)].join(' ').trim(), value]),
    ]);
  return Object.fromEntries(shown);
}

test('metrics without labels and known values of one label start at 0; other series with their first count', () => {
  const metrics = new Metrics(TABLE);
  expect(series(metrics)).toEqual({
    calls_total: [],
    ends_total: [['crash', 0]],
    writes_total: [['', 0]],
    seconds: [
      ['seconds_bucket 1', 0],
      ['seconds_bucket 2', 0],
      ['seconds_bucket +Inf', 0],
      ['seconds_sum', 0],
      ['seconds_count', 0],
    ],
    open: [['', 0]],
    bytes: [],
  });
  metrics.count('calls_total', {kind: 'query', outcome: 'success'});
  metrics.count('calls_total', {outcome: 'success', kind: 'query'});
  metrics.add('writes_total', 3);
  metrics.series('ends_total', {cause: 'memory'}).value++;
  metrics.observe('seconds', 2);
  metrics.measure('open', () => 4);
  metrics.measure('bytes', () => [[{tenant: 'a'}, 5]]);
  expect(series(metrics)).toMatchObject({
    calls_total: [['query success', 2]],
    ends_total: [
      ['crash', 0],
      ['memory', 1],
    ],
    writes_total: [['', 3]],
    seconds: [
      ['seconds_bucket 1', 0],
      ['seconds_bucket 2', 1],
      ['seconds_bucket +Inf', 1],
      ['seconds_sum', 2],
      ['seconds_count', 1],
    ],
    open: [['', 4]],
    bytes: [['a', 5]],
  });
});

test('a report keeps its values; type, help and aggregator are those of the table', () => {
  const metrics = new Metrics(TABLE);
  const report = metrics.report();
  metrics.count('writes_total');
  expect(report.find(({name}) => name === 'writes_total')).toEqual({
    name: 'writes_total',
    type: 'counter',
    help: 'Writes.',
    aggregator: 'sum',
    values: [{labels: {}, value: 0}],
  });
  expect(report.find(({name}) => name === 'open')?.aggregator).toBe('max');
});
