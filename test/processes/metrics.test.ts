import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {CLUSTER_METRICS} from '../../shared/metrics/cluster-metrics.ts';
import {COPIER_METRICS} from '../../shared/metrics/copier-metrics.ts';
import {METRIC_TABLES} from '../harness/metric-tables.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: Tenant;
/** The address of the page without credential. */
let openUrl: string;
beforeAll(async () => {
  service = await Service.start({spares: 1, args: ['--metrics-port', '0']});
  const line = await until('the address of the metrics', () =>
    service.output.find(text => text.startsWith('metrics: ')),
  );
  openUrl = line.slice('metrics: '.length);
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

const SERIES = /^([a-z_]+)(\{(?:[^"}]|"[^"]*")*\})? (-?\d+(\.\d+)?(e[+-]?\d+)?|\+Inf|NaN)$/;

/** Series → value. */
async function scrape(): Promise<Map<string, number>> {
  const {status, text} = await service.get('/metrics');
  expect(status).toBe(200);
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = SERIES.exec(line);
    expect(match, line).not.toBeNull();
    const name = `${match![1]}${match![2] ?? ''}`;
    expect(series.has(name), `${name} twice`).toBe(false);
    series.set(name, Number(match![3]));
  }
  return series;
}

/** How much each of these series grows while `act` runs. */
async function growth(names: string[], act: () => Promise<void>): Promise<number[]> {
  const before = await scrape();
  await act();
  const after = await scrape();
  return names.map(name => (after.get(name) ?? 0) - (before.get(name) ?? 0));
}

describe('GET /metrics', () => {
  test.each<[string, () => Record<string, string | undefined>, number, string]>([
    ['without a credential', () => ({authorization: undefined}), 401, 'auth.unauthorized'],
    ['with a wrong bearer', () => ({authorization: 'Bearer wrong-wrong-wrong'}), 401, 'auth.unauthorized'],
    ['from a foreign origin', () => ({origin: 'https://evil.example'}), 403, 'auth.origin_forbidden'],
  ])('%s is refused', async (_, headers, status, code) => {
    expectError(await service.get('/metrics', headers()), status, code);
  });

  test('with either credential is the Prometheus text format', async () => {
    for (const headers of [{}, {authorization: undefined, 'x-svc-admin-token': service.adminToken}]) {
      const reply = await service.get('/metrics', headers);
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    }
    await scrape();
  });
});

describe('--metrics-port', () => {
  const get = (path: string, init?: RequestInit) => fetch(new URL(path, openUrl), init);

  test('shows the same page without a credential', async () => {
    const reply = await get('/metrics');
    expect(reply.status).toBe(200);
    expect(await reply.text()).toContain('\nsvc_tenants ');
  });

  test.each<[string, string, RequestInit, number, string]>([
    ['no other path', '/api/tenants', {}, 404, 'op.not_found'],
    ['no other method', '/metrics', {method: 'POST'}, 405, 'op.method_not_allowed'],
    ['no web page', '/metrics', {headers: {origin: 'https://evil.example'}}, 403, 'auth.origin_forbidden'],
  ])('serves %s', async (_, path, init, status, code) => {
    const reply = await get(path, init);
    expect(reply.status).toBe(status);
    expect(await reply.json()).toMatchObject({error: {code}});
  });
});

describe('what the page shows', () => {
  test('every metric of the tables with its type and help text, and no other', async () => {
    const {text} = await service.get('/metrics');
    const lines = text.split('\n').filter(line => /^# (HELP|TYPE) /.test(line));
    // A server without --backup-to has no copier.
    const others = {...COPIER_METRICS, ...CLUSTER_METRICS};
    const own = Object.entries(METRIC_TABLES).filter(([name]) => !Object.hasOwn(others, name));
    const declared = own.flatMap(([name, {type, help}]) => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]);
    expect(lines.sort()).toEqual(declared.sort());
  });

  test('live queries that sockets subscribe to', async () => {
    const socket = await Socket.established(service, tenant.id);
    socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
    await socket.next();
    expect((await scrape()).get('svc_live_queries')).toBe(1);
    socket.close();
  });

  test('requests by route and status, never by tenant or document', async () => {
    const route = '/api/tenants/{tenant_id}/documents';
    const names = [
      `svc_http_requests_total{method="POST",route="${route}",status="201"}`,
      `svc_http_requests_total{method="POST",route="${route}",status="400"}`,
      `svc_http_request_duration_seconds_count{method="POST",route="${route}"}`,
      'svc_commit_writes_total',
    ];
    const grown = await growth(names, async () => {
      for (let n = 0; n < 3; n++) await tenant.insert('t', {n});
      await tenant.request('POST', '/documents', {table: 't'});
    });
    expect(grown).toEqual([3, 1, 4, 3]);
    const {text} = await service.get('/metrics');
    const lines = text.split('\n').filter(line => line.startsWith('svc_http_') || line.startsWith('svc_commit_'));
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.filter(line => line.includes(tenant.id))).toEqual([]);
  });

  test('commit groups, each once it is durable', async () => {
    const names = ['svc_commit_durable_seconds_count', 'svc_commit_group_seconds_count'];
    const grown = await growth(names, async () => {
      for (let n = 0; n < 3; n++) await tenant.insert('t', {n});
    });
    expect(grown).toEqual([3, 3]);
  });

  test('by tenant only what each of those awake keeps, which its quota is about', async () => {
    await tenant.insert('t', {});
    const {text} = await service.get('/metrics');
    const named = text.split('\n').filter(line => line.includes(tenant.id));
    expect(named).toEqual([expect.stringMatching(/^svc_tenant_storage_bytes\{tenant="[^"]+"\} \d+$/)]);
  });

  test('wakes, deaths and tenants', async () => {
    const names = ['svc_process_deaths_total{process="worker"}', 'svc_tenants'];
    const grown = await growth(names, async () => {
      await tenant.insert('t', {});
      await Tenant.make(service);
      const worker = await service.workerOf(tenant.id);
      process.kill(worker, 'SIGKILL');
      await until('another worker', () => ![null, worker].includes(service.ownerOf(tenant.id)));
      await tenant.list('t');
    });
    expect(grown).toEqual([1, 1]);
  });

  test('memory and CPU time of processes by kind; the time stays when one ends', async () => {
    await tenant.insert('t', {});
    const first = await until('all kinds', async () => {
      const series = await scrape();
      const kinds = ['supervisor', 'router', 'worker', 'spare'];
      return kinds.every(kind => (series.get(`svc_process_resident_bytes{kind="${kind}"}`) ?? 0) > 2 ** 20) && series;
    });
    const cpu = (series: Map<string, number>) => series.get('svc_process_cpu_seconds_total{kind="worker"}') ?? 0;
    expect(cpu(first)).toBeGreaterThan(0);
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGKILL');
    await until('another worker', () => ![null, worker].includes(service.ownerOf(tenant.id)));
    await tenant.list('t');
    expect(cpu(await scrape())).toBeGreaterThanOrEqual(cpu(first));
    expect(first.get('svc_process_resident_bytes{kind="analysis"}')).toBe(0);
  });

  test('scheduled runs by outcome', async () => {
    const names = ['completed', 'failed'].map(outcome => `svc_scheduled_runs_total{kind="job",outcome="${outcome}"}`);
    const grown = await growth(names, async () => {
      for (const mutation of [
        {type: 'insert', table: 't', fields: {}},
        {type: 'delete', table: 't', id: 'absent'},
      ]) {
        await tenant.request('POST', '/schedule', {run_after_ms: 0, mutation});
      }
      const pending = async () => ((await tenant.request('GET', '/schedule')).body as {jobs: object[]}).jobs;
      await until('both jobs to have run', async () => (await pending()).length === 0);
    });
    expect(grown).toEqual([1, 1]);
  });

  test('a worker that does not report is left out and counted; the rest of the page is there', async () => {
    await tenant.insert('t', {});
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGSTOP');
    try {
      const series = await scrape();
      expect(series.get('svc_metrics_missing_total')).toBe(1);
      expect(series.get('svc_tenants')).toBeGreaterThan(0);
    } finally {
      process.kill(worker, 'SIGCONT');
    }
    await tenant.insert('t', {});
    expect((await scrape()).get('svc_metrics_missing_total')).toBe(1);
  });
});

test('crons that fail are counted by tenant, of tenants that have some', async () => {
  const other = await Tenant.make(service);
  await other.insert('t', {});
  const mutation = {type: 'delete', table: 't', id: 'nobody'};
  await tenant.request('POST', '/crons', {name: 'bad', schedule: {type: 'interval', seconds: 1}, mutation});
  const of = (name: string, {id}: Tenant) => `${name}{tenant="${id}"}`;
  const series = await until('a run that failed', async () => {
    const found = await scrape();
    return (found.get(of('svc_cron_failures_total', tenant)) ?? 0) > 0 && found;
  });
  expect(series.get(of('svc_crons_failing', tenant))).toBe(1);
  expect(series.has(of('svc_crons_failing', other))).toBe(false);
  await tenant.request('DELETE', '/crons/bad');
  expect((await scrape()).get(of('svc_crons_failing', tenant))).toBe(0);
});
