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
  const {status, body, text} = await host.service.post(`/api/tenants/${tenant}/query`, {table: 'things', filters: []});
  if (status !== 200) throw new Error(`${status} ${text}`);
  return (body as {data: {n: number}[]}).data.map(({n}) => n).sort((a, b) => a - b);
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

test('a tenant is moved under writes from all hosts, and none is refused', {timeout: TIMEOUT_MS}, async () => {
  await cluster.tenant('moving');
  const {hosts} = cluster;
  let isOver = false;
  let n = 0;
  const written: number[] = [];
  const refusals: string[] = [];
  const writers = hosts.map(async host => {
    while (!isOver) {
      const mine = n++;
      const {status, text} = await write(host, 'moving', mine);
      if (status === 201) written.push(mine);
      else refusals.push(`${status} ${text}`);
    }
  });
  const moved = async () => {
    for (const to of [...hosts, ...hosts]) {
      const {status, text} = await hosts[0]!.service.post('/api/cluster/move', {tenant: 'moving', host: to.name});
      if (status !== 200) throw new Error(`${status} ${text}`);
      const served = written.length;
      await until('it to be served there', () => written.length > served + 20);
    }
  };
  await moved().finally(() => {
    isOver = true;
  });
  await Promise.all(writers);
  expect(refusals).toEqual([]);
  for (const host of hosts) expect(await numbersOn(host, 'moving')).toEqual(written.toSorted((a, b) => a - b));
});

test('a host is killed, another one takes its tenants over, and it joins again', {timeout: TIMEOUT_MS}, async () => {
  await cluster.tenant('taken');
  const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await a.service.post('/api/cluster/move', {tenant: 'taken', host: 'c'});
  await until('c to serve it', async () => (await write(a, 'taken', 1)).status === 201);
  const before = await numbersOn(b, 'taken');
  await c.service.killAll();
  await until('another host to take it over', async () => (await write(a, 'taken', 2)).status === 201);
  expect(await numbersOn(b, 'taken')).toEqual([...before, 2]);
  await c.service.run();
  expect(await numbersOn(c, 'taken')).toEqual([...before, 2]);
  expect(await write(c, 'taken', 3)).toMatchObject({status: 201});
});
