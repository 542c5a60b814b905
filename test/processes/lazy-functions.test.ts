/** What a tenant's process holds in memory: the platform for functions only once functions are used. */
import {cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {nightly} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const APP = {
  'counter.ts': `
    import {internalMutationGeneric as internalMutation, mutationGeneric as mutation} from 'svc/server';
    export const add = mutation({handler: ctx => ctx.db.insert('counts', {at: 'call'})});
    export const later = internalMutation({handler: ctx => ctx.db.insert('counts', {at: 'job'})});
    export const addLater = mutation({handler: ctx => ctx.scheduler.runAfter(2_000, 'counter:later' as never, {})});
  `,
};

/** Whether this native library is in the process that serves the tenant. */
async function holds(service: Service, tenant: string, library: string): Promise<boolean> {
  const pid = await service.workerOf(tenant);
  return readFileSync(`/proc/${pid}/maps`, 'utf8').includes(library);
}

let service: Service;
beforeAll(async () => {
  service = await Service.start({spares: 1});
});
afterAll(() => service.stop());

describe('a tenant that only keeps documents', () => {
  test('has nothing of the function platform in its process, whatever is asked of documents', async () => {
    const tenant = await Tenant.make(service);
    const id = await tenant.insert('notes', {text: 'a'});
    await tenant.get('notes', id);
    await tenant.request('POST', '/schedule', {
      run_after_ms: 0,
      mutation: {type: 'insert', table: 'notes', fields: {text: 'b'}},
    });
    await until('the job to have run', async () => (await tenant.list('notes')).length === 2);
    expect((await tenant.request('GET', '/tables')).body).toEqual({tables: [{name: 'notes', documents: 2}]});
    expect((await tenant.request('GET', '/journal/bootstrap')).status).toBe(200);
    expect(
      (await service.request('OPTIONS', `/svc/${tenant.id}/query`, undefined, {origin: 'https://a.example'})).status,
    ).toBe(204);
    expect((await tenant.request('POST', '/documents', {table: 7})).status).toBe(400);
    expect(await holds(service, tenant.id, '/better-sqlite3/')).toBe(true);
    expect(await holds(service, tenant.id, '/isolated-vm/')).toBe(false);
  });

  test('gets it with the first operation of functions, which is answered, and without what holds isolates', async () => {
    const tenant = await Tenant.make(service);
    expect((await tenant.request('GET', '/functions')).body).toEqual({deployment: null, functions: []});
    expect(await holds(service, tenant.id, '/isolated-vm/')).toBe(false);
  });
});

describe('a tenant with a deployment', () => {
  test('has it soon after it opened, without a call', async () => {
    const app = await App.deploy(service, APP);
    await service.end('SIGTERM');
    await service.run();
    await app.admin('GET', '/schema');
    await until('the platform to be there', () => holds(service, app.tenant, '/isolated-vm/'));
  });

  test('answers all calls that come while it is loaded', async () => {
    const app = await App.deploy(service, APP);
    await service.end('SIGTERM');
    await service.run();
    const replies = await Promise.all(
      Array.from({length: 20}, () => app.svc('POST', '/mutation', {path: 'counter:add', args: {}})),
    );
    const ids = replies.map(reply => (reply.body as {status: string; value: string}).value);
    expect(new Set(ids).size).toBe(20);
    expect((await Tenant.of(service, app.tenant).list('counts')).length).toBe(20);
  });

  nightly.test('is closed in order right after it opened', async () => {
    const app = await App.deploy(service, APP);
    await service.end('SIGTERM');
    await service.run();
    await app.admin('GET', '/schema');
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.log).not.toContain('"level":"error"');
    await service.run();
  });

  nightly.test('runs a job of a function that fell due while it slept', async () => {
    const app = await App.deploy(service, APP);
    expect((await app.svc('POST', '/mutation', {path: 'counter:addLater', args: {}})).body).toMatchObject({
      status: 'success',
    });
    await service.end('SIGTERM');
    await service.run();
    await until('the job to have run', async () =>
      (await Tenant.of(service, app.tenant).list('counts')).some(({at}) => at === 'job'),
    );
  });
});

describe('when the files of the platform are not there', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const dist = join(root, 'node_modules/.svc-test-dist');
  let broken: Service;
  beforeAll(async () => {
    rmSync(dist, {recursive: true, force: true});
    mkdirSync(dist, {recursive: true});
    cpSync(join(root, 'dist'), dist, {recursive: true});
    broken = await Service.start({spares: 1, dist});
  });
  afterAll(async () => {
    await broken.stop();
    rmSync(dist, {recursive: true, force: true});
  });

  test('its operations are 503 and the log says why, documents are served, and it is there once the files are', async () => {
    const chunk = readdirSync(dist).find(name => /^worker-platform-.*\.js$/.test(name))!;
    renameSync(join(dist, chunk), join(dist, 'aside'));
    const tenant = await Tenant.make(broken);
    const id = await tenant.insert('notes', {text: 'a'});
    const refused = await tenant.request('GET', '/functions');
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({error: {code: 'session.worker_unavailable'}});
    await until('the line in the log', () => broken.log.includes('the function platform could not be loaded'));
    const called = await broken.request(
      'POST',
      `/svc/${tenant.id}/query`,
      {path: 'a:b', args: {}},
      {authorization: undefined, origin: 'https://a.example'},
    );
    expect(called.status).toBe(503);
    expect(called.headers['access-control-allow-origin']).toBe('*');
    expect(await tenant.get('notes', id)).toMatchObject({text: 'a'});
    const worker = await broken.workerOf(tenant.id);
    renameSync(join(dist, 'aside'), join(dist, chunk));
    expect((await tenant.request('GET', '/functions')).status).toBe(200);
    expect(await broken.workerOf(tenant.id)).toBe(worker);
    expect(existsSync(join(dist, chunk))).toBe(true);
  });
});
