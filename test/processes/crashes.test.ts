import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {COOL_DOWN_MS, CRASHES_BEFORE_COOL_DOWN} from '../../supervisor/limits.ts';
import {svc} from '../harness/command.ts';
import {nightly} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start({spares: 1});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const insertBody = {table: 't', fields: {n: 2}};

/** A new tenant with one document, and its worker. */
async function awakeTenant(): Promise<{tenant: Tenant; worker: number}> {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
  return {tenant, worker: await service.workerOf(tenant.id)};
}

describe('a worker that is killed', () => {
  test('is replaced by the next request, with all that was acknowledged', async () => {
    const {tenant, worker} = await awakeTenant();
    process.kill(worker, 'SIGKILL');
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    expect(await service.workerOf(tenant.id)).not.toBe(worker);
  });

  test('is replaced without a request too: nothing that is due waits for a client', async () => {
    const {tenant, worker} = await awakeTenant();
    process.kill(worker, 'SIGKILL');
    await until('another worker', () => ![null, worker].includes(service.ownerOf(tenant.id)));
  });

  test('is not noticed by other tenants: their requests succeed on the workers they had', async () => {
    const {tenant, worker} = await awakeTenant();
    const others = [await awakeTenant(), await awakeTenant()];
    let failures = 0;
    let requests = 0;
    let isOver = false;
    const clients = others.map(async other => {
      while (!isOver) {
        const {status} = await other.tenant.request('POST', '/documents', insertBody);
        requests++;
        if (status !== 201) failures++;
      }
    });
    for (let round = 0; round < 3; round++) {
      process.kill(await service.workerOf(tenant.id), 'SIGKILL');
      await tenant.list('t');
      const soFar = requests;
      await until('more requests of others', () => requests > soFar + 20);
    }
    isOver = true;
    await Promise.all(clients);
    expect(failures).toBe(0);
    expect(isAlive(worker)).toBe(false);
    for (const other of others) expect(await service.workerOf(other.tenant.id)).toBe(other.worker);
  });

  test(`${CRASHES_BEFORE_COOL_DOWN} times in a row rests its tenant: 503 with Retry-After, and deleting it works`, async () => {
    const {tenant} = await awakeTenant();
    const {tenant: other} = await awakeTenant();
    const killed = new Set<number>();
    for (let crashes = 0; crashes < CRASHES_BEFORE_COOL_DOWN; crashes++) {
      const worker = await until('a new worker', () => {
        const owner = service.ownerOf(tenant.id);
        return owner !== null && !killed.has(owner) && owner;
      });
      // Only a worker that serves counts as one that died.
      await tenant.list('t');
      killed.add(worker);
      process.kill(worker, 'SIGKILL');
      await until('its end', () => !isAlive(worker));
    }
    const reply = await tenant.request('GET', '/documents/t');
    expectError(reply, 503, 'session.worker_unavailable');
    const retryAfterS = Number(reply.headers['retry-after']);
    expect(Number.isInteger(retryAfterS)).toBe(true);
    expect(retryAfterS).toBeGreaterThan(0);
    expect(retryAfterS).toBeLessThanOrEqual(COOL_DOWN_MS / 1000);
    expect(await other.list('t')).toMatchObject([{n: 1}]);
    expect((await tenant.request('DELETE', '')).status).toBe(204);
    expectError(await tenant.request('GET', '/documents/t'), 404, 'session.tenant_not_found');
  });
});

nightly.describe('a worker that is stuck', () => {
  test('is replaced; of what it held a short read is answered by the next one, a scan and a write are 503', async () => {
    const {tenant, worker} = await awakeTenant();
    const id = await tenant.insert('t', {n: 2});
    const {tenant: other, worker: othersWorker} = await awakeTenant();
    process.kill(worker, 'SIGSTOP');
    const read = tenant.request('GET', `/documents/t/${id}`);
    const scan = tenant.request('GET', '/documents/t');
    const write = tenant.request('POST', '/documents', insertBody);
    // Meanwhile the other tenant is served, and so is the list of tenants.
    await other.insert('t', {n: 2});
    expect((await service.get('/api/tenants')).status).toBe(200);
    expect((await read).status).toBe(200);
    expectError(await scan, 503, 'session.worker_unavailable');
    expectError(await write, 503, 'session.outcome_unknown');
    expect(isAlive(worker)).toBe(false);
    expect(await service.workerOf(tenant.id)).not.toBe(worker);
    expect(await service.workerOf(other.id)).toBe(othersWorker);
    expect((await tenant.list('t')).length).toBeLessThanOrEqual(3);
  });
});

describe('a router that is killed', () => {
  test('comes back on the same port, and finds the workers that lived on', async () => {
    const {tenant, worker} = await awakeTenant();
    const [router] = service.children('router');
    process.kill(router!, 'SIGKILL');
    await until(
      'the port to answer',
      async () => (await tenant.request('GET', '/documents/t').catch(() => null))?.status === 200,
    );
    expect(service.children('router')).not.toContain(router);
    expect(await service.workerOf(tenant.id)).toBe(worker);
    await tenant.insert('t', {n: 2});
    const made = await Tenant.make(service);
    await made.insert('t', {n: 1});
  });

  test('under load costs requests, never an acknowledged write', async () => {
    const {tenant} = await awakeTenant();
    const acknowledged: number[] = [];
    let isOver = false;
    let next = 0;
    const writers = Array.from({length: 8}, async () => {
      while (!isOver) {
        const n = ++next;
        const reply = await tenant.request('POST', '/documents', {table: 'load', fields: {n}}).catch(() => null);
        if (reply?.status === 201) acknowledged.push(n);
      }
    });
    for (let round = 0; round < 2; round++) {
      const soFar = acknowledged.length;
      await until('some writes', () => acknowledged.length > soFar + 50);
      process.kill(service.children('router')[0]!, 'SIGKILL');
    }
    const soFar = acknowledged.length;
    await until('writes after it', () => acknowledged.length > soFar + 50);
    isOver = true;
    await Promise.all(writers);
    const stored = (await tenant.list('load')).map(doc => doc.n);
    expect(new Set(stored).size).toBe(stored.length);
    expect(acknowledged.filter(n => !stored.includes(n))).toEqual([]);
  });
});

nightly.describe('a supervisor that is killed', () => {
  test('takes its children with it, and the directory can be started again at once', async () => {
    const mine = await Service.start({spares: 1});
    mine.showLogOnFailure();
    const tenant = await Tenant.make(mine);
    await tenant.insert('t', {n: 1});
    const children = mine.processes().slice(1);
    await mine.end('SIGKILL');
    await mine.run();
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    await until('its children to be gone', () => !children.some(isAlive));
    expect((await svc(['verify', '--data', mine.data])).code).toBe(0);
    await mine.stop();
  });
});

describe('a spare worker', () => {
  test('takes the next tenant; when it is killed, another one is started', async () => {
    const mine = await Service.start({spares: 1});
    mine.showLogOnFailure();
    const spares = () => mine.children('worker');
    const first = await until('a spare', () => spares()[0]);
    const tenant = await Tenant.make(mine);
    await mine.spareIsReady();
    await tenant.insert('t', {n: 1});
    expect(await mine.workerOf(tenant.id)).toBe(first);
    const second = await until('a new spare', () => spares().find(pid => pid !== first));
    process.kill(second, 'SIGKILL');
    await until('a third spare', () => spares().find(pid => pid !== first && pid !== second));
    expect(await mine.workerOf(tenant.id)).toBe(first);
    await mine.stop();
  });
});
