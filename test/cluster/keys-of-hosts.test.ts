/** API keys in a cluster: every host authorizes alike, and one that is cut off from the others accepts none. */
import {expect, test} from 'vitest';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;

const cluster = await hostsOfFile();
await cluster.tenant('acme');

type Made = {key: {id: string}; secret: string};

async function create(host: SvcHost, name: string): Promise<Made> {
  const {status, body, text} = await host.service.post('/api/keys', {name, scopes: ['data:read'], tenants: ['acme']});
  if (status !== 201) throw new Error(`${status} ${text}`);
  return body as Made;
}

/** The status of a request with the key. */
async function read(host: SvcHost, secret: string): Promise<number> {
  const response = await fetch(`${host.service.url}/api/tenants/acme/query`, {
    method: 'POST',
    headers: {authorization: `Bearer ${secret}`, 'content-type': 'application/json'},
    body: JSON.stringify({table: 'things', filters: []}),
  });
  await response.text();
  return response.status;
}

test('a key of one host is one of all, until any host revokes it', {timeout: TIMEOUT_MS}, async () => {
  const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  const {key, secret} = await create(a, 'app');
  expect(await read(a, secret)).toBe(200);
  for (const host of [b, c])
    await until(`${host.name} to have the key`, async () => (await read(host, secret)) === 200);
  expect(await c.service.post('/api/keys', {name: 'app', scopes: ['logs']})).toMatchObject({status: 409});
  const rotated = await b.service.post(`/api/keys/${key.id}/rotate`, {overlap_seconds: 0});
  const {secret: next} = rotated.body as Made;
  expect([await read(b, next), await read(b, secret)]).toEqual([200, 401]);
  for (const host of [a, c]) await until(`${host.name} to have it`, async () => (await read(host, next)) === 200);
  expect(await c.service.request('DELETE', `/api/keys/${key.id}`)).toMatchObject({status: 204});
  expect(await read(c, next)).toBe(401);
  for (const host of [a, b]) await until(`${host.name} to refuse it`, async () => (await read(host, next)) === 401);
});

test('a host that starts again refuses what was revoked meanwhile', {timeout: TIMEOUT_MS}, async () => {
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  const {key, secret} = await create(a, 'short');
  await until('b to have the key', async () => (await read(b, secret)) === 200);
  const kept = await create(b, 'kept');
  await b.service.end('SIGTERM');
  expect(await a.service.request('DELETE', `/api/keys/${key.id}`)).toMatchObject({status: 204});
  await b.service.run();
  expect(await read(b, secret)).toBe(401);
  expect(await read(b, kept.secret)).toBe(200);
});

test('a host whose processes stand still accepts no key either when its lease is over', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  const {secret} = await create(a, 'stopped');
  const status = async () => {
    const response = await fetch(`${b.service.url}/api/whoami`, {headers: {authorization: `Bearer ${secret}`}});
    await response.text();
    return response.status;
  };
  await until('b to have the key', async () => (await status()) === 200);
  const stopped = [b.service.pid, b.pidOf('cluster')];
  for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  try {
    await until('its router to refuse the key', async () => (await status()) === 503);
  } finally {
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
  }
  await until('b to accept the key', async () => (await status()) === 200);
});

test('a host without a lease accepts no key, and accepts it with the next lease', {timeout: TIMEOUT_MS}, async () => {
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  const {secret} = await create(a, 'cut');
  await until('b to have the key', async () => (await read(b, secret)) === 200);
  for (const link of b.natsLinks) link.cut();
  await until('the lease of b to end', async () => (await b.service.get('/health')).status === 503);
  expect(await read(b, secret)).toBe(503);
  expect(await b.service.get('/api/tenants')).toMatchObject({status: 200});
  for (const link of b.natsLinks) link.heal();
  await until('b to accept the key', async () => (await read(b, secret)) === 200);
});
