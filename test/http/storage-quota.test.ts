import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const MAX_BYTES = 2 * 1024 * 1024;
const TEXT = 'x'.repeat(100_000);

let service: Service;
beforeAll(async () => {
  service = await Service.start({args: ['--tenant-storage-max', '2m']});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

/** A tenant that keeps all it may, and the ids of its documents. */
async function fullTenant(): Promise<{tenant: Tenant; ids: string[]}> {
  const tenant = await Tenant.make(service);
  const ids: string[] = [];
  while (true) {
    const reply = await tenant.request('POST', '/documents', {table: 't', fields: {text: TEXT}});
    if (reply.status !== 201) {
      expectError(reply, 507, 'session.storage_full');
      return {tenant, ids};
    }
    ids.push((reply.body as {id: string}).id);
  }
}

/** What the metrics say the tenant keeps. */
async function usedBytes(tenant: Tenant): Promise<number> {
  const {text} = await service.get('/metrics');
  return Number(new RegExp(`^svc_tenant_storage_bytes\\{tenant="${tenant.id}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
}

describe('a tenant that keeps all it may', () => {
  test('is 507 for what would add something, and says how much it may keep; nothing was written', async () => {
    const {tenant, ids} = await fullTenant();
    expect(ids.length).toBeGreaterThan(3);
    const used = await usedBytes(tenant);
    expect(used).toBeGreaterThan(MAX_BYTES / 2);
    expect(used).toBeLessThanOrEqual(MAX_BYTES);
    const adding: [string, string, unknown][] = [
      ['POST', '/documents', {table: 't', fields: {text: TEXT}}],
      ['PATCH', `/documents/t/${ids[0]}`, {patch: {more: TEXT}}],
      [
        'POST',
        '/crons',
        {
          name: 'c',
          schedule: {type: 'interval', seconds: 3_600},
          mutation: {type: 'insert', table: 't', fields: {text: TEXT}},
        },
      ],
      ['POST', '/schedule', {run_after_ms: 3_600_000, mutation: {type: 'insert', table: 't', fields: {text: TEXT}}}],
    ];
    for (const [method, path, body] of adding) {
      const reply = await tenant.request(method, path, body);
      expectError(reply, 507, 'session.storage_full');
      const {error} = reply.body as {error: {message: string; detail: {max_bytes: number}}};
      expect(error.message).toContain('--tenant-storage-max');
      expect(error.detail.max_bytes).toBe(MAX_BYTES);
    }
    expect((await tenant.list('t')).length).toBe(ids.length);
    expect((await tenant.request('GET', '/schedule')).body).toEqual({jobs: []});
  });

  test('can be read, and what is deleted or made shorter makes room', async () => {
    const {tenant, ids} = await fullTenant();
    expect((await tenant.request('GET', `/documents/t/${ids[0]}`)).status).toBe(200);
    expect((await tenant.request('PATCH', `/documents/t/${ids[0]}`, {patch: {text: 'short'}})).status).toBe(200);
    for (const id of ids.slice(1, 4)) {
      expect((await tenant.request('DELETE', `/documents/t/${id}`)).status).toBe(204);
    }
    await tenant.insert('t', {text: TEXT});
    expect(await usedBytes(tenant)).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('is alone in it: others write', async () => {
    await fullTenant();
    const other = await Tenant.make(service);
    await other.insert('t', {text: TEXT});
  });

  test('stays so when its worker is replaced', async () => {
    const {tenant} = await fullTenant();
    process.kill(await service.workerOf(tenant.id), 'SIGKILL');
    const reply = await until('an answer of the next worker', async () => {
      const tried = await tenant.request('POST', '/documents', {table: 't', fields: {text: TEXT}});
      return tried.status !== 503 && tried;
    });
    expectError(reply, 507, 'session.storage_full');
  });
});
