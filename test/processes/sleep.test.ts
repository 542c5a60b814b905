import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {nightly, rounds} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const TICKS = rounds({commit: 1, nightly: 2});

let service: Service;
beforeEach(() => service.showLogOnFailure());

/** Schedules an insert of `{marker}`. */
async function schedule(tenant: Tenant, runAfterMs: number, marker: string): Promise<{id: string; runAt: number}> {
  const mutation = {type: 'insert', table: 'done', fields: {marker}};
  const {status, body} = await tenant.request('POST', '/schedule', {run_after_ms: runAfterMs, mutation});
  expect(status).toBe(201);
  const {job_id: id} = body as {job_id: string};
  const {jobs}: {jobs: {id: string; run_at: number}[]} = (await tenant.request('GET', '/schedule')).body;
  return {id, runAt: jobs.find(job => job.id === id)!.run_at};
}

type Result = {run_at: number; finished_at: number; outcome: string; error: string | null};

async function resultOf(tenant: Tenant, id: string): Promise<Result> {
  const {status, body} = await tenant.request('GET', `/schedule/history/${id}`);
  expect(status).toBe(200);
  return (body as {result: Result}).result;
}

/** Without a request, which would wake it. */
function woken(tenant: Tenant, at = service): Promise<number> {
  return until(`${tenant.id} to be woken`, () => at.ownerOf(tenant.id));
}

describe('--idle-stop 500ms', () => {
  beforeAll(async () => {
    service = await Service.start({spares: 1, args: ['--idle-stop', '500ms']});
  });
  afterAll(() => service.stop());

  test('an idle tenant has no worker; its next request wakes it with all it had', async () => {
    const tenant = await Tenant.make(service);
    const id = await tenant.insert('t', {n: 1});
    const worker = await service.workerOf(tenant.id);
    await service.asleep(tenant.id);
    await until('its worker to end', () => !isAlive(worker));
    expect(await tenant.get('t', id)).toMatchObject({n: 1});
    expect(await service.workerOf(tenant.id)).not.toBe(worker);
  });

  test('requests that come together while it sleeps are all answered, by one worker', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insert('t', {n: -1});
    await service.asleep(tenant.id);
    await Promise.all(Array.from({length: 100}, (_, n) => tenant.insert('t', {n})));
    expect(new Set((await tenant.list('t')).map(doc => doc.n)).size).toBe(101);
  });

  test('a live connection keeps its tenant awake; once it is closed the tenant falls asleep', async () => {
    const tenant = await Tenant.make(service);
    const socket = await Socket.established(service, tenant.id);
    socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
    await socket.next();
    const worker = await service.workerOf(tenant.id);
    // As long idle as this one, and later: when it sleeps, the other one's time has come as well.
    const idle = await Tenant.make(service);
    await idle.insert('t', {});
    await service.asleep(idle.id);
    expect(service.ownerOf(tenant.id)).toBe(worker);
    await tenant.insert('t', {n: 1});
    expect(await socket.next()).toMatchObject({data: [{n: 1}]});
    socket.close();
    await service.asleep(tenant.id);
  });

  test('due work wakes a sleeping tenant: the job runs at its time, without any request', async () => {
    const tenant = await Tenant.make(service);
    const {id, runAt} = await schedule(tenant, 2_500, 'woken');
    await service.asleep(tenant.id);
    expect(Date.now()).toBeLessThan(runAt);
    await woken(tenant);
    await service.asleep(tenant.id);
    const result = await resultOf(tenant, id);
    expect(result).toMatchObject({run_at: runAt, outcome: 'completed', error: null});
    expect(result.finished_at).toBeGreaterThanOrEqual(runAt);
    expect(await tenant.list('done')).toMatchObject([{marker: 'woken', _creationTime: expect.any(Number)}]);
    expect((await tenant.list('done'))[0]!._creationTime).toBeGreaterThanOrEqual(runAt);
  });

  test('a cron wakes its sleeping tenant, tick after tick', async () => {
    const tenant = await Tenant.make(service);
    const mutation = {type: 'insert', table: 'ticks', fields: {}};
    const cron = {name: 'tick', schedule: {type: 'interval', seconds: 2}, mutation};
    expect((await tenant.request('POST', '/crons', cron)).status).toBe(201);
    for (let ticks = 0; ticks < TICKS; ticks++) {
      await service.asleep(tenant.id);
      await woken(tenant);
    }
    await service.asleep(tenant.id);
    expect((await tenant.list('ticks')).length).toBeGreaterThanOrEqual(TICKS);
    expect((await tenant.request('DELETE', '/crons/tick')).status).toBe(204);
  });
});

nightly.describe('due work over the end of the server', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'after %s, overdue jobs run once at the next start, unasked',
    async signal => {
      const mine = await Service.start({spares: 1, args: ['--idle-stop', '500ms']});
      service = mine;
      const sleeping = await Tenant.make(mine);
      const awake = await Tenant.make(mine);
      const jobs = [await schedule(sleeping, 3_000, 'sleeping')];
      await mine.asleep(sleeping.id);
      jobs.push(await schedule(awake, 1_500, 'awake'));
      if (signal === 'SIGKILL') await mine.killAll();
      else await mine.end(signal);
      await until('both to be overdue', () => jobs.every(({runAt}) => Date.now() > runAt));
      await mine.run();
      await Promise.all([woken(sleeping, mine), woken(awake, mine)]);
      for (const [i, tenant] of [sleeping, awake].entries()) {
        await mine.asleep(tenant.id);
        expect(await resultOf(tenant, jobs[i]!.id)).toMatchObject({run_at: jobs[i]!.runAt, outcome: 'completed'});
        expect(await tenant.list('done')).toHaveLength(1);
      }
      await mine.stop();
    },
  );
});

describe('--max-awake 1', () => {
  beforeAll(async () => {
    service = await Service.start({spares: 1, args: ['--max-awake', '1']});
  });
  afterAll(() => service.stop());

  test('two tenants take turns: the idle one sleeps for the other', async () => {
    const tenants = [await Tenant.make(service), await Tenant.make(service)];
    for (let round = 0; round < 3; round++) {
      for (const [i, tenant] of tenants.entries()) {
        await tenant.insert('t', {round});
        await service.workerOf(tenant.id);
        expect(service.ownerOf(tenants[1 - i]!.id)).toBeNull();
      }
    }
    for (const tenant of tenants) expect(await tenant.list('t')).toHaveLength(3);
  });

  test('with the one in use, another is 503 session.overloaded until it is free', async () => {
    const [used, other] = [await Tenant.make(service), await Tenant.make(service)];
    const socket = await Socket.established(service, used.id);
    socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
    await socket.next();
    const refused = await other.request('GET', '/documents/t');
    expectError(refused, 503, 'session.overloaded');
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    await used.insert('t', {n: 1});
    expect(await socket.next()).toMatchObject({data: [{n: 1}]});
    socket.close();
    await until('the other to be served', async () => (await other.request('GET', '/documents/t')).status === 200);
  });
});
