/** Tenants of a cluster that are made of files, on real hosts: clones, files that arrive, and restores. */
import {existsSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import {request} from 'undici';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {testRepository} from '../harness/repository.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;
const DOCUMENTS = 40;
const NUMBERS = [...Array(DOCUMENTS).keys()];

const repository = await testRepository(afterAll);
const cluster = await hostsOfFile({natsServers: 1, args: repository.args});
const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];

const insert = ({service}: SvcHost, tenant: string, n: number) =>
  service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n, filler: 'x'.repeat(10_000)}});

async function numbersOn({service}: SvcHost, tenant: string): Promise<number[]> {
  const query = {table: 'things', filters: []};
  return await until(`${tenant} to be served`, async () => {
    const {status, body} = await service.post(`/api/tenants/${tenant}/query`, query);
    return status === 200 ? (body as {data: {n: number}[]}).data.map(({n}) => n).sort((one, two) => one - two) : null;
  });
}

/** Every host serves the tenant with these documents, and so does another owner, which has only the log. */
async function expectWhole(tenant: string, numbers = NUMBERS): Promise<void> {
  await cluster.known(tenant);
  for (const host of cluster.hosts) expect(await numbersOn(host, tenant)).toEqual(numbers);
  const owner = await cluster.ownerOf(tenant, a);
  const other = cluster.hosts.find(host => host !== owner)!;
  expect(await a.service.post('/api/cluster/move', {tenant, host: other.name})).toMatchObject({status: 200});
  expect(await insert(other, tenant, DOCUMENTS)).toMatchObject({status: 201});
  for (const host of cluster.hosts) expect(await numbersOn(host, tenant)).toEqual([...numbers, DOCUMENTS]);
}

let exported: Buffer;
beforeAll(async () => {
  await cluster.tenant('acme');
  for (const n of NUMBERS) expect(await insert(a, 'acme', n)).toMatchObject({status: 201});
  const headers = {authorization: `Bearer ${a.service.accessToken}`};
  const {statusCode, body} = await request(`${a.service.url}/api/tenants/acme/file`, {headers});
  expect(statusCode).toBe(200);
  exported = Buffer.from(await body.arrayBuffer());
}, TIMEOUT_MS);

test('a tenant is cloned by its owner, and by a host that has nothing of it', {timeout: TIMEOUT_MS}, async () => {
  const owner = await cluster.ownerOf('acme');
  const other = cluster.hosts.find(host => host !== owner)!;
  for (const [host, id] of [
    [owner, 'twin'],
    [other, 'triplet'],
  ] as const) {
    const {status, text, body} = await host.service.post(`/api/tenants/acme/clone?as=${id}&live=true`);
    expect([status, text]).toEqual([201, expect.any(String)]);
    expect(body).toMatchObject({tenant: {id}});
    await expectWhole(id);
    expect(await host.service.post(`/api/tenants/acme/clone?as=${id}&live=true`)).toMatchObject({status: 409});
  }
  expect(await numbersOn(a, 'acme')).toEqual(NUMBERS);
});

test('a file that arrives at any host is a tenant of all, and begins a history of its own', {
  timeout: TIMEOUT_MS,
}, async () => {
  const {status, text} = await b.service.request('PUT', '/api/tenants/arrived/file?live=true', exported);
  expect([status, text]).toEqual([201, expect.any(String)]);
  expect((await c.service.post('/api/tenants', {id: 'arrived'})).status).toBe(409);
  await expectWhole('arrived');
  // The file that the log begins with goes on as it is.
  expect(readdirSync(b.service.directoryOf('arrived')!).filter(name => name.startsWith('diverged'))).toEqual([]);
  expect((await c.service.request('DELETE', '/api/tenants/arrived')).status).toBe(204);
  expect(await c.service.request('PUT', '/api/tenants/arrived/file?live=true', exported)).toMatchObject({status: 201});
  await expectWhole('arrived');
});

test('a tenant is restored from the repository into a new one, which has copies of its own', {
  timeout: TIMEOUT_MS,
}, async () => {
  const writer = await until('a host to copy', async () => {
    for (const host of cluster.hosts) {
      const {body} = await host.service.get('/api/backup');
      if ((body as {backup: {state: string}}).backup.state === 'running') return host;
    }
    return null;
  });
  expect(await writer.service.post('/api/backup/run')).toMatchObject({status: 200});
  for (const host of cluster.hosts) {
    const as = `restored-${host.name}`;
    const {status, text} = await host.service.post(`/api/tenants/acme/restore?as=${as}&live=true`);
    expect([status, text]).toEqual([201, expect.stringContaining(as)]);
    await expectWhole(as);
    expect(await writer.service.post('/api/backup/run')).toMatchObject({status: 200});
    expect((await (await repository.open()).newest(as))?.sequence).toBe(DOCUMENTS + 1);
  }
});

/** What the host has of a tenant that is being made; a path. */
const STEPS = {
  'its file is checked': ({service}: SvcHost) => {
    const incoming = join(service.data, 'incoming');
    return readdirSync(incoming).some(name => name.endsWith('.adopted'));
  },
  'its log has begun': ({service}: SvcHost) => {
    const incoming = join(service.data, 'incoming');
    return readdirSync(incoming).some(name => existsSync(join(incoming, name, 'tenant.sqlite.place')));
  },
  'its directory is in its place': ({service}: SvcHost, id: string) => service.directoryOf(id) !== null,
};

test.each(
  (['cluster', 'all'] as const).flatMap(killed => Object.keys(STEPS).map(step => [killed, step as keyof typeof STEPS])),
)('kill -9 of its processes (%s) when %s leaves no tenant, or a whole one', {timeout: TIMEOUT_MS}, async (...at) => {
  const [killed, step] = at as ['cluster' | 'all', keyof typeof STEPS];
  const id = `killed-${killed}-${Object.keys(STEPS).indexOf(step)}`;
  const answer = c.service.request('PUT', `/api/tenants/${id}/file?live=true`, exported).catch(() => null);
  const answered = answer.then(() => true);
  while (!STEPS[step](c, id) && !(await Promise.race([answered, setImmediate(false)])));
  if (killed === 'cluster') process.kill(c.pidOf('cluster'), 'SIGKILL');
  else {
    await c.service.killAll();
    await c.service.run();
  }
  const reply = await answer;
  // Only the entry says whether there is one.
  const {status} = await until('an answer', async () => {
    const made = await a.service.post('/api/tenants', {id});
    return made.status === 503 ? null : made;
  });
  if (reply?.status === 201) expect(status).toBe(409);
  await expectWhole(id, status === 409 ? NUMBERS : []);
});
