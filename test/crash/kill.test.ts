import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {CRASHES_BEFORE_COOL_DOWN} from '../../supervisor/limits.ts';
import {svc} from '../harness/command.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {WriteLoad} from '../harness/write-load.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start({spares: 1});
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

async function expectVerified(): Promise<void> {
  const {code, stdout} = await svc(['verify', '--data', service.data]);
  expect({code, stdout}).toMatchObject({code: 0});
}

/** Fewer than the crashes in a row after which a tenant is served again only after a pause. */
const WORKERS = rounds({commit: 2, nightly: CRASHES_BEFORE_COOL_DOWN - 1});
const TREES = rounds({commit: 1, nightly: 6});

describe('kill -9 loses no acknowledged write, and repeats none', () => {
  test(`of the worker, ${WORKERS} times under load`, async () => {
    const load = new WriteLoad(tenant);
    for (let round = 0; round < WORKERS; round++) {
      await load.progress(200);
      process.kill(await service.workerOf(tenant.id), 'SIGKILL');
    }
    await load.progress(200);
    await load.stop();
    await load.expectKept();
    await expectVerified();
  });

  test(`of every process at once, ${TREES} times under load`, async () => {
    const load = new WriteLoad(tenant);
    for (let round = 0; round < TREES; round++) {
      await load.progress(200);
      await service.killAll();
      await service.run();
    }
    await load.progress(200);
    await load.stop();
    await load.expectKept();
    await expectVerified();
  });

  test('of the supervisor alone, under load: its children end, and the next start goes on from disk', async () => {
    const load = new WriteLoad(tenant);
    for (let round = 0; round < rounds({commit: 1, nightly: 4}); round++) {
      await load.progress(200);
      await service.end('SIGKILL');
      await service.run();
    }
    await load.progress(200);
    await load.stop();
    await load.expectKept();
    await expectVerified();
  });

  test('while a table schema is set and its index is built: the schema is whole or absent, the index right', async () => {
    await tenant.insertAll(
      't',
      Array.from({length: 3_000}, (_, n) => ({n, group: n % 7})),
    );
    const schema = {
      table: 't',
      fields: [{name: 'group', field_type: 'number', required: true}],
      indexes: [{name: 'by_group', fields: ['group']}],
    };
    for (let round = 0; round < WORKERS; round++) {
      const put = tenant.request('PUT', '/schema/t', schema).catch(() => null);
      process.kill(await service.workerOf(tenant.id), 'SIGKILL');
      await put;
      const group = {table: 't', filters: [{field: 'group', op: 'eq', value: round}]};
      await until('the tenant to serve', async () => (await tenant.request('POST', '/query', group)).status === 200);
      // They were inserted over many connections at once, in any order.
      const found = (await tenant.query(group)).map(doc => doc.n as number);
      expect(found.sort((x, y) => x - y)).toEqual(
        Array.from({length: 3_000}, (_, n) => n).filter(n => n % 7 === round),
      );
      await tenant.request('DELETE', '/schema/t');
    }
    await until('the schema to be set', async () => (await tenant.request('PUT', '/schema/t', schema)).status === 204);
    await expectVerified();
  });

  nightly.test('while tenants are created and deleted: each exists whole or not at all', async () => {
    const mine = await Service.start({spares: 1});
    mine.showLogOnFailure();
    const created = new Set<string>();
    const gone = new Set<string>();
    const touched: string[] = [];
    for (let round = 0; round < TREES; round++) {
      const clients = Array.from({length: 6}, async (_, client) => {
        for (let n = 0; ; n++) {
          const id = `r${round}c${client}n${n}`;
          touched.push(id);
          const made = await mine.post('/api/tenants', {id}).catch(() => null);
          if (made === null) return;
          expect(made.status).toBe(201);
          created.add(id);
          if (n % 2 === 0) continue;
          created.delete(id);
          const removed = await mine.request('DELETE', `/api/tenants/${id}`).catch(() => null);
          if (removed === null) return;
          expect(removed.status).toBe(204);
          gone.add(id);
        }
      });
      const goal = created.size + 20;
      await until('some tenants', () => created.size >= goal);
      await mine.killAll();
      await Promise.all(clients);
      await mine.run();
      const {tenants}: {tenants: string[]} = (await mine.get('/api/tenants')).body;
      expect([...created].filter(id => !tenants.includes(id))).toEqual([]);
      expect(tenants.filter(id => gone.has(id))).toEqual([]);
      for (const id of touched) expect(mine.directoryOf(id) !== null).toBe(tenants.includes(id));
    }
    await mine.stop();
  });
});
