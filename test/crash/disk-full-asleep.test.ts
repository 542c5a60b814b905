/** A full disk and tenants that sleep: reads go on, also after a restart, and deleting makes space. */
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {SmallDisk} from '../harness/small-disk.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const disk = new SmallDisk(32);

describe.skipIf(!disk.isMounted)('a full disk', () => {
  const fill = () => disk.fill();
  const makeSpace = () => disk.makeSpace();
  let service: Service;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await Service.start({data: join(disk.path, 'data'), args: ['--idle-stop', '500ms']});
  });
  beforeEach(async () => {
    service.showLogOnFailure();
    tenant = await Tenant.make(service);
    await tenant.insert('t', {n: 1, text: 'x'.repeat(200_000)});
  });
  afterEach(makeSpace);
  afterAll(async () => {
    await service.stop();
    disk.remove();
  });

  const write = () => tenant.request('POST', '/documents', {table: 't', fields: {text: 'x'.repeat(100_000)}});

  test('a tenant that sleeps is read; its writes are 507, and 201 as soon as there is space', async () => {
    await service.asleep(tenant.id);
    fill();
    for (let attempt = 0; attempt < 8; attempt++) expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    fill();
    expectError(await write(), 507, 'session.storage_full');
    await service.asleep(tenant.id);
    fill();
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    makeSpace();
    expect((await write()).status).toBe(201);
    expect(service.log).not.toContain('"level":"error","message":"a worker ended unexpectedly"');
  });

  test('many tenants asleep: each answers 200 or 507, never 503, and 200 as soon as there is space', async () => {
    const tenants = [tenant];
    for (let n = 0; n < 3; n++) {
      tenants.push(await Tenant.make(service));
      await tenants[n + 1]!.insert('t', {n: 1});
    }
    for (const each of tenants) await service.asleep(each.id);
    fill();
    const statuses = new Set<number>();
    for (const each of tenants) {
      statuses.add((await each.request('GET', '/documents/t')).status);
      fill();
    }
    expect([...statuses].filter(status => status !== 200 && status !== 507)).toEqual([]);
    expect(statuses).toContain(200);
    makeSpace();
    for (const each of tenants) expect(await each.list('t')).toMatchObject([{n: 1}]);
  });

  test('a tenant can be deleted, asleep or awake, and its space is free', async () => {
    const awake = await Tenant.make(service);
    await service.asleep(tenant.id);
    await awake.insert('t', {text: 'x'.repeat(200_000)});
    fill();
    for (const {id} of [tenant, awake]) {
      expect((await service.request('DELETE', `/api/tenants/${id}`)).status).toBe(204);
      expectError(await service.get(`/api/tenants/${id}/documents/t`), 404, 'session.tenant_not_found');
      expect(service.directoryOf(id)).toBeNull();
    }
    expect((await service.post('/api/tenants', {id: tenant.id})).status).toBe(201);
    await tenant.insert('t', {n: 2});
  });

  test.each<[string, () => Promise<unknown>]>(
    rounds<[string, () => Promise<unknown>][]>({
      commit: [],
      nightly: [
        ['stopped in order', () => service.end('SIGTERM')],
        ['killed', () => service.killAll()],
      ],
    }),
  )('a server that was %s starts on it, and its tenants are read; deleted ones stay deleted', async (_, stop) => {
    const gone = await Tenant.make(service);
    await gone.insert('t', {});
    await stop();
    fill();
    await service.run();
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    fill();
    expectError(await write(), 507, 'session.storage_full');
    expect((await service.request('DELETE', `/api/tenants/${gone.id}`)).status).toBe(204);
    fill();
    await service.end('SIGTERM');
    fill();
    await service.run();
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    expectError(await gone.request('GET', '/documents/t'), 404, 'session.tenant_not_found');
    makeSpace();
    await until('a write to work', async () => (await write()).status === 201);
    expect((await svc(['verify', '--data', service.data])).code).toBe(0);
  });
});

const inodes = new SmallDisk(32, 400);

describe.skipIf(!inodes.isMounted)('a disk without free inodes', () => {
  let service: Service;
  beforeAll(async () => {
    service = await Service.start({data: join(inodes.path, 'data'), args: ['--idle-stop', '500ms']});
  });
  afterAll(async () => {
    await service.stop();
    inodes.remove();
  });

  test('tenants that sleep are read', async () => {
    service.showLogOnFailure();
    const tenants = [await Tenant.make(service), await Tenant.make(service)];
    for (const tenant of tenants) await tenant.insert('t', {n: 1});
    for (const tenant of tenants) await service.asleep(tenant.id);
    inodes.fillInodes();
    for (const tenant of tenants) expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  });
});
