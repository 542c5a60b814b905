/** Three real hosts of which one drains while its cluster process is killed. */
import {expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import {type SvcHost, TOKENS} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;

const cluster = await hostsOfFile();

type Member = {host: string; state: string; tenants: number};

async function member(by: SvcHost, name: string): Promise<Member> {
  const {hosts} = (await by.service.get('/api/cluster/members')).body as {hosts: Member[]};
  return hosts.find(({host}) => host === name)!;
}

const write = (host: SvcHost, tenant: string) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n: 1}});

/** One that the host serves. */
async function servedBy(host: SvcHost, tenant: string): Promise<void> {
  await cluster.tenant(tenant);
  await cluster.hosts[0]!.service.post('/api/cluster/move', {tenant, host: host.name});
  await until(`${host.name} to serve ${tenant}`, async () => (await write(host, tenant)).status === 201);
  await until(`${tenant} to have a worker`, async () => (await host.service.workerOf(tenant)) > 0);
}

test('a drain that an operator requested goes on when the cluster process is replaced, also for a tenant that sleeps', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  await servedBy(b, 'operated');
  await cluster.tenant('asleep');
  await a.service.post('/api/cluster/move', {tenant: 'asleep', host: 'b'});
  const drained = svc(['cluster', 'drain', 'b'], {
    SVC_URL: a.service.url,
    SVC_ACCESS_TOKEN: TOKENS.SVC_ACCESS_TOKEN,
  });
  await until('b to drain', async () => (await member(a, 'b')).state === 'draining');
  const pid = b.pidOf('cluster');
  process.kill(pid, 'SIGKILL');
  await until('the next cluster process', () => b.service.children('cluster').some(other => other !== pid));
  expect(await drained).toEqual({code: 0, stdout: 'b is draining and has 0 tenants\n', stderr: ''});
  expect(await write(b, 'operated')).toMatchObject({status: 201});
  expect(await member(a, 'b')).toMatchObject({state: 'draining', tenants: 0});
  expect(await b.service.get('/health')).toMatchObject({status: 503});
  // The request was for this start of svc.
  await b.service.end('SIGTERM');
  await b.service.run();
  await until('b to be live', async () => (await member(a, 'b')).state === 'live');
});

test('a request to drain that the cluster process did not read before it was killed is one for the next', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a, , c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await servedBy(c, 'unread');
  const pid = c.pidOf('cluster');
  process.kill(pid, 'SIGSTOP');
  expect(await a.service.post('/api/cluster/drain', {host: 'c'})).toMatchObject({status: 202});
  process.kill(pid, 'SIGKILL');
  await until('c to drain without tenants', async () => {
    const {state, tenants} = await member(a, 'c');
    return state === 'draining' && tenants === 0;
  });
  expect(await write(c, 'unread')).toMatchObject({status: 201});
  await c.service.end('SIGTERM');
  await c.service.run();
});

test('a host that is stopped in order goes on to hand over when its cluster process is replaced', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  await servedBy(b, 'stopped');
  const pid = b.pidOf('cluster');
  process.kill(pid, 'SIGSTOP');
  const ended = b.service.end('SIGTERM');
  await until('b to drain', async () => (await b.service.get('/health')).status === 503);
  process.kill(pid, 'SIGKILL');
  expect(await ended).toBe(0);
  expect(b.service.log).not.toContain('not all tenants were handed over');
  expect(await write(a, 'stopped')).toMatchObject({status: 201});
  await b.service.run();
});
