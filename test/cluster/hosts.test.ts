/** Three real hosts on three real NATS servers, as operators and clients see them. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {until} from '../harness/until.ts';
import {type SvcHost, SvcHosts} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;
let cluster: SvcHosts;

beforeAll(async () => {
  cluster = await SvcHosts.start();
}, TIMEOUT_MS);
afterAll(() => cluster.stop(), TIMEOUT_MS);

const write = (host: SvcHost, tenant: string, n: number) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}});

/** Numbers of the documents that the host returns, in order. */
async function numbersOn(host: SvcHost, tenant: string): Promise<number[]> {
  const {status, body, text} = await host.service.post(`/api/tenants/${tenant}/query`, {
    table: 'things',
    filters: [],
    limit: 1000,
  });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return (body as {n: number}[]).map(({n}) => n).sort((a, b) => a - b);
}

test('any host serves any tenant, and each reads what was acknowledged on another', {timeout: TIMEOUT_MS}, async () => {
  const ids = await Promise.all(['one', 'two', 'three', 'four'].map(id => cluster.tenant(id)));
  for (const id of ids) {
    for (const [n, host] of cluster.hosts.entries()) {
      expect(await write(host, id, n)).toMatchObject({status: 201});
      for (const other of cluster.hosts) expect(await numbersOn(other, id)).toEqual([...Array(n + 1).keys()]);
    }
  }
});

test('a tenant that one host deleted is gone on all, and can be made again', {timeout: TIMEOUT_MS}, async () => {
  const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await cluster.tenant('short');
  expect(await write(a, 'short', 1)).toMatchObject({status: 201});
  expect(await b.service.post('/api/tenants', {id: 'short'})).toMatchObject({status: 409});
  expect(await c.service.request('DELETE', '/api/tenants/short')).toMatchObject({status: 204});
  for (const {service} of cluster.hosts) {
    await until('all hosts to know', async () => (await service.get('/api/tenants/short/schema')).status === 404);
  }
  await cluster.tenant('short', b);
  for (const host of cluster.hosts) expect(await numbersOn(host, 'short')).toEqual([]);
});
