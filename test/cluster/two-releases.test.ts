/** Two hosts of one release and one of a later one, whose files the others cannot open. */
import {afterAll, expect, test} from 'vitest';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import {laterBuild} from './harness/later-build.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;
const IDS = ['one', 'two', 'three', 'four', 'five', 'six'];

const later = laterBuild();
afterAll(() => later.remove());
const cluster = await hostsOfFile({hosts: 2});

const write = (host: SvcHost, tenant: string, n: number) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}});

async function ownersOn(host: SvcHost): Promise<string[]> {
  const {tenants} = (await host.service.get('/api/cluster')).body as {tenants: {tenant: string; owner: string}[]};
  return tenants.filter(({tenant}) => IDS.includes(tenant)).map(({owner}) => owner);
}

test('a host of a later release gets tenants when no other one is left, and keeps what only it can open', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  for (const id of IDS) {
    await cluster.tenant(id);
    expect(await write(a, id, 0)).toMatchObject({status: 201});
  }
  const c = await cluster.add(undefined, later.dist);
  await cluster.known('six');
  const toLater = await a.service.post('/api/cluster/move', {tenant: 'one', host: 'c'});
  expect(toLater).toMatchObject({status: 409, body: {error: {message: expect.stringContaining('a later release')}}});
  // It answers for tenants of the others, and a host that drains gives them to the other one of its release.
  await a.service.end('SIGTERM');
  for (const id of IDS) expect(await write(c, id, 1)).toMatchObject({status: 201});
  expect(await ownersOn(c)).toEqual(IDS.map(() => 'b'));
  await b.service.end('SIGTERM');
  for (const id of IDS) expect(await write(c, id, 2)).toMatchObject({status: 201});
  expect(await ownersOn(c)).toEqual(IDS.map(() => 'c'));
  await a.service.run();
  for (const id of IDS) expect(await write(a, id, 3)).toMatchObject({status: 201});
  const toOlder = await a.service.post('/api/cluster/move', {tenant: 'one', host: 'a'});
  expect(toOlder).toMatchObject({status: 409, body: {error: {message: expect.stringContaining('an earlier release')}}});
  // No host opens them until one of that release is back.
  await c.service.end('SIGTERM');
  await until('a to know it', async () => (await write(a, 'one', 4)).text.includes('a host of a later release'));
  await c.service.run();
  await until('c to serve them', async () => (await write(a, 'one', 4)).status === 201);
  const {body} = await a.service.post('/api/tenants/one/query', {table: 'things', filters: []});
  expect((body as {data: {n: number}[]}).data.map(({n}) => n)).toEqual([0, 1, 2, 3, 4]);
});
