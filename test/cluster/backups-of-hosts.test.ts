/** Real hosts with one repository: one of them copies all tenants, whichever host serves them, and another one follows it. */
import {mkdtempSync, rmSync, utimesSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import type {BackupStatus} from '../../shared/protocol/backups.ts';
import {svc} from '../harness/command.ts';
import {testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;

const repository = await testRepository(afterAll);
const opened = await repository.open();
const cluster = await hostsOfFile({args: repository.args});

const stopped = new Set<SvcHost>();
const running = () => cluster.hosts.filter(host => !stopped.has(host));

const write = (host: SvcHost, tenant: string, n: number) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}});

/** @returns the numbers from this one on, all of them acknowledged */
async function written(tenant: string, from: number, count: number): Promise<number[]> {
  const numbers = Array.from({length: count}, (_, i) => from + i);
  for (const n of numbers) {
    const host = running()[n % running().length]!;
    await until('the write to be acknowledged', async () => (await write(host, tenant, n)).status === 201);
  }
  return numbers;
}

async function statusOf({service}: SvcHost): Promise<NonNullable<BackupStatus['backup']>> {
  const {backup}: BackupStatus = (await service.get('/api/backup')).body;
  return backup!;
}

/** The host that copies. */
async function writer(): Promise<SvcHost> {
  return await until('a host to copy', async () => {
    for (const host of running()) if ((await statusOf(host)).state === 'running') return host;
    return null;
  });
}

async function copied(): Promise<SvcHost> {
  const host = await writer();
  expect(await host.service.post('/api/backup/run')).toMatchObject({status: 200});
  return host;
}

async function moved(tenant: string, to: SvcHost): Promise<void> {
  expect(await to.service.post('/api/cluster/move', {tenant, host: to.name})).toMatchObject({status: 200});
}

/** What a server has that is made from the repository alone. */
async function restored(tenant: string, ...args: string[]): Promise<number[]> {
  const data = mkdtempSync(join(tmpdir(), 'svc-restored-'));
  try {
    const from = ['--from', repository.directory, '--key', repository.keyFile];
    const {code, stderr} = await svc(['restore', tenant, ...from, '--data', data, '--live', ...args]);
    expect([code, stderr]).toEqual([0, '']);
    const server = await Service.start({data});
    try {
      const query = {table: 'things', filters: []};
      const {body} = await server.post(`/api/tenants/${tenant}/query`, query);
      return (body as {data: {n: number}[]}).data.map(({n}) => n).sort((a, b) => a - b);
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(data, {recursive: true, force: true});
  }
}

/** Timelines of the tenant's copies, with the commits of their bases and the last one. */
async function lines(tenant: string): Promise<{bases: number; last: number}[]> {
  const {timelines} = await opened.copies(tenant);
  return timelines.map(({bases, sets}) => ({bases: bases.length, last: sets.at(-1)?.last ?? bases.at(-1)!.last}));
}

test('one host copies what all of them wrote, and a tenant that moves goes on in one line of copies', {
  timeout: TIMEOUT_MS,
}, async () => {
  await cluster.tenant('acme');
  const first = await written('acme', 0, 10);
  const host = await copied();
  expect((await opened.newest('acme'))?.sequence).toBe(10);
  const numbers = [...first];
  for (const to of cluster.hosts) {
    await moved('acme', to);
    numbers.push(...(await written('acme', numbers.length, 10)));
    await copied();
    expect((await opened.newest('acme'))?.sequence).toBe(numbers.length);
  }
  expect(await lines('acme')).toEqual([{bases: 1, last: expect.any(Number)}]);
  expect(await restored('acme')).toEqual(numbers);
  expect(await restored('acme', '--to-sequence', '10')).toEqual(first);
  for (const other of cluster.hosts) {
    if (other === host) continue;
    expect(await statusOf(other)).toMatchObject({state: 'standby', age_ms: 0});
    const {status, text} = await other.service.post('/api/backup/run');
    expect([status, text]).toEqual([409, expect.stringContaining(`the host ${host.name} of the cluster copies`)]);
  }
});

test('many tenants that are made at once are all copied, though their spools are there before the copying host has them', {
  timeout: TIMEOUT_MS,
}, async () => {
  const host = await writer();
  const other = cluster.hosts.find(one => one !== host)!;
  const ids = Array.from({length: 40}, (_, n) => `new-${n}`);
  const made = await Promise.all(ids.map(id => other.service.post('/api/tenants', {id})));
  expect(made.map(({status}) => status)).toEqual(ids.map(() => 201));
  expect(await host.service.post('/api/backup/run')).toMatchObject({status: 200});
  for (const id of ids)
    expect(await other.service.request('DELETE', `/api/tenants/${id}`)).toMatchObject({status: 204});
});

test('kill -9 of the copier and of the cluster process loses no copy, and makes no second line', {
  timeout: TIMEOUT_MS,
}, async () => {
  await cluster.tenant('killed');
  let numbers = await written('killed', 0, 10);
  const host = await copied();
  for (const entry of ['copier', 'cluster'] as const) {
    process.kill(host.service.children(entry)[0]!, 'SIGKILL');
    numbers = [...numbers, ...(await written('killed', numbers.length, 10))];
    await until('a run', async () => (await host.service.post('/api/backup/run')).status === 200);
    expect((await opened.newest('killed'))?.sequence).toBe(numbers.length);
  }
  expect(await lines('killed')).toEqual([{bases: 1, last: expect.any(Number)}]);
  expect(await restored('killed')).toEqual(numbers);
});

test('the host that copies is lost, and the next one continues with all acknowledged writes', {
  timeout: TIMEOUT_MS,
}, async () => {
  await cluster.tenant('lost');
  const first = await written('lost', 0, 10);
  const host = await copied();
  await moved('lost', host);
  const second = await written('lost', 10, 10);
  stopped.add(host);
  await host.service.killAll();
  const third = await written('lost', 20, 10);
  // Its lease is as old as that of a host that was lost minutes ago.
  utimesSync(join(repository.directory, 'lease.json'), new Date(0), new Date(0));
  expect(await copied()).not.toBe(host);
  expect(await lines('lost')).toEqual([{bases: 1, last: expect.any(Number)}]);
  expect(await restored('lost')).toEqual([...first, ...second, ...third]);
  await host.service.run();
  stopped.delete(host);
  expect(await statusOf(host)).toMatchObject({state: 'standby'});
});

test('the host that copies stops in order, and a tenant that is made again has new copies', {
  timeout: TIMEOUT_MS,
}, async () => {
  await cluster.tenant('again');
  await written('again', 0, 10);
  const host = await copied();
  expect(await host.service.request('DELETE', '/api/tenants/again')).toMatchObject({status: 204});
  stopped.add(host);
  await host.service.end('SIGTERM');
  const [other] = running();
  await until('it to be gone', async () => (await other!.service.get('/api/tenants/again/schema')).status === 404);
  expect((await other!.service.post('/api/tenants', {id: 'again'})).status).toBe(201);
  const numbers = await written('again', 100, 5);
  await copied();
  expect(await lines('again')).toHaveLength(2);
  expect(await restored('again')).toEqual(numbers);
  await host.service.run();
  stopped.delete(host);
});
