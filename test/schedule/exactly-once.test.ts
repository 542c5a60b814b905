/** What is killed and when makes no difference to a job: it runs once. */
import {randomUUID} from 'node:crypto';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {Cron, JobResult, PendingJob} from '../../shared/protocol/schedule.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: string;
let base: string;
/** A service for the tests of a `describe`, each of which has a tenant. */
function startBefore(args: string[] = []): void {
  beforeAll(async () => {
    service = await Service.start({args});
  });
  beforeEach(async () => {
    service.showLogOnFailure();
    tenant = await service.tenant();
    base = `/api/tenants/${tenant}`;
  });
  afterAll(() => service.stop());
}

const HOUR_MS = 3_600_000;
type JournalRecord = {
  sequence: number;
  events: {type: string; id?: string}[];
  writes: {document: {n: number}}[];
  scheduled_execution_id: string | null;
};

/** An insert of `{n}` to be run later; sent until it is acknowledged. */
async function schedule(n: number, runAfterMs: number): Promise<string> {
  const key = {'idempotency-key': randomUUID()};
  const mutation = {type: 'insert', table: 't', fields: {n}};
  return until('a job to be acknowledged', async () => {
    const {status, body} = await service.post(`${base}/schedule`, {run_after_ms: runAfterMs, mutation}, key);
    return status === 201 && (body as {job_id: string}).job_id;
  });
}

async function get<T>(path: string): Promise<T> {
  return until(`an answer to GET ${path}`, async () => {
    const {status, body} = await service.get(`${base}${path}`);
    return status === 200 && (body as T);
  });
}

async function nothingPending(): Promise<void> {
  await until('all jobs to have run', async () => (await get<{jobs: PendingJob[]}>('/schedule')).jobs.length === 0);
}

async function journal(): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (;;) {
    const after = records.at(-1)?.sequence ?? 0;
    const page = await get<{records: JournalRecord[]; has_more: boolean}>(`/journal?after=${after}&limit=1000`);
    records.push(...page.records);
    if (!page.has_more) return records;
  }
}

/** Each job has one completed run in the journal, whose record holds its effect; and one result in the history. */
async function expectEachRanOnce(jobs: ReadonlyMap<string, number>): Promise<void> {
  const runs = (await journal()).filter(record => record.scheduled_execution_id !== null);
  expect(runs.map(record => record.scheduled_execution_id).sort()).toEqual([...jobs.keys()].sort());
  for (const {scheduled_execution_id: id, writes, events} of runs) {
    expect(writes.map(({document}) => document.n)).toEqual([jobs.get(id!)]);
    expect(events.map(({type}) => type)).toEqual(['document.inserted', 'job.completed']);
  }
  const {data} = await get<{data: {n: number}[]}>('/documents/t');
  expect(data.map(({n}) => n).sort((a, b) => a - b)).toEqual([...jobs.values()].sort((a, b) => a - b));
  for (const id of jobs.keys()) {
    const {result} = await get<{result: JobResult}>(`/schedule/history/${id}`);
    expect(result).toMatchObject({id, outcome: 'completed', error: null});
  }
}

describe('kill -9 of a worker', () => {
  startBefore();

  test('with live subscribers and due jobs: nothing acknowledged is lost, each job runs exactly once', async () => {
    const jobs = new Map<string, number>();
    const socket = await Socket.established(service, tenant);
    socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
    expect(await socket.next()).toMatchObject({type: 'subscription_result', data: []});

    const count = rounds({commit: 120, nightly: 400});
    const add = async (n: number) => jobs.set(await schedule(n, n % 300), n);
    for (let round = 0; round < 4; round++) {
      const from = (round * count) / 4;
      const added = Promise.all(Array.from({length: count / 4}, (_, i) => add(from + i)));
      await until('some of them to have run', () => socket.unread.length > round);
      if (round < 3) process.kill(await service.workerOf(tenant), 'SIGKILL');
      await added;
    }
    await nothingPending();

    let shown = 0;
    while (shown < count) {
      const {type, data} = await socket.next();
      expect(type).toBe('subscription_result');
      expect(data!.length).toBeGreaterThan(shown);
      shown = data!.length;
    }
    expect(shown).toBe(count);
    expect(jobs.size).toBe(count);
    await expectEachRanOnce(jobs);
    socket.close();
  });

  test('a job that was cancelled and acknowledged does not come back', async () => {
    const id = await schedule(1, 400);
    expect((await service.request('DELETE', `${base}/schedule/${id}`)).status).toBe(204);
    process.kill(await service.workerOf(tenant), 'SIGKILL');
    const after = await schedule(2, 500);
    await nothingPending();
    await expectEachRanOnce(new Map([[after, 2]]));
  });

  test('due work of a tenant that nobody asks for still runs', async () => {
    const id = await schedule(1, 700);
    const killed = await service.workerOf(tenant);
    const before = await runs('job');
    process.kill(killed, 'SIGKILL');
    await until('the job to run', async () => (await runs('job')) > before);
    await expectEachRanOnce(new Map([[id, 1]]));
  });
});

describe('kill -9 of the whole server', () => {
  startBefore();

  test('overdue jobs run at the next start without a request to their tenant, those of the future stay', async () => {
    const jobs = new Map<string, number>();
    const dueMs = Date.now() + 1500;
    for (let n = 0; n < 40; n++) jobs.set(await schedule(n, Math.max(0, dueMs - Date.now())), n);
    const later = await schedule(1000, HOUR_MS);
    await service.killAll();
    await until('the jobs to be overdue', () => Date.now() > dueMs + 100);
    await service.run();
    await service.workerOf(tenant);
    await until('only the later one to be pending', async () => {
      const {jobs: left} = await get<{jobs: PendingJob[]}>('/schedule');
      return left.length === 1 && left[0]!.id === later;
    });
    await expectEachRanOnce(jobs);
  });

  nightly.test('a cron whose ticks were missed runs once for them, and keeps its phase', async () => {
    const mutation = {type: 'insert', table: 't', fields: {n: 1}};
    const cron = {name: 'c', schedule: {type: 'interval', seconds: 1}, mutation};
    expect((await service.post(`${base}/crons`, cron)).status).toBe(201);
    await until('a first run', async () => (await cronNow()).last_run);
    const {created_at: createdMs} = await cronNow();
    await service.killAll();
    const downMs = Date.now();
    await until('ticks to be missed', () => Date.now() > downMs + 3200);
    const upMs = Date.now();
    await service.run();
    await until('runs after the start', async () => (await runs('cron')) >= 2);

    const ticks = (await journal())
      .map(record => record.scheduled_execution_id)
      .filter(id => id !== null)
      .map(id => Number(id.slice('c@'.length)));
    expect(new Set(ticks).size).toBe(ticks.length);
    for (const tick of ticks) expect((tick - createdMs) % 1000).toBe(0);
    // The ticks up to the kill, each with its run, and one more run for all that were missed.
    const before = ticks.filter(tick => tick <= upMs).map(tick => (tick - createdMs) / 1000);
    expect(before).toEqual(before.map((_, n) => n + 1));
    expect(before.length).toBeLessThanOrEqual(Math.floor((downMs - createdMs) / 1000) + 1);
    expect(((await cronNow()).next_run - createdMs) % 1000).toBe(0);
    const {data} = await get<{data: unknown[]}>('/documents/t');
    expect(data.length).toBeGreaterThanOrEqual(ticks.length);
  });
});

describe('a tenant that sleeps', () => {
  startBefore(['--idle-stop', '300ms']);

  nightly.test('is woken for a job that is due, and sleeps again', async () => {
    const id = await schedule(1, 3000);
    await service.asleep(tenant);
    await service.workerOf(tenant);
    await service.asleep(tenant);
    await expectEachRanOnce(new Map([[id, 1]]));
  });

  nightly.test('is woken for a cron that is due, each time', async () => {
    const mutation = {type: 'insert', table: 't', fields: {n: 1}};
    const cron = {name: 'c', schedule: {type: 'interval', seconds: 3}, mutation};
    expect((await service.post(`${base}/crons`, cron)).status).toBe(201);
    for (let tick = 1; tick <= 2; tick++) {
      await service.asleep(tenant);
      await service.workerOf(tenant);
    }
    await service.asleep(tenant);
    const {created_at: createdMs, next_run: nextMs} = await cronNow();
    const {data} = await get<{data: unknown[]}>('/documents/t');
    expect(data).toHaveLength((nextMs - createdMs) / 3000 - 1);
    expect(data.length).toBeGreaterThanOrEqual(2);
  });

  test('that was deleted is not woken, nor is its work done for the next one of its name', async () => {
    await schedule(1, 1000);
    await service.asleep(tenant);
    expect((await service.request('DELETE', base)).status).toBe(204);
    expect((await service.post('/api/tenants', {id: tenant})).status).toBe(201);
    const id = await schedule(2, 1500);
    await nothingPending();
    await expectEachRanOnce(new Map([[id, 2]]));
  });
});

async function cronNow(): Promise<Cron> {
  return (await get<{crons: Cron[]}>('/crons')).crons[0]!;
}

/** Runs of jobs or crons, as the workers that live count them: asking wakes no tenant. */
async function runs(kind: 'job' | 'cron'): Promise<number> {
  const {text} = await service.get('/metrics');
  const counts = text.matchAll(new RegExp(`^svc_scheduled_runs_total\\{(?=[^}]*kind="${kind}")[^}]*\\} (\\d+)$`, 'gm'));
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
