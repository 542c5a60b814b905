import {existsSync, mkdirSync, readdirSync, renameSync, statSync} from 'node:fs';
import {basename, join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {nightly} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start({spares: 1, args: ['--idle-stop', '500ms']});
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

const remove = (id: string) => service.request('DELETE', `/api/tenants/${id}`);

describe('the files of a tenant', () => {
  test('are in a directory of its own, for this user alone, from its creation on', async () => {
    const directory = service.directoryOf(tenant.id)!;
    expect((statSync(directory).mode & 0o777).toString(8)).toBe('700');
    await tenant.insert('t', {});
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o077).toBe(0);
  });

  test.each(['Case', 'case', 'CASE', 'a_b', 'a-b', 'A_B', '0', 'x'.repeat(64), 'X'.repeat(64)])(
    'of %s meet those of no other tenant',
    async id => {
      expect((await service.post('/api/tenants', {id})).status).toBe(201);
      await service.post(`/api/tenants/${id}/documents`, {table: 't', fields: {id}});
      const {data}: {data: {id: string}[]} = (await service.get(`/api/tenants/${id}/documents/t`)).body;
      expect(data.map(doc => doc.id)).toEqual([id]);
      const directory = service.directoryOf(id)!;
      expect(basename(directory)).toBe(basename(directory).toLowerCase());
    },
  );
});

describe('deletion', () => {
  test.each(['never used', 'awake', 'asleep'])(
    'of a tenant that is %s removes its files and ends its worker',
    async state => {
      if (state !== 'never used') await tenant.insert('t', {n: 1});
      const worker = state === 'awake' ? await service.workerOf(tenant.id) : null;
      if (state === 'asleep') await service.asleep(tenant.id);
      const directory = service.directoryOf(tenant.id)!;
      expect((await remove(tenant.id)).status).toBe(204);
      expect(existsSync(directory)).toBe(false);
      expect(worker !== null && isAlive(worker)).toBe(false);
      expectError(await tenant.request('GET', '/documents/t'), 404, 'session.tenant_not_found');
      expectError(await remove(tenant.id), 404, 'session.tenant_not_found');
    },
  );

  test('a tenant made again under the same id is empty, and its journal starts anew', async () => {
    for (let round = 1; round <= 3; round++) {
      await tenant.insert('t', {round});
      await tenant.putSchema('t', [{name: 'round', field_type: 'number', required: true}]);
      expect((await remove(tenant.id)).status).toBe(204);
      expect((await service.post('/api/tenants', {id: tenant.id})).status).toBe(201);
      expect(await tenant.list('t')).toEqual([]);
      expect((await tenant.request('GET', '/schema')).body).toEqual({tables: {}});
      expect((await tenant.request('GET', '/journal')).body).toMatchObject({latest_sequence: 0, cursor_floor: 1});
    }
  });

  test('under load: requests succeed until it is decided and are 404 from then on', async () => {
    let isDecided = false;
    const statuses = new Set<number>();
    const clients = Array.from({length: 8}, async () => {
      for (;;) {
        const wasDecided = isDecided;
        const {status, text} = await tenant.request('POST', '/documents', {table: 't', fields: {}});
        if (wasDecided) expect(status).toBe(404);
        statuses.add(status);
        if (status === 404) return;
        expect([201, 503], text).toContain(status);
      }
    });
    await until('some writes', () => statuses.has(201));
    expect((await remove(tenant.id)).status).toBe(204);
    isDecided = true;
    await Promise.all(clients);
    expect(service.directoryOf(tenant.id)).toBeNull();
  });

  test('asked for by many at once happens once', async () => {
    await tenant.insert('t', {});
    const statuses = (await Promise.all(Array.from({length: 10}, () => remove(tenant.id)))).map(({status}) => status);
    expect(statuses.sort()).toEqual([204, ...Array<number>(9).fill(404)]);
  });

  nightly.test('of a worker that is stuck: it is ended, and the deletion completes', async () => {
    await tenant.insert('t', {});
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGSTOP');
    expect((await remove(tenant.id)).status).toBe(204);
    expect(isAlive(worker)).toBe(false);
    expect(service.directoryOf(tenant.id)).toBeNull();
  });
});

describe('creation', () => {
  test('asked for by many at once happens once', async () => {
    const replies = await Promise.all(Array.from({length: 10}, () => service.post('/api/tenants', {id: 'once'})));
    expect(replies.map(({status}) => status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
  });
});

describe('what a crash left half done is put right at the next start', () => {
  test('a deletion that was decided is finished; an empty directory that no tenant has is removed', async () => {
    const mine = await Service.start({spares: 1});
    mine.showLogOnFailure();
    const [kept, deleted] = [await Tenant.make(mine), await Tenant.make(mine)];
    for (const each of [kept, deleted]) await each.insert('t', {n: 1});
    await mine.end('SIGTERM');
    const directory = mine.directoryOf(deleted.id)!;
    const marked = directory.replace(/t_([^/]+)$/, 'd_$1');
    renameSync(directory, marked);
    const unknown = join(mine.data, 'tenants', 't_unknown_99');
    mkdirSync(unknown);
    await mine.run();
    expect((await mine.get('/api/tenants')).body).toEqual({tenants: [kept.id]});
    expect([directory, marked, unknown].filter(existsSync)).toEqual([]);
    expect(await kept.list('t')).toMatchObject([{n: 1}]);
    expect((await mine.post('/api/tenants', {id: deleted.id})).status).toBe(201);
    expect(await deleted.list('t')).toEqual([]);
    await mine.stop();
  });
});
