import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {Service} from '../harness/service.ts';
import {SmallDisk} from '../harness/small-disk.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {WriteLoad} from '../harness/write-load.ts';

const disk = new SmallDisk(24);
const fill = () => disk.fill();
const makeSpace = () => disk.makeSpace();

// Only root may mount a small disk of its own.
describe.skipIf(!disk.isMounted)('a full disk', () => {
  let service: Service;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await Service.start({data: join(disk.path, 'data')});
  });
  afterAll(async () => {
    makeSpace();
    await service.stop();
    disk.remove();
  });
  beforeEach(async () => {
    makeSpace();
    service.showLogOnFailure();
    tenant = await Tenant.make(service);
  });

  const insert = (n: number) =>
    tenant.request('POST', '/documents', {table: 't', fields: {n, text: 'x'.repeat(5_000)}});

  test('writes are 507 session.storage_full and change nothing; reads go on; with space they work again', async () => {
    const kept = await tenant.insert('t', {n: 0});
    const worker = await service.workerOf(tenant.id);
    fill();
    let n = 1;
    const refused = await until('a write to be refused', async () => {
      const reply = await insert(n);
      if (reply.status !== 201) return reply;
      n++;
      return null;
    });
    expectError(refused, 507, 'session.storage_full');
    const acknowledged = Array.from({length: n}, (_, i) => i);
    for (let attempt = 0; attempt < 3; attempt++) expectError(await insert(-1), 507, 'session.storage_full');
    const patch = {patch: {text: 'y'.repeat(5_000)}};
    expectError(await tenant.request('PATCH', `/documents/t/${kept}`, patch), 507, 'session.storage_full');

    expect((await tenant.list('t')).map(doc => doc.n)).toEqual(acknowledged);
    expect(await tenant.get('t', kept)).not.toHaveProperty('text');
    expect(await tenant.query({table: 't', filters: [{field: 'n', op: 'eq', value: 0}]})).toHaveLength(1);
    for (const path of ['/journal', '/journal/bootstrap', '/schema', '/schedule', '/crons']) {
      expect((await tenant.request('GET', path)).status).toBe(200);
    }
    expect((await service.get('/health')).status).toBe(200);

    makeSpace();
    await tenant.patch('t', kept, patch.patch);
    expect((await insert(n)).status).toBe(201);
    expect((await tenant.list('t')).map(doc => doc.n)).toEqual([...acknowledged, n]);
    expect(await service.workerOf(tenant.id)).toBe(worker);
    expect((await svc(['verify', '--data', service.data])).code).toBe(0);
  });

  test('under load: what was acknowledged before, meanwhile and afterwards is there once', async () => {
    const load = new WriteLoad(tenant, 8);
    for (let round = 0; round < 2; round++) {
      await load.progress(50);
      fill();
      const before = load.refused.get('session.storage_full')?.size ?? 0;
      await until('refused writes', () => (load.refused.get('session.storage_full')?.size ?? 0) > before + 20);
      makeSpace();
    }
    await load.progress(50);
    await load.stop();
    await load.expectKept();
    expect([...load.refused.keys()]).toEqual(['session.storage_full']);
  });

  test('creating a tenant is 507, and leaves none; deleting one makes space', async () => {
    await tenant.insert('t', {});
    fill();
    const reply = await until('a creation to be refused', async () => {
      const made = await service.post('/api/tenants', {id: 'too-many'});
      if (made.status !== 201) return made;
      fill();
      expect((await service.request('DELETE', '/api/tenants/too-many')).status).toBe(204);
      return null;
    });
    expectError(reply, 507, 'session.storage_full');
    expect((await service.get('/api/tenants/too-many/documents/t')).status).toBe(404);
    makeSpace();
    expect((await service.post('/api/tenants', {id: 'too-many'})).status).toBe(201);
  });

  test('a server with a new data directory does not start on it, and says why', async () => {
    fill();
    const started = await svc(['start', '--port', '0', '--data', join(disk.path, 'other')]);
    expect(started).toMatchObject({code: 1, stdout: ''});
    expect(started.stderr).toMatch(/^svc: [^\n]*the disk is full\n$/);
  });

  test('kill -9 on it: what was acknowledged is there once the server starts again', async () => {
    const load = new WriteLoad(tenant, 8);
    await load.progress(50);
    fill();
    await until('refused writes', () => (load.refused.get('session.storage_full')?.size ?? 0) > 20);
    await service.killAll();
    makeSpace();
    await service.run();
    await load.progress(50);
    await load.stop();
    await load.expectKept();
  });
});
