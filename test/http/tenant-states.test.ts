/** The states of tenants, and what wakes one or lets it sleep. */
import {expect, test} from 'vitest';
import type {TenantStatus} from '../../shared/protocol/tenant-status.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();

type Overview = {tenants: TenantStatus[]; next_cursor: string | null; total: number; states: Record<string, number>};

async function statusOf(tenant: Tenant): Promise<TenantStatus> {
  const {status, body} = await tenant.request('GET', '/status');
  expect(status).toBe(200);
  return (body as {tenant: TenantStatus}).tenant;
}

async function overview(query: string, headers: Record<string, string> = {}): Promise<Overview> {
  const {status, body} = await service.get(`/api/overview/tenants?${query}`, headers);
  expect(status).toBe(200);
  return body;
}

test('a tenant that was never used sleeps; a look at it does not wake it, and `wake` does', async () => {
  const tenant = await Tenant.make(service);
  expect(await statusOf(tenant)).toMatchObject({id: tenant.id, state: 'asleep', documents: null, wakes: []});
  expect(await statusOf(tenant)).toMatchObject({state: 'asleep'});
  expect(await tenant.request('POST', '/wake')).toMatchObject({
    status: 200,
    body: {tenant: {state: 'awake', wakes: [{cause: 'operator'}]}, took_ms: expect.any(Number)},
  });
  expect(await tenant.request('POST', '/wake')).toMatchObject({status: 200, body: {took_ms: 0}});
});

test('`sleep` ends the worker of an idle tenant, and is refused while a socket is open', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  const socket = await Socket.established(service, tenant.id);
  expectError(await tenant.request('POST', '/sleep'), 409, 'op.conflict');
  socket.close();
  await until('it to sleep', async () => (await tenant.request('POST', '/sleep')).status === 200);
  expect(service.ownerOf(tenant.id)).toBeNull();
  expect(await statusOf(tenant)).toMatchObject({state: 'asleep', documents: 1, disk_bytes: expect.any(Number)});
  await tenant.list('t');
  expect((await statusOf(tenant)).wakes.map(({cause}) => cause)).toEqual(['request', 'request']);
});

test('figures count the requests of each tenant, with their errors and open sockets', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  const socket = await Socket.established(service, tenant.id);
  const found = await until('a report of the router', async () => {
    const {tenants} = await overview(`search=${tenant.id}&order=sockets`);
    return tenants[0]?.sockets === 1 && tenants[0].requests_per_second > 0 && tenants[0];
  });
  expect(found).toMatchObject({id: tenant.id, state: 'awake', error_rate: 0, p50_ms: expect.any(Number)});
  socket.close();
});

test('pages have every tenant that matches once; a key sees only its own', async () => {
  const made: string[] = [];
  for (let n = 0; n < 5; n++) {
    const id = `Page-${n}-${Date.now()}`;
    expect((await service.post('/api/tenants', {id})).status).toBe(201);
    made.push(id);
  }
  const paged: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Overview = await overview(`search=pAGE-&limit=2${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect(page).toMatchObject({total: 5, states: {asleep: 5, awake: 0}});
    paged.push(...page.tenants.map(({id}) => id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  expect(paged).toEqual(made);
  const own = {name: 'page', scopes: ['data:read'], tenants: [made[1]]};
  const {secret}: {secret: string} = (await service.post('/api/keys', own)).body;
  const key = {authorization: `Bearer ${secret}`};
  expect((await overview('', key)).tenants.map(({id}) => id)).toEqual([made[1]]);
  expectError(await service.get(`/api/tenants/${made[0]}/status`, key), 403, 'auth.forbidden');
  expectError(await service.request('POST', `/api/tenants/${made[1]}/wake`, undefined, key), 403, 'auth.forbidden');
});
