/** Services over HTTP, as …/services has them: what is asked for, what is refused, and what the routes answer. */
import {beforeAll, describe, expect, test} from 'vitest';
import {SERVICE_CODE_CHARS_MAX} from '../../../shared/limits.ts';
import {SERVICES_MAX} from '../../../worker/control/limits.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {expectError, Tenant} from '../../harness/tenant.ts';
import {NODE_VERSION, ServiceClient} from '../service-client.ts';

const service = await sharedService();
let tenant: Tenant;
let services: ServiceClient;
beforeAll(async () => {
  tenant = await Tenant.make(service);
  services = new ServiceClient(tenant);
});

const CODE = 'export default async (ctx, signal) => new Promise(done => signal.addEventListener("abort", done));';
const inline = {type: 'inline', code: CODE};

describe('a service is made with what was asked for, or with defaults', () => {
  test('POST answers 201 with its record, GET shows the same, the list has it', async () => {
    const {name: _, ...empty} = await services.create({
      name: 'plain',
      source: inline,
      node_version: undefined,
      autostart: false,
    });
    expect(empty).toEqual({
      source: inline,
      env: {},
      node_version: '24',
      memory_mb: 128,
      restart: 'always',
      autostart: false,
      state: 'stopped',
      desired_state: 'stopped',
      restarts: 0,
      started_at: null,
      last_exit: null,
      created_at: expect.any(Number),
      updated_at: empty.created_at,
    });
    const asked = {name: 'full', source: inline, env: {A: 'b'}, node_version: NODE_VERSION, memory_mb: 64};
    const made = await services.create({...asked, restart: 'never', autostart: false});
    expect(made).toMatchObject({...asked, restart: 'never'});
    expect(await services.get('full')).toEqual(made);
    const {body} = await tenant.request('GET', '/services');
    expect((body as {services: unknown[]}).services.at(-1)).toEqual(made);
  });

  test.each<[object, string]>([
    [{name: 'a/b'}, 'name must match'],
    [{name: ''}, 'name must match'],
    [{name: 'x'.repeat(65)}, 'name must match'],
    [{source: undefined}, 'source'],
    [{source: {type: 'file', path: 'a'}}, 'source'],
    [{source: {type: 'inline', code: ''}}, 'source'],
    [{source: {type: 'inline', code: 'x'.repeat(SERVICE_CODE_CHARS_MAX + 1)}}, 'source'],
    [{source: {type: 'module', path: 'workers/none'}}, 'source.path must be a module of the active deployment'],
    [{node_version: '18'}, 'node_version'],
    [{memory_mb: 31}, 'memory_mb must be >= 32'],
    [{memory_mb: 1_025}, 'memory_mb must be <= 1024'],
    [{restart: 'sometimes'}, 'restart must be one of'],
    [{autostart: 'yes'}, 'autostart must be boolean'],
    [{env: {A: 1}}, 'env.A must be string'],
    [{env: {A: 'x'.repeat(32_768)}}, 'env must have at most 32768 characters'],
    [{env: {'A=B': ''}}, 'env must hold valid Unicode, with names that are not empty'],
    [{env: {A: 'a\0b'}}, 'env must hold'],
  ])('%# is 400: %j', async (change, message) => {
    const body = {name: 'bad', source: inline, ...change};
    const error = expectError(await tenant.request('POST', '/services', body), 400, 'op.invalid_input');
    expect(error.message).toContain(message);
  });

  test('a name that is taken is 409', async () => {
    await services.inline('taken', CODE, {autostart: false});
    const reply = await tenant.request('POST', '/services', {name: 'taken', source: inline});
    expect(expectError(reply, 409, 'op.conflict').message).toContain('PUT changes it');
  });

  test('with the same Idempotency-Key it is made once', async () => {
    const body = {name: 'once', source: inline, autostart: false};
    const first = await tenant.request('POST', '/services', body, {'idempotency-key': 'a'});
    const again = await tenant.request('POST', '/services', body, {'idempotency-key': 'a'});
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
  });

  test('a tenant that is not there is 404, as is a service of another tenant', async () => {
    const other = await Tenant.make(service);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/start'],
      ['POST', '/stop'],
      ['POST', '/restart'],
      ['GET', '/logs'],
    ] as const) {
      expectError(await other.request(method, `/services/plain${path}`), 404, 'op.not_found');
    }
    expectError(await other.request('PUT', '/services/plain', {source: inline}), 404, 'op.not_found');
    expectError(await service.get('/api/tenants/nobody/services'), 404, 'session.tenant_not_found');
  });
});

describe('an update', () => {
  test('PUT puts the whole definition in the place of the one before, and answers with the record', async () => {
    const made = await services.inline('changing', CODE, {autostart: false, memory_mb: 64, env: {A: 'b'}});
    const source = {type: 'inline', code: 'export default () => {};'};
    const updated = await services.update('changing', {source, restart: 'on_failure', autostart: false});
    expect(updated).toEqual({
      ...made,
      source,
      env: {},
      memory_mb: 128,
      restart: 'on_failure',
      updated_at: expect.any(Number),
    });
    expect(updated.updated_at).toBeGreaterThanOrEqual(made.updated_at);
    expect(await services.get('changing')).toEqual(updated);
  });

  test('with the name of another one is 400', async () => {
    await services.inline('mine', CODE, {autostart: false});
    const reply = await tenant.request('PUT', '/services/mine', {name: 'yours', source: inline});
    expect(expectError(reply, 400, 'op.invalid_input').message).toContain('name must be that of the path');
  });
});

test('DELETE is 204, and the service is gone with its log', async () => {
  await services.inline('leaving', 'export default (ctx, signal, log) => log.info("hi");', {restart: 'never'});
  await services.is('leaving', 'stopped');
  expect((await tenant.request('DELETE', '/services/leaving')).status).toBe(204);
  expectError(await tenant.request('GET', '/services/leaving'), 404, 'op.not_found');
  expectError(await tenant.request('DELETE', '/services/leaving'), 404, 'op.not_found');
  await services.inline('leaving', CODE, {autostart: false});
  expect(await services.entries('leaving')).toEqual([]);
});

describe('a tenant has as many services as it may', () => {
  test(`one beyond ${SERVICES_MAX} is 429`, async () => {
    const crowded = await Tenant.make(service);
    const client = new ServiceClient(crowded);
    for (let n = 0; n < SERVICES_MAX; n++) await client.inline(`s${n}`, CODE, {autostart: false});
    const body = {name: 'more', source: inline, autostart: false};
    expectError(await crowded.request('POST', '/services', body), 429, 'op.rate_limited');
    await crowded.request('DELETE', '/services/s0');
    expect((await crowded.request('POST', '/services', body)).status).toBe(201);
  });

  test('those that are to run have 2,048 MiB together', async () => {
    const large = await Tenant.make(service);
    const client = new ServiceClient(large);
    await client.inline('a', CODE, {memory_mb: 1_024});
    await client.inline('b', CODE, {memory_mb: 1_000});
    const body = {name: 'c', source: inline, memory_mb: 32};
    const reply = await large.request('POST', '/services', body);
    expect(expectError(reply, 429, 'op.rate_limited').message).toContain('2048 MiB');
    await client.inline('c', CODE, {memory_mb: 32, autostart: false});
    expectError(await large.request('POST', '/services/c/start'), 429, 'op.rate_limited');
    await client.act('b', 'stop');
    await client.act('c', 'start');
  });
});
