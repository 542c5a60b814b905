/** Jobs run without savepoints where their work leaves nothing to roll back; one that fails changes nothing but itself. */
import {expect, test, vi} from 'vitest';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {insertFunctionJob} from '../../engine/scheduler/jobs.ts';
import {ServiceError} from '../../shared/errors.ts';
import {eachWithSchedule, type Schedule, START_MS} from './movable-schedule.ts';

let schedule: Schedule;
eachWithSchedule(own => {
  schedule = own;
});

const all = (sql: string) => schedule.db.prepare(sql).pluck().all();
const jobOf = (mutation: object, afterMs = 1) => schedule.job(afterMs, JSON.stringify(mutation));
const functionJob = (runAtMs: number) =>
  schedule.change(writer =>
    insertFunctionJob(writer, START_MS, {path: 'a:b', args: '{}', runAtMs}, {id: 'r', jobs: 1}),
  );

test('an insert, an update and a delete take none, whether or not they fail', async () => {
  const id = await schedule.change(insertEffect('t', {n: 1}));
  await jobOf({type: 'insert', table: 't', fields: {n: 2}});
  await jobOf({type: 'update', table: 't', id, patch: {n: 3}}, 2);
  await jobOf({type: 'delete', table: 't', id}, 3);
  await jobOf({type: 'update', table: 't', id: 'missing', patch: {n: 4}}, 4);
  const {savepoint, savepointAttempt} = schedule.writer.statements;
  const savepoints = [vi.spyOn(savepoint, 'run'), vi.spyOn(savepointAttempt, 'run')];
  await schedule.pass(4);
  expect(all('SELECT outcome FROM job_results')).toEqual(['completed', 'completed', 'completed', 'failed']);
  expect(all('SELECT body FROM documents')).toEqual(['{"n":2}']);
  for (const run of savepoints) expect(run).not.toHaveBeenCalled();
});

test('an insert with an id that is taken leaves no table behind', async () => {
  const id = 'chosen';
  await schedule.change(insertEffect('t', {}, id));
  await jobOf({type: 'insert', table: 'new', fields: {}, id});
  await schedule.pass(1);
  expect(all('SELECT error FROM job_results')).toEqual([expect.stringContaining('op.conflict')]);
  expect(all('SELECT name FROM tables')).toEqual(['t']);
});

test('a function that fails after a change leaves its result and nothing else', async () => {
  schedule.close();
  schedule.functions = [
    writer => {
      insertEffect('t', {})(writer);
      throw new ServiceError('op.failed', 'too late');
    },
  ];
  schedule.open();
  const id = await functionJob(START_MS);
  await schedule.pass(0);
  expect(all('SELECT outcome FROM job_results')).toEqual(['failed']);
  expect(all('SELECT count(*) FROM documents')).toEqual([0]);
  expect(schedule.runs).toEqual([id]);
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
