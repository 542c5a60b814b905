/**
 * Data directories that builds of every storage version really wrote: the tenants of all of them on one server of
 * today, and (nightly) each directory on a server of its own, as an operator upgrades it.
 */
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {STORAGE_VERSION} from '../../engine/storage/migrations.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {svc} from '../harness/command.ts';
import {directoryIn} from '../harness/data-directory.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {fixtureVersions, numberOf, unpackFixture} from './fixture.ts';

const FUNCTIONS_SINCE = 2;
const SERVICES_SINCE = 13;
const versions = fixtureVersions();
const work = mkdtempSync(join(tmpdir(), 'svc-older-directories-'));
afterAll(() => rmSync(work, {recursive: true}));

type Found = {data: {title: string}[]};

async function titlesOf(service: Service, tenant: string): Promise<string[]> {
  const reply = await service.post(`/api/tenants/${tenant}/query`, {table: 'notes', filters: [], limit: 100});
  expect({tenant, status: reply.status, text: reply.status === 200 ? '' : reply.text}).toMatchObject({status: 200});
  return (reply.body as Found).data.map(({title}) => title);
}

/** Reads and writes everything that a server of that version had put into the tenant. */
async function exerciseApp(service: Service, version: number): Promise<void> {
  const app = `app-${numberOf(version)}`;
  const path = `/api/tenants/${app}`;
  const titles = await titlesOf(service, app);
  expect({version, titles}).toEqual({version, titles: expect.arrayContaining(['note 0', 'note 11', 'once'])});
  expect(titles).not.toContain('gone');
  const byStars = {table: 'notes', filters: [{field: 'stars', op: 'eq', value: 10}]};
  expect((await service.post(`${path}/query`, byStars)).body).toMatchObject({data: [{title: 'once'}]});
  const untitled = await service.post(`${path}/documents`, {table: 'notes', fields: {stars: 1}});
  expect({version, status: untitled.status}).toEqual({version, status: 400});
  // It was due after the server stopped for ever.
  await until(`the job of ${app}`, async () => (await titlesOf(service, app)).includes('from a job'));
  expect((await service.get(`${path}/crons`)).body).toMatchObject({crons: [{name: 'hourly'}]});
  expect((await service.get(`${path}/journal?after=0&limit=3`)).status).toBe(200);
  if (version >= FUNCTIONS_SINCE) {
    const call = (kind: string, body: object) =>
      service.post(`/svc/${app}/${kind}`, body, {authorization: undefined}).then(({body: value}) => value);
    const recent = (first: string) => ({
      status: 'success',
      value: {greeting: 'hello', texts: [first, ...others(first)]},
    });
    const others = (first: string) => (first === 'message 4' ? ['message 3', 'message 2'] : ['message 4', 'message 3']);
    const query = {path: 'messages:recent', args: {}};
    expect({version, ...((await call('query', query)) as object)}).toEqual({version, ...recent('message 4')});
    const added = await call('mutation', {path: 'messages:add', args: {text: 'today', at: 9}});
    expect(added).toMatchObject({status: 'success'});
    expect(await call('query', query)).toEqual(recent('today'));
  }
  if (version >= SERVICES_SINCE) {
    expect((await service.get(`${path}/services`)).body).toMatchObject({services: [{name: 'idle', state: 'stopped'}]});
  }
}

async function exerciseKilled(service: Service, version: number): Promise<void> {
  const titles = await titlesOf(service, `killed-${numberOf(version)}`);
  expect({version, titles}).toEqual({version, titles: [0, 1, 2, 3, 4].map(n => `logged ${n}`)});
}

function chunks<T>(all: T[], size: number): T[][] {
  return Array.from({length: Math.ceil(all.length / size)}, (_, n) => all.slice(n * size, (n + 1) * size));
}

/** Stops the server and checks every file. */
async function verified(service: Service, data: string): Promise<void> {
  await service.end('SIGTERM');
  const {stdout, code} = await svc(['verify', '--data', data]);
  expect(stdout).toContain('all is well');
  expect(code).toBe(0);
}

function versionOf(data: string, tenant: string): number {
  return readFileSync(join(directoryIn(data, tenant)!, TENANT_FILE)).readUInt32BE(60);
}

test('every storage version has a fixture; test/upgrades/make-fixture.ts makes that of a new one', () => {
  expect(versions).toEqual(Array.from({length: STORAGE_VERSION}, (_, n) => n + 1));
});

test('tenants of every storage version are served, written and checked', async () => {
  const data = join(work, 'all');
  for (const version of versions) unpackFixture(version, data, 'tenants');
  const before = await svc(['verify', '--data', data, '--json']);
  // Without a registry, because there were as many as fixtures.
  for (const line of before.stdout.trim().split('\n').slice(1)) expect(JSON.parse(line)).toMatchObject({findings: []});
  const adopted = await svc(['recover', '--data', data, '--adopt']);
  expect({...adopted, stdout: ''}).toEqual({code: 0, stdout: '', stderr: ''});
  const service = await Service.start({data});
  service.showLogOnFailure();
  try {
    for (const version of versions) expect(versionOf(data, `app-${numberOf(version)}`)).toBe(version);
    // A few at a time, as a machine of two cores wakes them.
    for (const some of chunks(versions, 4)) await Promise.all(some.map(version => exerciseApp(service, version)));
    const killed = rounds({commit: [1, 9, versions.length - 1], nightly: versions});
    for (const version of killed) await exerciseKilled(service, version);
    await verified(service, data);
    for (const version of versions) expect(versionOf(data, `app-${numberOf(version)}`)).toBe(STORAGE_VERSION);
  } finally {
    await service.end('SIGKILL');
  }
}, 120_000);

const alone = rounds({commit: [1], nightly: versions});
test.each(alone)(
  'a data directory of version %i is upgraded by starting the server',
  async version => {
    const data = unpackFixture(version, join(work, String(version)));
    const service = await Service.start({data});
    service.showLogOnFailure();
    try {
      const number = numberOf(version);
      const {tenants}: {tenants: string[]} = (await service.get('/api/tenants')).body;
      expect([...tenants].sort()).toEqual([`app-${number}`, `killed-${number}`, `unused-${number}`]);
      await exerciseApp(service, version);
      await exerciseKilled(service, version);
      const unused = await service.post(`/api/tenants/unused-${number}/documents`, {table: 't', fields: {}});
      expect(unused.status).toBe(201);
      await verified(service, data);
    } finally {
      await service.end('SIGKILL');
    }
  },
  60_000,
);
