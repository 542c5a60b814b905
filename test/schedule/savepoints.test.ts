/** Jobs run without savepoints where their work leaves nothing to roll back; one that fails changes nothing but itself. */
import {expect, test, vi} from 'vitest';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {BACKGROUND_RETRY_MS, QUOTA_FAR_BYTES} from '../../engine/limits.ts';
import {insertFunctionJob} from '../../engine/scheduler/jobs.ts';
import {storageDamaged} from '../../engine/storage/damage.ts';
import {ServiceError} from '../../shared/errors.ts';
import {eachWithSchedule, type Schedule, START_MS} from './movable-schedule.ts';

let schedule: Schedule;
eachWithSchedule(own => {
  schedule = own;
});

const all = (sql: string) => schedule.db.prepare(sql).pluck().all();
const jobOf = (mutation: object, afterMs = 1) => schedule.job(afterMs, JSON.stringify(mutation));
const functionJob = (runAtMs: number, path = 'a:b') =>
  schedule.change(writer => insertFunctionJob(writer, START_MS, {path, args: '{}', runAtMs}, {id: 'r', jobs: 1}));

test('an insert, an update and a delete take none, whether or not they fail', async () => {
  const id = await schedule.change(insertEffect('t', {n: 1}));
  await jobOf({type: 'insert', table: 't', fields: {n: 2}});
  await jobOf({type: 'update', table: 't', id, patch: {n: 3}}, 2);
  await jobOf({type: 'delete', table: 't', id}, 3);
  await jobOf({type: 'update', table: 't', id: 'missing', patch: {n: 4}}, 4);
  const savepoint = vi.spyOn(schedule.writer.statements.savepoint, 'run');
  await schedule.pass(4);
  expect(all('SELECT outcome FROM job_results')).toEqual(['completed', 'completed', 'completed', 'failed']);
  expect(all('SELECT body FROM documents')).toEqual(['{"n":2}']);
  expect(savepoint).not.toHaveBeenCalled();
});

test('an insert with an id that is taken leaves no table behind', async () => {
  const id = 'chosen';
  await schedule.change(insertEffect('t', {}, id));
  await jobOf({type: 'insert', table: 'new', fields: {}, id});
  await schedule.pass(1);
  expect(all('SELECT error FROM job_results')).toEqual([expect.stringContaining('op.conflict')]);
  expect(all('SELECT name FROM tables')).toEqual(['t']);
});

test.each([
  ['none', 0, false],
  ['none near the quota, except for the whole write', QUOTA_FAR_BYTES, false],
  ['one if it reads the file', 0, true],
])('a function takes %s; one that fails after a change leaves its result and nothing else', async (_, max, reads) => {
  await schedule.change(insertEffect('t', {n: 1}));
  schedule.close();
  schedule.storageBytesMax = max;
  schedule.functions = [
    (writer, name, path) => {
      insertEffect('t', {by: name})(writer);
      if (reads) expect(writer.documentsFrom(0, Number.MAX_SAFE_INTEGER, 10)).not.toEqual([]);
      if (path === 'a:fails') throw new ServiceError('op.failed', 'too late');
    },
  ];
  schedule.open();
  const [made, failed] = [await functionJob(START_MS + 1), await functionJob(START_MS + 2, 'a:fails')];
  for (const [name, path] of [
    ['made', 'a:b'],
    ['failed', 'a:fails'],
  ] as const) {
    await schedule.cron(name, 5, JSON.stringify({type: 'function', path, args: {}}));
  }
  const savepoint = vi.spyOn(schedule.writer.statements.savepoint, 'run');
  await schedule.pass(5);
  expect(savepoint).toHaveBeenCalledTimes(max > 0 || reads ? 4 : 0);
  expect(all('SELECT id FROM job_results ORDER BY n')).toEqual([made, failed]);
  expect(all('SELECT outcome FROM job_results ORDER BY n')).toEqual(['completed', 'failed']);
  expect(all('SELECT outcome FROM cron_runs ORDER BY name')).toEqual(['failed', 'completed']);
  expect(all("SELECT body ->> 'by' FROM documents ORDER BY 1")).toEqual([null, made, 'made']);
  expect(all('SELECT count(*) FROM jobs')).toEqual([0]);
  expect(all("SELECT count(*) FROM journal WHERE record LIKE '%document.inserted%'")).toEqual([3]);
  expect(schedule.runs).toHaveLength(4);
});

test('a damaged page that a function meets is no failure of its job, which stays due', async () => {
  schedule.close();
  let isDamaged = true;
  schedule.functions = [
    writer => {
      insertEffect('t', {})(writer);
      if (isDamaged) throw storageDamaged({check: 'engine'});
    },
  ];
  schedule.open();
  const id = await functionJob(START_MS + 1);
  await schedule.pass(1);
  expect(schedule.runs).toEqual([]);
  expect(all('SELECT id FROM jobs')).toEqual([id]);
  isDamaged = false;
  await schedule.pass(BACKGROUND_RETRY_MS);
  expect(schedule.runs).toEqual([id]);
  expect(all('SELECT count(*) FROM documents')).toEqual([1]);
});

test('a function that there is no room for stays due, and the write after it is not its own', async () => {
  schedule.close();
  let isFull = true;
  schedule.functions = [
    () => {
      if (!isFull) return;
      void schedule.change(insertEffect('t', {}));
      throw new ServiceError('session.overloaded', 'no room');
    },
  ];
  schedule.open();
  const id = await functionJob(START_MS + 1);
  await schedule.pass(1);
  expect(schedule.runs).toEqual([]);
  isFull = false;
  await schedule.pass(60_000);
  expect(schedule.runs).toEqual([id]);
  expect(all("SELECT count(*) FROM journal WHERE record LIKE '%document.inserted%'")).toEqual([1]);
});
