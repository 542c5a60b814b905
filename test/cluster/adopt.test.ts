/** `svc cluster adopt`: a server alone, with everything that its tenants have, becomes a host of a cluster. */
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, expect, test} from 'vitest';
import {tenantDirectoryName} from '../../supervisor/files/directory-name.ts';
import {App} from '../functions/app.ts';
import {CLI, type Outcome, svc} from '../harness/command.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {type SvcHost, SvcHosts, TOKENS} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;
const HOUR_MS = 3_600_000;
const FUNCTIONS = {
  'things.ts': `import {mutation, query} from './_generated/server';
export const count = query(async ctx => (await ctx.db.query('things').collect()).length);
export const add = mutation((ctx, {n}: {n: number}) => ctx.db.insert('things', {n}));
`,
};
const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
}, TIMEOUT_MS);

function directory(): string {
  const data = mkdtempSync(join(tmpdir(), 'svc-adopt-'));
  ended.push(() => rmSync(data, {recursive: true, force: true}));
  return data;
}

async function cluster(natsServers: number): Promise<SvcHosts> {
  const hosts = await SvcHosts.start({hosts: 0, natsServers});
  ended.push(() => hosts.stop());
  return hosts;
}

async function ok(service: Service, method: string, path: string, body?: unknown): Promise<unknown> {
  const {status, text, body: answer} = await service.request(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return answer;
}

/** Documents, an index, functions, a job and a cron. */
async function fill(service: Service, id: string, documents: number): Promise<App> {
  await ok(service, 'POST', '/api/tenants', {id});
  const app = new App(service, id);
  await app.deploy(FUNCTIONS);
  for (let n = 0; n < documents; n++) await app.mutation('things:add', {n});
  const insert = {type: 'insert', table: 'later', fields: {n: 1}};
  await ok(service, 'POST', `/api/tenants/${id}/schedule`, {run_after_ms: HOUR_MS, mutation: insert});
  const schedule = {type: 'interval', seconds: 86_400};
  await ok(service, 'POST', `/api/tenants/${id}/crons`, {name: 'daily', schedule, mutation: insert});
  return app;
}

/** Everything that the tenant has, as its clients see it. */
async function contentOf(service: Service, id: string): Promise<unknown> {
  const at = `/api/tenants/${id}`;
  const query = {table: 'things', filters: []};
  return {
    documents: ((await ok(service, 'POST', `${at}/query`, query)) as {data: unknown}).data,
    journal: await ok(service, 'GET', `${at}/journal?after=0`),
    jobs: await ok(service, 'GET', `${at}/schedule`),
    crons: await ok(service, 'GET', `${at}/crons`),
    deployment: (await ok(service, 'GET', `${at}/deployments`)) as unknown,
    count: await new App(service, id).query('things:count', {}),
  };
}

const adopt = (hosts: SvcHosts, data: string, ...args: string[]): Promise<Outcome> =>
  svc(['cluster', 'adopt', '--data', data, ...args], hosts.logEnvironment);

/** Starts the command, and ends it with SIGKILL once something is so. @returns whether it was still running */
async function adoptKilled(hosts: SvcHosts, data: string, isSo: () => boolean): Promise<boolean> {
  const child = spawn(process.execPath, [CLI, 'cluster', 'adopt', '--data', data], {
    stdio: 'ignore',
    env: {PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...hosts.logEnvironment},
  });
  const exited = new Promise<NodeJS.Signals | null>(resolve => child.once('exit', (_, signal) => resolve(signal)));
  await until('the moment to kill it', () => isSo() || child.exitCode !== null);
  child.kill('SIGKILL');
  return (await exited) === 'SIGKILL';
}

const placed = (data: string, id: string, generation: number): boolean =>
  existsSync(join(data, 'tenants', tenantDirectoryName(id, generation), 'tenant.sqlite.place'));

const startFailure = (data: string): Promise<string> =>
  Service.start({data}).then(
    async service => {
      await service.stop();
      return 'it started';
    },
    (error: Error) => error.message,
  );

test('documents, journal, functions, jobs, crons and keys are on every host, also without the first one', {
  timeout: TIMEOUT_MS,
}, async () => {
  const data = directory();
  const single = await Service.start({data});
  ended.push(() => single.end('SIGKILL'));
  await fill(single, 'acme', 50);
  await fill(single, 'other', 3);
  await ok(single, 'POST', '/api/tenants', {id: 'unused'});
  const made = (await ok(single, 'POST', '/api/keys', {name: 'app', scopes: ['data:read']})) as {secret: string};
  const before = [await contentOf(single, 'acme'), await contentOf(single, 'other')];
  const hosts = await cluster(3);

  expect(await adopt(hosts, data)).toMatchObject({code: 1, stderr: expect.stringContaining('in use by a server')});
  await single.end('SIGTERM');
  // Killed before anything, with a log that has begun, and with some tenants that are in the cluster.
  const mark = join(data, 'cluster-start');
  expect(await adoptKilled(hosts, data, () => existsSync(mark))).toBe(true);
  expect(await startFailure(data)).toContain('run svc cluster adopt again');
  expect(await adoptKilled(hosts, data, () => placed(data, 'acme', 1))).toBe(true);
  const json = await adopt(hosts, data, '--json');
  expect(json).toMatchObject({code: 0, stderr: ''});
  const adopted = json.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as {tenant: string; state: string});
  expect(adopted.map(({tenant}) => tenant)).toEqual(['acme', 'other', 'unused']);
  expect(await adopt(hosts, data)).toMatchObject({code: 0, stdout: expect.stringContaining('already')});
  expect(readFileSync(mark, 'utf8')).toMatch(/^[0-9a-f]{32} test$/);
  expect(await startFailure(data)).toContain('start it with --cluster');

  const a = await hosts.add(data);
  const [b, c] = [await hosts.add(), await hosts.add()];
  for (const id of ['acme', 'other', 'unused']) await hosts.known(id);
  for (const {service} of [a, b, c]) {
    expect([await contentOf(service, 'acme'), await contentOf(service, 'other')]).toEqual(before);
    const {status} = await service.get('/api/tenants/acme/schema', {authorization: `Bearer ${made.secret}`});
    expect(status).not.toBe(401);
  }
  // The file was continued: none was set aside or made again.
  const directories = readdirSync(join(data, 'tenants'), {recursive: true}).map(String);
  expect(directories.filter(name => /diverged|replaced/.test(name))).toEqual([]);
  await a.service.killAll();
  for (const {service} of [b, c]) {
    await until(
      'another host to serve it',
      async () => (await service.get('/api/tenants/acme/schedule')).status === 200,
    );
    expect([await contentOf(service, 'acme'), await contentOf(service, 'other')]).toEqual(before);
  }
  for (const {service} of [b, c]) await new App(service, 'acme').mutation('things:add', {n: 100});
  await a.service.run();
  expect(await new App(a.service, 'acme').query('things:count', {})).toBe(52);
});

test('a cluster that had tenants gives others generations of its own; a name that it has is refused', {
  timeout: TIMEOUT_MS,
}, async () => {
  const data = directory();
  const single = await Service.start({data});
  ended.push(() => single.end('SIGKILL'));
  await fill(single, 'acme', 2);
  await fill(single, 'taken', 1);
  await ok(single, 'POST', '/api/tenants', {id: 'unused'});
  const before = [await contentOf(single, 'acme'), await contentOf(single, 'taken')];
  await ok(single, 'POST', '/api/tenants/taken/pause');
  await single.end('SIGTERM');
  const hosts = await cluster(1);
  const a = await hosts.add();
  await hosts.tenant('gone');
  await ok(a.service, 'DELETE', '/api/tenants/gone');
  await hosts.tenant('taken');

  const tree = () => readdirSync(join(data, 'tenants'), {recursive: true}).map(String).sort();
  const [was, {code, stderr}] = [tree(), await adopt(hosts, data)];
  expect([code, tree()]).toEqual([1, was]);
  expect(stderr).toContain('tenant taken: it is paused: resume it');
  expect(stderr).toContain('tenant taken: the cluster has a tenant of this name');
  // Refused, nothing has changed: the server goes on alone.
  await single.run();
  await ok(single, 'POST', '/api/tenants/taken/resume');
  await ok(a.service, 'DELETE', '/api/tenants/taken');
  await single.end('SIGTERM');

  // The two that the cluster has had are 1 and 2, so these are higher by the newest of three: 4, 5 and 6.
  expect(await adoptKilled(hosts, data, () => placed(data, 'acme', 4))).toBe(true);
  expect(await adopt(hosts, data)).toMatchObject({code: 0, stderr: ''});
  const renumbered = readdirSync(join(data, 'tenants')).sort();
  expect(renumbered).toEqual([4, 5, 6].map((n, i) => tenantDirectoryName(['acme', 'taken', 'unused'][i]!, n)));
  for (const id of ['acme', 'taken', 'unused']) await hosts.known(id);
  // The hosts that run serve them at once.
  expect([await contentOf(a.service, 'acme'), await contentOf(a.service, 'taken')]).toEqual(before);
  const b: SvcHost = await hosts.add(data);
  for (const id of ['acme', 'taken', 'unused']) await hosts.known(id, [b]);
  expect([await contentOf(b.service, 'acme'), await contentOf(b.service, 'taken')]).toEqual(before);
  await hosts.tenant('later', b);
  for (const {service} of hosts.hosts) {
    await ok(service, 'POST', '/api/tenants/unused/documents', {table: 'things', fields: {n: 1}});
  }
});

test('a directory of a cluster is not started alone, and one of a server alone names the way', {
  timeout: TIMEOUT_MS,
}, async () => {
  const hosts = await cluster(1);
  const a = await hosts.add();
  await hosts.tenant('acme');
  const {data} = a.service;
  await a.service.end('SIGTERM');
  const output = await svc(['start', '--data', data, '--port', '0'], TOKENS);
  expect(output).toMatchObject({code: 1, stderr: expect.stringContaining('start it with --cluster')});
  await a.service.run();
  const alone = directory();
  const single = await Service.start({data: alone});
  await single.tenant();
  await single.stop();
  await expect(hosts.add(alone)).rejects.toThrow('svc cluster adopt makes them tenants of the cluster');
});
