/** A host whose NATS server has a small `max_file_store`: at its limit a server stores nothing more of any stream. */
import {randomBytes} from 'node:crypto';
import {expect, test} from 'vitest';
import {NATS_RESERVE_SHARE} from '../../cluster/limits.ts';
import {MONOTONIC_CLOCK} from '../../cluster/members/clock.ts';
import {MonitorPages} from '../../cluster/nats/monitor-pages.ts';
import {ServerSpace} from '../../cluster/nats/server-space.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';

const TIMEOUT_MS = 120_000;
const STORE_BYTES = 32 * 1024 * 1024;
/** Page sets are compressed. */
const TEXT = randomBytes(150_000).toString('base64');

const jetstream = `sync_interval: always, max_file_store: ${STORE_BYTES}`;
const cluster = await hostsOfFile({hosts: 1, natsServers: 1, jetstream});
const host = cluster.hosts[0]!;

const write = (tenant: string) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {text: TEXT}});
const read = (tenant: string) =>
  host.service.post(`/api/tenants/${tenant}/query`, {
    table: 'things',
    filters: [{field: 'text', op: 'eq', value: 'y'}],
  });

async function metric(series: string): Promise<number> {
  const {text} = await host.service.get('/metrics');
  return Number(
    text
      .split('\n')
      .find(line => line.startsWith(`${series} `))
      ?.split(' ')[1] ?? Number.NaN,
  );
}

test('writes are 507 before the server is full, reads and the lease go on, and a deletion makes space', {
  timeout: TIMEOUT_MS,
}, async () => {
  await cluster.tenant('large');
  await cluster.tenant('small');
  expect(await write('small')).toMatchObject({status: 201});
  let written = 0;
  const refusal = await until('a refusal', async () => {
    const reply = await write('large');
    if (reply.status === 201) written++;
    return reply.status === 201 ? null : reply;
  });
  expect(refusal, refusal.text).toMatchObject({status: 507});
  expect(refusal.text).toContain('nothing was written');
  expect(written).toBeGreaterThan(50);
  const {storage} = (await cluster.nats.servers[0]!.page('jsz')) as {storage: number};
  expect(storage).toBeLessThan(STORE_BYTES);
  expect(await metric('svc_cluster_appends_total{answer="full"}')).toBe(0);

  // Longer than a lease: it is stored each second.
  const leaseMs = MONOTONIC_CLOCK.nowMs + 7_000;
  await until('a lease to be over', async () => {
    for (const id of ['large', 'small']) expect(await read(id)).toMatchObject({status: 200});
    return MONOTONIC_CLOCK.nowMs > leaseMs;
  });
  expect(await metric('svc_cluster_lease')).toBe(1);
  expect(await write('small')).toMatchObject({status: 507});

  expect(await host.service.request('DELETE', '/api/tenants/large')).toMatchObject({status: 204});
  await until('space again', async () => (await write('small')).status === 201);
});

test('a part of the store is reserved, and a server that does not answer counts as none', async () => {
  const {monitor} = cluster.nats.servers[0]!;
  const space = async (...monitors: string[]) => {
    const pages = new MonitorPages(monitors);
    const found = new ServerSpace(pages);
    await found.read().finally(() => pages.close());
    return found.freeBytes;
  };
  const {storage} = (await cluster.nats.servers[0]!.page('jsz')) as {storage: number};
  const free = (await space('http://127.0.0.1:1', monitor))!;
  expect(free).toBeLessThanOrEqual(Math.max(0, STORE_BYTES * (1 - NATS_RESERVE_SHARE) - storage));
  expect(await space('http://127.0.0.1:1')).toBeNull();
});
