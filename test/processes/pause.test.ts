/** A paused tenant: nothing of it runs, whatever happens to the server. */
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import type {AuditPage} from '../../shared/protocol/audit.ts';
import {App} from '../functions/app.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start({spares: 1});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

async function act(tenant: Tenant, action: 'pause' | 'pause?serve=reads' | 'resume'): Promise<void> {
  const {status, text} = await tenant.request('POST', `/${action}`);
  expect(status, text).toBe(200);
}

async function schedule(tenant: Tenant, runAfterMs: number): Promise<string> {
  const mutation = {type: 'insert', table: 'done', fields: {}};
  const {status, body} = await tenant.request('POST', '/schedule', {run_after_ms: runAfterMs, mutation});
  expect(status).toBe(201);
  return (body as {job_id: string}).job_id;
}

test('requests are refused, and jobs wait, also after kill -9 of everything, until it is resumed', async () => {
  const tenant = await Tenant.make(service);
  const other = await Tenant.make(service);
  const id = await tenant.insert('t', {n: 1});
  await schedule(tenant, 1_500);
  const meanwhile = await schedule(other, 2_000);
  await act(tenant, 'pause');
  expect(service.ownerOf(tenant.id)).toBeNull();
  const refused = await tenant.request('GET', `/documents/t/${id}`);
  expectError(refused, 503, 'session.tenant_paused');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expectError(await tenant.request('POST', '/wake'), 503, 'session.tenant_paused');

  await service.killAll();
  await service.run();
  expect((await tenant.request('GET', '/status')).body).toMatchObject({tenant: {state: 'paused'}});
  // Due later than the job of the paused tenant, which would have run by now.
  await until('the job of another', async () => {
    return (await other.request('GET', `/schedule/history/${meanwhile}`)).status === 200;
  });
  expect(service.ownerOf(tenant.id)).toBeNull();
  expectError(await tenant.request('GET', `/documents/t/${id}`), 503, 'session.tenant_paused');

  await act(tenant, 'resume');
  await until('its job to run', () => service.ownerOf(tenant.id));
  await until('its document', async () => (await tenant.list('done')).length === 1);
  expect(await tenant.get('t', id)).toMatchObject({n: 1});
});

test('paused for reads: it answers reads, refuses all else, and runs nothing, also after kill -9 of everything', async () => {
  const tenant = await Tenant.make(service);
  const other = await Tenant.make(service);
  const id = await tenant.insert('t', {n: 1});
  // Due when it is paused, also on a slow machine, and before that of the other tenant.
  await schedule(tenant, 5_000);
  const meanwhile = await schedule(other, 5_500);
  const paused = await tenant.request('POST', '/pause?serve=reads');
  expect(paused.body).toMatchObject({tenant: {state: 'paused', serves: 'reads'}});

  for (const _ of ['before', 'after']) {
    expect(await tenant.get('t', id)).toMatchObject({n: 1});
    for (const [method, path, body] of [
      ['POST', '/documents', {table: 't', fields: {}}],
      ['DELETE', `/documents/t/${id}`, undefined],
      ['POST', '/schedule', {run_after_ms: 1, mutation: {type: 'delete', table: 't', id}}],
      ['POST', '/sandboxes', {code: 'export default () => 1'}],
      ['GET', '/services', undefined],
      ['PUT', '/env/A', {value: 'a'}],
    ] as const) {
      expectError(await tenant.request(method, path, body), 409, 'session.tenant_read_only');
    }
    const socket = await Socket.established(service, tenant.id);
    socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
    expect(await socket.next()).toMatchObject({data: [{n: 1}]});
    socket.close();
    await service.killAll();
    await service.run();
  }
  await until('the job of another', async () => {
    return (await other.request('GET', `/schedule/history/${meanwhile}`)).status === 200;
  });
  expect(await tenant.list('done')).toEqual([]);

  await act(tenant, 'resume');
  expect(await tenant.insert('t', {n: 2})).toBeTypeOf('string');
  await until('its job', async () => (await tenant.list('done')).length === 1);
});

test('paused for reads: functions that are queries answer, and mutations and actions are refused', async () => {
  const app = await App.deploy(service, {
    'm.ts': `import {query, mutation, action} from './_generated/server';
      export const list = query(async ctx => (await ctx.db.query('t').collect()).length);
      export const add = mutation(async ctx => { await ctx.db.insert('t', {}); });
      export const act = action(async () => 1);`,
  });
  await app.mutation('m:add', {});
  expect((await app.admin('POST', '/pause?serve=reads')).status).toBe(200);
  expect(await app.query('m:list', {})).toBe(1);
  for (const path of ['m:add', 'm:act']) {
    expectError(await app.admin('POST', '/functions/run', {path, args: {}}), 409, 'session.tenant_read_only');
  }
  expect((await app.admin('POST', '/functions/run', {path: 'm:list', args: {}})).status).toBe(200);
});

test('a pause for reads lets writes under way finish, and each of them is refused or kept', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  const writes = Array.from({length: 100}, (_, n) => tenant.request('POST', '/documents', {table: 't', fields: {n}}));
  const {body} = await tenant.request('POST', '/pause?serve=reads');
  expect(body).toMatchObject({tenant: {serves: 'reads'}});
  const statuses = (await Promise.all(writes)).map(({status}) => status);
  expect(statuses.filter(status => ![201, 409, 503].includes(status))).toEqual([]);
  expect((await tenant.list('t')).length).toBe(1 + statuses.filter(status => status === 201).length);
  await act(tenant, 'pause');
  expectError(await tenant.request('GET', '/documents/t'), 503, 'session.tenant_paused');
  await act(tenant, 'resume');
  expect((await tenant.request('POST', '/documents', {table: 't', fields: {}})).status).toBe(201);
});

test('a pause during requests lets them finish, ends live queries with its code, and is in the audit log', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  const socket = await Socket.established(service, tenant.id);
  socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
  await socket.next();
  const writes = Array.from({length: 200}, (_, n) => tenant.request('POST', '/documents', {table: 't', fields: {n}}));
  await act(tenant, 'pause');
  const statuses = new Set((await Promise.all(writes)).map(({status}) => status));
  expect([...statuses].every(status => status === 201 || status === 503)).toBe(true);
  const done = (await Promise.all(writes)).filter(({status}) => status === 201).length;
  await act(tenant, 'resume');
  expect((await tenant.list('t')).length).toBe(done + 1);
  socket.close();
  await act(tenant, 'pause');
  expect((await service.request('DELETE', `/api/tenants/${tenant.id}`)).status).toBe(204);
  const {records}: AuditPage = (await service.get('/api/audit?limit=1000')).body;
  const actions = records.flatMap(record =>
    record.kind === 'intent' && record.tenant === tenant.id ? [record.operation] : [],
  );
  expect(actions).toEqual(['tenants.pause', 'tenants.resume', 'tenants.pause', 'tenants.delete']);
});
