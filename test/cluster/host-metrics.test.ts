/** What hosts show of the cluster in their metrics, and that a stream which someone has changed takes no writes. */
import {expect, test} from 'vitest';
import {shardOf} from '../../cluster/log/subjects.ts';
import {streamSettings} from '../../cluster/nats/stream-settings.ts';
import {CLUSTER_METRICS} from '../../shared/metrics/cluster-metrics.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import {SUBJECTS} from './harness/rig.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;

const cluster = await hostsOfFile();

/** Series → value. */
async function metricsOf({service}: SvcHost): Promise<Map<string, number>> {
  const {text} = await service.get('/metrics');
  const lines = text.split('\n').filter(line => line.startsWith('svc_cluster_'));
  return new Map(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

async function sumOf(series: string): Promise<number> {
  const found = await Promise.all(cluster.hosts.map(metricsOf));
  return found.reduce((sum, metrics) => sum + (metrics.get(series) ?? 0), 0);
}

const write = (host: SvcHost, tenant: string) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {}});

test('each host shows its members, its lease, its connection and its tenants', {timeout: TIMEOUT_MS}, async () => {
  const id = await cluster.tenant('counted');
  const before = await sumOf('svc_cluster_appends_total{answer="stored"}');
  for (let n = 0; n < 3; n++) expect(await write(cluster.hosts[0]!, id)).toMatchObject({status: 201});
  expect(await sumOf('svc_cluster_appends_total{answer="stored"}')).toBeGreaterThanOrEqual(before + 3);
  expect(await sumOf('svc_cluster_append_seconds_count')).toBeGreaterThanOrEqual(before + 3);
  expect(await sumOf('svc_cluster_tenants_owned')).toBe(1);
  for (const host of cluster.hosts) {
    const metrics = await until('three members', async () => {
      const found = await metricsOf(host);
      return found.get('svc_cluster_members{state="live"}') === 3 && found;
    });
    expect(metrics.get('svc_cluster_lease')).toBe(1);
    expect(metrics.get('svc_cluster_lease_seconds')).toBeGreaterThan(0);
    expect(metrics.get('svc_cluster_nats_connected')).toBe(1);
    const names = [...metrics.keys()].map(series => series.replace(/(_bucket|_sum|_count)?(\{.*)?$/, ''));
    // Of a host that serves tenants.
    const ofOwners = 'svc_cluster_log_free_bytes';
    const always = Object.keys(CLUSTER_METRICS).filter(name => name !== ofOwners);
    expect(new Set(names.filter(name => name !== ofOwners))).toEqual(new Set([...always, 'svc_cluster_lag_seconds']));
  }
});

test('a move is a hand-over of the former owner; counts go on when the process ends', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await cluster.tenant('moved');
  await write(cluster.hosts[0]!, id);
  const from = await cluster.ownerOf(id);
  const to = cluster.hosts.find(host => host !== from)!;
  const handOvers = (await metricsOf(from)).get('svc_cluster_hand_overs_total')!;
  const moved = await from.service.post('/api/cluster/move', {tenant: id, host: to.name});
  expect(moved, moved.text).toMatchObject({status: 200});
  await until('the hand-over', async () => {
    return (await metricsOf(from)).get('svc_cluster_hand_overs_total') === handOvers + 1;
  });
  const pid = from.pidOf('cluster');
  process.kill(pid, 'SIGKILL');
  await until('another cluster process', () => ![undefined, pid].includes(from.service.children('cluster')[0]));
  expect((await metricsOf(from)).get('svc_cluster_hand_overs_total')).toBe(handOvers + 1);
  await until('the lease', async () => (await metricsOf(from)).get('svc_cluster_lease') === 1);
});

test('a stream that someone limits takes no writes until it is as before, and reads go on', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await cluster.tenant('large');
  const host = cluster.hosts[0]!;
  await until('a write', async () => (await write(host, id)).status === 201);
  const owner = await cluster.ownerOf(id);
  const stream = {kind: 'log', shard: shardOf(id)} as const;
  const freeBytes = async () =>
    (await metricsOf(owner)).get(`svc_cluster_log_free_bytes{shard="${stream.shard}"}`) ?? Number.NaN;
  await until('the free space', async () => (await freeBytes()) > 0);
  const refused = () => sumOf('svc_cluster_appends_total{answer="full"}');
  const before = await refused();
  // Far from its limit.
  await cluster.nats.limit(stream, 1e9);
  await until('the owner to know', async () => (await freeBytes()) === 0);
  expect(owner.service.log).toContain(
    `shard ${stream.shard} takes no writes: the stream svc_test_log_${stream.shard} has max_bytes 1000000000 and needs -1`,
  );
  await until('a refusal', async () => (await write(host, id)).status === 507);
  const {status, text} = await write(host, id);
  expect([status, text]).toEqual([507, expect.stringContaining('nothing was written')]);
  expect(await refused()).toBe(before);
  const read = await host.service.post(`/api/tenants/${id}/query`, {table: 'things', filters: []});
  expect(read.status).toBe(200);
  await cluster.nats.limit(stream, -1);
  await until('a write', async () => (await write(host, id)).status === 201);
  // Owners and leases are there.
  await cluster.nats.configure('STREAM.UPDATE', {...streamSettings(SUBJECTS, {kind: 'records'}, 3), max_msgs: 1e9});
  await until('a refusal', async () => (await write(host, id)).status === 507);
  expect(owner.service.log).toContain('no tenant takes writes: the stream svc_test_records has max_msgs 1000000000');
  await cluster.nats.configure('STREAM.UPDATE', streamSettings(SUBJECTS, {kind: 'records'}, 3));
  await until('a write', async () => (await write(host, id)).status === 201);
  expect((await metricsOf(owner)).get('svc_cluster_lease')).toBe(1);
});
