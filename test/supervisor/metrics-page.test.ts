import {expect, onTestFinished, test, vi} from 'vitest';
import {EgressMetrics} from '../../shared/metrics/egress-metrics.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {METRICS_REPORT_MS} from '../../supervisor/limits.ts';
import {MetricsPage} from '../../supervisor/metrics/metrics-page.ts';

function counter(value: number): MetricJson {
  return {name: 'c_total', help: 'counts', type: 'counter', aggregator: 'sum', values: [{labels: {route: '/'}, value}]};
}

function gauge(name: string, help: string, value: number): MetricJson {
  return {name, help, type: 'gauge', aggregator: 'sum', values: [{labels: {}, value}]};
}

/** A page of these routers and workers; null: it does not report. */
type Reports = {routers: (MetricJson[] | null)[]; workers: (string | null)[]; egress?: MetricJson[] | null};

/** As a worker counts. */
function writes(value: number, more: object = {}): string {
  return JSON.stringify([{...counter(value), name: 'svc_commit_writes_total', values: [{labels: {}, value}], ...more}]);
}

const WORKERS = [{tenant: 'a'}, {tenant: 'b'}];

function pageOf(reports: Reports): MetricsPage {
  const page = new MetricsPage(
    {
      routers: () => reports.routers.map(report => Promise.resolve(report)),
      workers: () => reports.workers.map((report, at) => ({worker: WORKERS[at]!, report: Promise.resolve(report)})),
      egress: () => Promise.resolve(reports.egress ?? null),
      supervisor: () => Promise.resolve([gauge('g', 'of the supervisor', 1)]),
    },
    error => expect.fail(String(error)),
  );
  onTestFinished(() => page.close());
  return page;
}

async function shown(page: MetricsPage, name: string): Promise<number> {
  const line = (await page.render()).split('\n').find(text => text.startsWith(name));
  return Number(line?.split(' ').at(-1));
}

test('routers, workers and the supervisor are added up', async () => {
  const page = pageOf({
    routers: [[counter(1), gauge('g', 'of all', 10)], [counter(2)]],
    workers: [writes(4), writes(3)],
  });
  const names = ['c_total', 'g ', 'svc_commit_writes_total '];
  expect(await Promise.all(names.map(name => shown(page, name)))).toEqual([3, 11, 7]);
});

test('who does not report is counted; a router keeps what it had counted, but not its gauges', async () => {
  const reports = {
    routers: [[counter(3), gauge('g', 'of all', 10)], [counter(2)]] as (MetricJson[] | null)[],
    workers: [],
  };
  const page = pageOf(reports);
  expect(await shown(page, 'c_total')).toBe(5);
  reports.routers[0] = null;
  expect([await shown(page, 'c_total'), await shown(page, 'g ')]).toEqual([5, 1]);
  expect(await shown(page, 'svc_metrics_missing_total')).toBe(3);
});

test('scrapes that share a report count once who did not report', async () => {
  const page = pageOf({routers: [null], workers: [null]});
  await Promise.all([page.render(), page.render(), page.render()]);
  expect(await shown(page, 'svc_metrics_missing_total')).toBe(4); // with the scrape of this line
});

test('what counts up goes on from where it was when a router is replaced, however often', async () => {
  const reports = {routers: [[counter(3)], [counter(2)]] as (MetricJson[] | null)[], workers: []};
  const page = pageOf(reports);
  for (let count = 5, round = 0; round < 3; round++, count += 5) {
    expect(await shown(page, 'c_total')).toBe(count);
    page.routerEnded(0);
    reports.routers[0] = null;
    expect(await shown(page, 'c_total')).toBe(count);
    reports.routers[0] = [counter(5)];
  }
});

test('the egress process is shown before it is wanted, and what it counted goes on in the next one', async () => {
  const reports: Reports = {routers: [], workers: []};
  const page = pageOf(reports);
  const opened = 'svc_egress_connections_total{outcome="opened"}';
  expect([await shown(page, 'svc_egress_connections '), await shown(page, opened)]).toEqual([0, 0]);
  const counts = new EgressMetrics();
  counts.count('svc_egress_connections_total', {outcome: 'opened'});
  counts.connections = 2;
  reports.egress = counts.report();
  expect([await shown(page, 'svc_egress_connections '), await shown(page, opened)]).toEqual([2, 1]);
  page.egressEnded();
  reports.egress = null;
  expect([await shown(page, 'svc_egress_connections '), await shown(page, opened)]).toEqual([0, 1]);
  reports.egress = counts.report();
  expect(await shown(page, opened)).toBe(2);
});

test('what workers count stays when they end, and is there from the start; what scrubs found stays while their tenant sleeps', async () => {
  const reports: Reports = {routers: [], workers: []};
  const page = pageOf(reports);
  const counted = 'svc_commit_writes_total ';
  const findings = 'svc_scrub_findings ';
  expect([await shown(page, counted), await shown(page, findings)]).toEqual([0, 0]);
  expect(await shown(page, 'svc_storage_damage_total{check="checksum"}')).toBe(0);
  const found = (value: number) => gauge('svc_scrub_findings', 'found', value);
  const both = (value: number, its: number) => JSON.stringify([...(JSON.parse(writes(value)) as object[]), found(its)]);
  reports.workers = [both(20, 1), both(5, 0)];
  expect([await shown(page, counted), await shown(page, findings)]).toEqual([25, 1]);
  page.workerEnded(WORKERS[0]!, both(22, 1)); // what it counted since
  reports.workers = [null, null];
  expect([await shown(page, counted), await shown(page, findings)]).toEqual([27, 1]);
  page.workerEnded(WORKERS[1]!, null); // it died
  reports.workers = [both(1, 0)];
  expect([await shown(page, counted), await shown(page, findings)]).toEqual([28, 0]);
  page.workerEnded(WORKERS[0]!, both(1, 2));
  page.tenantDeleted('a');
  reports.workers = [];
  expect([await shown(page, counted), await shown(page, findings)]).toEqual([28, 0]);
});

test('of a worker that was taken over nothing is shown but what workers count', async () => {
  const reports: Reports = {routers: [], workers: [JSON.stringify([gauge('svc_wall', 'no', 7)]), writes(5)]};
  const page = pageOf(reports);
  expect(await page.render()).not.toContain('svc_wall');
  const failures = (tenant: string) =>
    writes(1, {name: 'svc_cron_failures_total', values: [{labels: {tenant}, value: 1}]});
  for (const hostile of [
    failures('a'), // another tenant's
    writes(4), // less than before
    writes(-1),
    writes(9, {values: [{labels: {op: 'x'}, value: 9}]}),
    writes(9, {values: Array.from({length: 2_001}, () => ({labels: {}, value: 9}))}),
  ]) {
    reports.workers[1] = hostile;
    const missing = await shown(page, 'svc_metrics_missing_total');
    expect(await shown(page, 'svc_commit_writes_total '), hostile.slice(0, 200)).toBe(5);
    expect(await shown(page, 'svc_metrics_missing_total')).toBe(missing + 2);
  }
  reports.workers[1] = writes(6);
  expect(await shown(page, 'svc_commit_writes_total ')).toBe(6);
});

test.each([
  ['no JSON', '['],
  ['no list', '{}'],
  ['no metric', '[null]'],
  ['a name with a line in it', JSON.stringify([{...counter(1), name: 'c_total 7\nc_total'}])],
  ['help with a line in it', JSON.stringify([{...counter(1), help: 'counts\nc_total 7'}])],
  ['a way to add up that nobody knows', JSON.stringify([{...counter(1), aggregator: 'product'}])],
  ['values that are none', JSON.stringify([{...counter(1), values: [{labels: {route: '/'}, value: '7'}]}])],
  ['labels that are none', JSON.stringify([{...counter(1), values: [{labels: {'a"} 7\n': 1}, value: 1}]}])],
  [
    'a name of a series that is none',
    JSON.stringify([{...counter(1), values: [{labels: {}, value: 1, metricName: 'a b'}]}]),
  ],
])('a worker that reports %s is counted as missing, and the page is shown', async (_, report) => {
  const page = pageOf({routers: [[counter(1)]], workers: [report, writes(2)]});
  const names = ['c_total', 'svc_commit_writes_total ', 'svc_metrics_missing_total'];
  const figures = [];
  for (const name of names) figures.push(await shown(page, name));
  expect(figures).toEqual([1, 2, 3]);
});

test('all report without scrapes, too: what a process counted until then stays when it is killed', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const reports: Reports = {routers: [[counter(3)]], workers: [writes(5), null]};
  const page = pageOf(reports);
  await vi.advanceTimersByTimeAsync(METRICS_REPORT_MS);
  [reports.routers, reports.workers] = [[], []];
  page.workerEnded(WORKERS[0]!, null);
  page.routerEnded(0);
  expect([await shown(page, 'svc_commit_writes_total '), await shown(page, 'c_total')]).toEqual([5, 3]);
  // That one did not report is of scrapes alone.
  expect(await shown(page, 'svc_metrics_missing_total')).toBe(0);
});

test('series of known values are there before anything is counted', async () => {
  const page = pageOf({routers: [], workers: []});
  const names = [
    'svc_commit_syncs_total{by="pool"}',
    'svc_isolate_process_ends_total{cause="malformed"}',
    'svc_function_results_total{how="hit"}',
    'svc_storage_damage_total{check="chain"}',
  ];
  for (const name of names) expect(await shown(page, name)).toBe(0);
});
