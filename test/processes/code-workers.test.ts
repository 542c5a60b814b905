/** Tenants without code have workers that start from Node's snapshot; their first deployment moves them to one that can hold isolates (0063). */
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {crc32} from 'node:zlib';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {App, uploadOf} from '../functions/app.ts';
import {EventReader} from '../harness/event-reader.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {isAlive, killHard} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {WriteLoad} from '../harness/write-load.ts';

const APP = {
  'notes.ts': `
    import {mutationGeneric as mutation, queryGeneric as query} from 'svc/server';
    export const add = mutation({handler: ctx => ctx.db.insert('notes', {text: 'a'})});
    export const all = query({handler: ctx => ctx.db.query('notes').collect()});
  `,
};
type Row = {id: string; generation: number};

/** The log's line about a worker that found a deployment and cannot hold isolates. */
const NEEDS_CODE = 'a tenant needs a worker that runs code';
const CALLS = 30;
const KILLS = rounds({commit: 1, nightly: 10});

let service: Service;
beforeEach(() => service.showLogOnFailure());

function runsCode(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('--no-node-snapshot');
}

/** Threads that Node did not name: the main thread, and helpers of V8. */
function unnamedThreads(pid: number): number {
  const task = `/proc/${pid}/task`;
  return readdirSync(task).filter(id => readFileSync(`${task}/${id}/comm`, 'utf8') === 'node\n').length;
}

/** The owner, when it is another one. */
function next(owner: number | null, before: number): number | null {
  return owner === before ? null : owner;
}

/** Throws when a call is not answered 200. */
async function callAll(app: App): Promise<void> {
  await Promise.all(
    Array.from({length: CALLS}, (_, i) => (i % 2 === 0 ? app.mutation('notes:add', {}) : app.query('notes:all', {}))),
  );
}

/** A tenant with a document, in a worker that runs no code, and its functions to be deployed. */
async function plainTenant(): Promise<{tenant: Tenant; app: App; worker: number}> {
  const app = await App.empty(service);
  const tenant = Tenant.of(service, app.tenant);
  await tenant.insert('kept', {text: 'a'});
  const worker = await service.workerOf(tenant.id);
  expect(runsCode(worker)).toBe(false);
  return {tenant, app, worker};
}

describe.each(rounds({commit: [1], nightly: [1, 2]}))('with %i routers', routers => {
  beforeAll(async () => {
    service = await Service.start({args: ['--routers', String(routers)]});
  });
  afterAll(() => service.stop());

  test('a worker that runs no code has fewer helper threads of V8 than the four of Node', async () => {
    const {worker} = await plainTenant();
    expect(unnamedThreads(worker)).toBeLessThan(1 + 4);
  });

  test('a first deployment moves its tenant under load: nothing fails, and its functions answer at once', async () => {
    const {tenant, app, worker} = await plainTenant();
    expect((await tenant.request('GET', '/functions')).status).toBe(200);
    expect((await app.svc('POST', '/query', {path: 'notes:all', args: {}})).status).toBeLessThan(500);
    expect(await service.workerOf(tenant.id)).toBe(worker);

    const live = await Socket.established(service, tenant.id);
    live.send({type: 'subscribe', request_id: 'a', query: {table: 'kept', filters: []}});
    await live.nextThat(({data}) => data?.length === 1);
    const follower = await EventReader.open(service, `/api/tenants/${tenant.id}/journal/stream`);
    const upload = await uploadOf(APP);
    const load = new WriteLoad(tenant);
    await load.progress(20);
    const statuses = new Set<number>();
    let isOver = false;
    const readers = Array.from({length: 4}, async () => {
      while (!isOver) statuses.add((await tenant.request('GET', '/documents/kept')).status);
    });
    expect((await tenant.request('POST', '/deployments', upload)).status).toBe(201);
    await callAll(app);
    expect(runsCode(await service.workerOf(tenant.id))).toBe(true);
    expect(isAlive(worker)).toBe(false);
    await load.progress(20);
    isOver = true;
    await Promise.all(readers);
    await load.stop();
    expect([...statuses]).toEqual([200]);
    expect([...load.unknown, ...load.refused.keys()]).toEqual([]);
    await load.expectKept();
    await tenant.insert('kept', {text: 'b'});
    await live.nextThat(({data}) => data?.length === 2);
    live.close();
    const [opened] = await follower.take(1);
    for (let sequence = Number(opened!.id) + 1; ; sequence++) {
      const [event] = await follower.take(1);
      expect(event).toMatchObject({event: 'message', id: String(sequence)});
      if (JSON.stringify(event!.data).includes('"text":"b"')) break;
    }
    follower.close();
  });
});

describe('a tenant', () => {
  beforeAll(async () => {
    service = await Service.start({args: ['--idle-stop', '3s', '--log-level', 'debug']});
  });
  afterAll(() => service.stop());

  test('a tenant whose first request is a deploy has a worker that runs code from the first', async () => {
    const app = await App.deploy(service, APP);
    expect(runsCode(await service.workerOf(app.tenant))).toBe(true);
    await callAll(app);
    expect(service.log).not.toContain('"to":"moving"');
  });

  test('a worker that is killed as its tenant moves takes nothing with it, and the deploy can be tried again', async () => {
    for (let trial = 0; trial < KILLS; trial++) {
      const {tenant, app, worker} = await plainTenant();
      const load = new WriteLoad(tenant, 4);
      await load.progress(5);
      const deployed = app.tryDeploy(APP);
      // In turn: the worker that is left, and the one that comes.
      const victim =
        trial % 2 === 0
          ? await until('the move', () =>
              service.log.includes(`"tenant":"${tenant.id}","from":"awake","to":"moving"`),
            ).then(() => worker)
          : await until('the next worker', () => next(service.ownerOf(tenant.id), worker));
      killHard(victim); // the move can have been quicker
      const {status} = await deployed;
      expect([201, 503]).toContain(status);
      await load.progress(5);
      await load.stop();
      await load.expectKept();
      if (status !== 201) await app.deploy(APP);
      await callAll(app);
    }
  });

  nightly.test('both kinds sleep and wake as what they are, and a restart knows them', async () => {
    const {tenant} = await plainTenant();
    const app = await App.deploy(service, APP);
    const look = async () => {
      await tenant.insert('kept', {text: 'b'});
      const plain = runsCode(await service.workerOf(tenant.id));
      await callAll(app);
      return [plain, runsCode(await service.workerOf(app.tenant))];
    };
    await service.asleep(tenant.id);
    await service.asleep(app.tenant);
    expect(await look()).toEqual([false, true]);
    await service.end('SIGTERM');
    await service.run();
    expect(await look()).toEqual([false, true]);
  });

  async function changeRegistry(change: (db: Database.Database) => void): Promise<void> {
    await service.end('SIGTERM');
    const db = new Database(join(service.data, 'registry.sqlite'));
    change(db);
    db.close();
    await service.run();
  }

  test('a registry that names a tenant as one without code, which has a deployment: its calls are answered', async () => {
    const app = await App.deploy(service, APP);
    await changeRegistry(db => {
      const row = db.prepare('SELECT id, generation FROM tenants WHERE id = ?').get(app.tenant) as Row;
      const checksum = crc32(JSON.stringify([row.id, row.generation, 'without code']));
      db.prepare('INSERT INTO without_code VALUES (?, ?, ?)').run(row.id, row.generation, checksum);
    });
    await callAll(app);
    // The first worker found the deployment, and said so.
    const db = new Database(join(service.data, 'registry.sqlite'), {readonly: true});
    expect(db.prepare('SELECT id FROM without_code WHERE id = ?').get(app.tenant)).toBeUndefined();
    db.close();
    expect(runsCode(await service.workerOf(app.tenant))).toBe(true);
    const lines = service.log.split('\n').filter(line => line.includes(app.tenant));
    expect(lines.filter(line => line.includes('ended unexpectedly'))).toEqual([]);
    expect(lines.filter(line => line.includes(NEEDS_CODE))).toHaveLength(1);
  });

  nightly.test(
    'the registry of an older svc: a tenant of documents gets the quick worker once it has slept',
    async () => {
      const {tenant} = await plainTenant();
      await changeRegistry(db => db.exec('DROP TABLE without_code'));
      await tenant.insert('kept', {text: 'b'});
      expect(runsCode(await service.workerOf(tenant.id))).toBe(true);
      await service.asleep(tenant.id);
      await tenant.insert('kept', {text: 'c'});
      expect(runsCode(await service.workerOf(tenant.id))).toBe(false);
    },
  );
});

describe('a spare', () => {
  beforeAll(async () => {
    service = await Service.start({spares: 1});
  });
  afterAll(() => service.stop());

  test('runs no code while no tenant has any, and serves every tenant once one has', async () => {
    const kinds = () => service.children('worker').map(runsCode);
    await until('a spare', () => kinds().length === 1);
    expect(kinds()).toEqual([false]);
    const app = await App.deploy(service, APP);
    await callAll(app);
    await until('a spare that runs code', () => kinds().join() === 'true,true');
    const tenant = await Tenant.make(service);
    await tenant.insert('kept', {text: 'a'});
    expect(runsCode(await service.workerOf(tenant.id))).toBe(true);
    const deployed = await Tenant.of(service, tenant.id).request('POST', '/deployments', await uploadOf(APP));
    expect(deployed.status).toBe(201);
    await callAll(await App.deploy(service, APP));
    // Its first deployment did not move it: the supervisor hears of it when the worker ends, however it ends.
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGKILL');
    await until('the next worker', () => next(service.ownerOf(tenant.id), worker));
    expect(runsCode(await service.workerOf(tenant.id))).toBe(true);
    expect(service.log).not.toContain(NEEDS_CODE);
  });
});
