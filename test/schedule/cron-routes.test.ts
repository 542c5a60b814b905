/** Changing, running and looking at crons over HTTP. */

import {tmpdir} from 'node:os';
import {beforeAll, expect, test} from 'vitest';
import type {Cron, CronRun, PastRun, UpcomingWork} from '../../shared/protocol/schedule.ts';
import {App} from '../functions/app.ts';
import {svc} from '../harness/command.ts';
import {follow, state} from '../harness/follower.ts';
import {bootstrap, journalAfter} from '../harness/journal.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});

const mutation = {type: 'insert', table: 't', fields: {n: 1}};
const nightly = {type: 'cron', expression: '0 3 * * *', time_zone: 'Europe/Oslo'};
const cron = async (name: string): Promise<Cron> =>
  ((await tenant.request('GET', `/crons/${name}`)).body as {cron: Cron}).cron;
const patch = (name: string, body: object) => tenant.request('PATCH', `/crons/${name}`, body);

test('a cron by expression is shown as it was made, UTC where no time zone is named', async () => {
  for (const [name, schedule] of [
    ['nightly', nightly],
    ['utc', {type: 'cron', expression: '@hourly'}],
  ] as const) {
    expect((await tenant.request('POST', '/crons', {name, schedule, mutation})).status).toBe(201);
  }
  expect(await cron('nightly')).toMatchObject({schedule: nightly, enabled: true, last_run: null});
  expect((await cron('utc')).schedule).toEqual({type: 'cron', expression: '@hourly', time_zone: 'UTC'});
  expect(new Date((await cron('utc')).next_run).toISOString()).toMatch(/:00:00\.000Z$/);
  const {crons}: {crons: Cron[]} = (await tenant.request('GET', '/crons')).body;
  expect(crons).toEqual([await cron('nightly'), await cron('utc')]);
});

test('PATCH answers the cron as it is then; what it does not name stays; the journal carries it', async () => {
  const {created_at, next_run} = await cron('nightly');
  const off = await patch('nightly', {enabled: false});
  expect([off.status, off.body]).toEqual([200, {cron: await cron('nightly')}]);
  expect(await cron('nightly')).toMatchObject({schedule: nightly, mutation, enabled: false, created_at, next_run});
  const hourly = {type: 'interval', seconds: 3600};
  const remove = {type: 'delete', table: 't', id: 'x'};
  expect((await patch('nightly', {schedule: hourly, mutation: remove, enabled: true})).status).toBe(200);
  expect(await cron('nightly')).toMatchObject({schedule: hourly, mutation: remove, enabled: true});
  const {records} = await journalAfter(tenant, 0);
  const events = records.flatMap(record => record.events).filter(({type}) => type === 'cron.changed');
  expect(events.at(-1)).toEqual({type: 'cron.changed', name: 'nightly', cron: await cron('nightly')});
  const start = {snapshot: {...(await bootstrap(tenant)).snapshot, crons: [], documents: {}}};
  expect(follow(start as never, records).crons).toEqual((await state(tenant)).crons);
  const again = await patch('nightly', {enabled: true});
  expect([again.status, (await journalAfter(tenant, 0)).records.length]).toEqual([200, records.length]);
});

test('POST …/run runs it at once, and tells how it ended; once with an Idempotency-Key', async () => {
  await patch('nightly', {mutation, enabled: false});
  const run = () => tenant.request('POST', '/crons/nightly/run', undefined, {'idempotency-key': 'now'});
  const [first, second] = [await run(), await run()];
  expect([first.status, second.text]).toEqual([200, first.text]);
  expect(first.body).toEqual({run: {due: null, ran_at: expect.any(Number), outcome: 'completed', error: null}});
  expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  await patch('nightly', {mutation: {type: 'delete', table: 't', id: 'none'}});
  const failed = await tenant.request('POST', '/crons/nightly/run');
  expect(failed.body).toMatchObject({run: {outcome: 'failed', error: expect.stringContaining('"none"')}});
  expect(await cron('nightly')).toMatchObject({last_outcome: 'failed', failures: 1, enabled: false});
});

test('GET …/history has runs that were asked for and those of ticks, in pages', async () => {
  await patch('nightly', {schedule: {type: 'interval', seconds: 1}, mutation, enabled: true});
  await until('two ticks', async () => {
    const {runs}: {runs: CronRun[]} = (await tenant.request('GET', '/crons/nightly/history')).body;
    return runs.length >= 4;
  });
  await patch('nightly', {enabled: false});
  const {runs}: {runs: CronRun[]} = (await tenant.request('GET', '/crons/nightly/history')).body;
  expect(runs.slice(-2).map(({due, outcome}) => [due, outcome])).toEqual([
    [null, 'failed'],
    [null, 'completed'],
  ]);
  for (const {due, ran_at} of runs.slice(0, -2)) expect(due).toBeLessThanOrEqual(ran_at);
  const walked: CronRun[] = [];
  for (let after = ''; ; ) {
    const {body} = await tenant.request('GET', `/crons/nightly/history?limit=3${after}`);
    const page = body as {runs: CronRun[]; next_cursor: string | null};
    walked.push(...page.runs);
    if (page.next_cursor === null) break;
    after = `&after=${page.next_cursor}`;
  }
  expect(walked).toEqual(runs);
});

test('what is not there is 404, and what is wrong is 400 by name', async () => {
  for (const [method, path, body] of [
    ['GET', '/crons/none'],
    ['PATCH', '/crons/none', {enabled: true}],
    ['POST', '/crons/none/run'],
    ['GET', '/crons/none/history'],
  ] as const) {
    expectError(await tenant.request(method, path, body), 404, 'op.not_found');
  }
  for (const [body, named] of [
    [{}, 'one or more of schedule, mutation, enabled'],
    [{enable: true}, 'enable is not'],
    [{enabled: 1}, 'enabled'],
    [{schedule: {type: 'daily'}}, 'schedule.type'],
    [{schedule: {type: 'cron', expression: '61 * * * *'}}, 'Invalid value for minute'],
    [{schedule: {...nightly, time_zone: 'Oslo'}}, 'schedule.time_zone'],
    [{schedule: {...nightly, zone: 'UTC'}}, 'schedule.zone'],
    [{mutation: {type: 'insert', table: '1', fields: {}}}, '"1"'],
  ] as const) {
    expect(expectError(await patch('utc', body), 400, 'op.invalid_input').message).toContain(named);
  }
  expectError(await tenant.request('GET', '/crons/utc/history?after=x'), 400, 'op.invalid_input');
});

test('GET …/scheduled and …/scheduled/history have jobs and crons, of this API and of functions, in pages of one order', async () => {
  const app = await App.deploy(service, {
    'm.ts': `import {mutation} from './_generated/server';
      export const add = mutation(({db}) => db.insert('t', {n: 2}));`,
  });
  const own = Tenant.of(service, app.tenant);
  const post = async (path: string, body: object) => (await own.request('POST', path, body)).body as {job_id: string};
  const byFunction = async (delayMs: number) =>
    ((await app.svc('POST', '/schedule/run_after', {path: 'm:add', args: {}, delayMs})).body as {jobId: string}).jobId;
  const remove = {type: 'delete', table: 't', id: 'none'};
  const {job_id: failed} = await post('/schedule', {run_after_ms: 0, mutation: remove});
  const done = await byFunction(0);
  await until('both to have run', async () => {
    const {runs}: {runs: PastRun[]} = (await own.request('GET', '/scheduled/history')).body;
    return runs.length === 2;
  });
  const {job_id: later} = await post('/schedule', {run_after_ms: 7_200_000, mutation});
  const sooner = await byFunction(3_600_000);
  await post('/crons', {name: 'often', schedule: {type: 'interval', seconds: 60}, mutation: remove});
  await post('/crons', {name: 'never', schedule: {type: 'interval', seconds: 100_000}, mutation});
  await own.request('PATCH', '/crons/never', {enabled: false});
  await post('/crons/often/run', {});

  const walk = async <T>(path: string, member: string): Promise<T[]> => {
    const walked: T[] = [];
    for (let after = ''; ; ) {
      const page = (await own.request('GET', `${path}?limit=1${after}`)).body as Record<string, unknown>;
      walked.push(...(page[member] as T[]));
      if (page.next_cursor === null) break;
      after = `&after=${String(page.next_cursor)}`;
    }
    expect((await own.request('GET', path)).body).toEqual({[member]: walked, next_cursor: null});
    return walked;
  };
  const native = {origin: 'native', table: 't', function: null};
  const ofFunction = {origin: 'function', type: 'function', table: null, function: 'm:add'};
  const time = expect.any(Number);
  expect(await walk<UpcomingWork>('/scheduled', 'scheduled')).toMatchObject([
    {...native, kind: 'cron', id: 'often', type: 'delete', due: time, last_outcome: 'failed', failures: 1},
    {...ofFunction, kind: 'job', id: sooner, due: time, schedule: null},
    {...native, kind: 'job', id: later, type: 'insert', due: time},
    {...native, kind: 'cron', id: 'never', due: null, schedule: {type: 'interval', seconds: 100_000}},
  ]);
  const past = await walk<PastRun>('/scheduled/history', 'runs');
  expect(past[0]).toMatchObject({...native, kind: 'cron', id: 'often', type: 'delete', due: null, outcome: 'failed'});
  expect(past.slice(1).toSorted((a, b) => (a.origin < b.origin ? -1 : 1))).toMatchObject([
    {...ofFunction, kind: 'job', id: done, due: time, ran_at: time, outcome: 'completed', error: null},
    {...native, kind: 'job', id: failed, type: 'delete', outcome: 'failed', error: expect.stringContaining('none')},
  ]);
});

test('svc crons lists, changes and runs them, and shows what is scheduled and what ran', async () => {
  const own = await Tenant.make(service);
  await own.request('POST', '/crons', {name: 'nightly', schedule: nightly, mutation});
  const environment = {SVC_URL: service.url, SVC_DATA: service.data, SVC_TENANT: own.id};
  const run = async (...args: string[]) => {
    const {code, stdout, stderr} = await svc(['crons', ...args], environment, tmpdir());
    return [code, stdout, stderr];
  };
  expect(await run('disable', 'nightly')).toEqual([0, 'nightly  0 3 * * * (Europe/Oslo)  not enabled\n', '']);
  expect(await run('enable', 'nightly')).toEqual([0, expect.stringMatching(/^nightly .* next 20\d\d-.*Z\n$/), '']);
  expect(await run('run', 'nightly')).toEqual([0, 'completed\n', '']);
  await own.request('PATCH', '/crons/nightly', {mutation: {type: 'delete', table: 't', id: 'none'}});
  expect(await run('run', 'nightly')).toEqual([1, '', expect.stringContaining('op.not_found')]);
  expect(await run('list')).toEqual([0, expect.stringContaining('1 failed in a row'), '']);
  expect(await run('history', 'nightly')).toEqual([0, expect.stringMatching(/failed, asked for .*\n.*completed/), '']);
  expect(await run('history')).toEqual([0, expect.stringMatching(/cron {2}nightly {2}failed/), '']);
  expect(await run('scheduled')).toEqual([0, expect.stringMatching(/Z {2}cron {2}nightly {2}delete t\n$/), '']);
  expect(await run('show', 'none')).toEqual([1, '', expect.stringContaining('none')]);
  expect(await run('delete', 'nightly')).toEqual([0, 'deleted nightly\n', '']);
});

test('GET …/next has the next times; none while it is not enabled', async () => {
  const daily = {type: 'cron', expression: '0 3 * * *'};
  await tenant.request('POST', '/crons', {name: 'daily', schedule: daily, mutation});
  await tenant.request('POST', '/crons', {name: 'often', schedule: {type: 'interval', seconds: 60}, mutation});
  const timesOf = async (path: string) => ((await tenant.request('GET', path)).body as {times: number[]}).times;
  const [first, ...more] = await timesOf('/crons/daily/next?limit=3');
  expect(first).toBe((await cron('daily')).next_run);
  expect(more.map(time => time - first!)).toEqual([86_400_000, 172_800_000]);
  const minutes = await timesOf('/crons/often/next');
  expect(minutes.map(time => time - minutes[0]!)).toEqual([0, 60_000, 120_000, 180_000, 240_000]);
  expect(await timesOf('/crons/often/next?limit=1000')).toHaveLength(100);
  await patch('daily', {enabled: false});
  expect(await timesOf('/crons/daily/next')).toEqual([]);
  expectError(await tenant.request('GET', '/crons/none/next'), 404, 'op.not_found');
});
