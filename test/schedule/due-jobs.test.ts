/** What a due job leaves, and those that are not read ahead of their write or are gone when it runs. */
import {expect, test, vi} from 'vitest';
import {JOB_AHEAD_BYTES_MAX, JOB_RESULTS_KEEP} from '../../engine/limits.ts';
import {cancelJob, type JobAhead, readAhead, runJob} from '../../engine/scheduler/jobs.ts';
import {eachWithSchedule, type Schedule} from './movable-schedule.ts';

const MINUTE = 60_000;

let schedule: Schedule;
eachWithSchedule(own => {
  schedule = own;
});

test('a job that is cancelled when it is about to run does not run', async () => {
  const id = await schedule.job(MINUTE);
  // The scheduler reads it in this turn, and its write would run in the next one, after that of the request.
  const cancelled = schedule.change(writer => cancelJob(writer, id));
  schedule.nowMs += MINUTE;
  vi.advanceTimersByTime(MINUTE);
  await cancelled;
  await schedule.settle();
  expect(schedule.runs).toEqual([]);
  expect(schedule.db.prepare('SELECT count(*) FROM documents').pluck().get()).toBe(0);
  expect(schedule.damage).toEqual([]);
});

test('a job with a long text runs like any other', async () => {
  const fields = {text: 'x'.repeat(JOB_AHEAD_BYTES_MAX)};
  const id = await schedule.job(MINUTE, JSON.stringify({type: 'insert', table: 't', fields}));
  await schedule.pass(MINUTE);
  expect(schedule.runs).toEqual([id]);
  expect(schedule.db.prepare('SELECT body FROM documents').pluck().all()).toEqual([JSON.stringify(fields)]);
});

test('a job leaves a result; the oldest are forgotten', async () => {
  const results = () => schedule.db.prepare('SELECT n FROM job_results ORDER BY n').pluck().all();
  await schedule.job(1);
  await schedule.pass(1);
  schedule.db.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'job_results'").run(JOB_RESULTS_KEEP - 1);
  await schedule.job(1);
  await schedule.pass(1);
  expect(results()).toEqual([1, JOB_RESULTS_KEEP]);
  await schedule.job(1);
  await schedule.pass(1);
  expect(results()).toEqual([JOB_RESULTS_KEEP, JOB_RESULTS_KEEP + 1]);
});

test('a job whose text is damaged stays, and the others run', async () => {
  const damaged = await schedule.job(MINUTE);
  const sound = await schedule.job(MINUTE);
  schedule.db.prepare('UPDATE jobs SET mutation = substr(mutation, 2) WHERE id = ?').run(damaged);
  await schedule.pass(MINUTE);
  expect(schedule.runs).toEqual([sound]);
  expect(schedule.db.prepare('SELECT id FROM jobs').pluck().all()).toEqual([damaged]);
  expect(schedule.damage).toMatchObject([{check: 'checksum'}]);
  expect(schedule.failures).toEqual([]);
});

test('a bug in the change of a job that was read ahead leaves its write changed, so it is not committed', async () => {
  const id = await schedule.job(MINUTE);
  const written = schedule.change(writer => {
    const {row} = readAhead(writer, [id]).get(id)!;
    const work = {
      ...{type: 'insert', table: 't'},
      get fields(): never {
        throw new TypeError('a bug');
      },
    } as unknown as JobAhead['work'];
    const mark = writer.mark();
    const run = () => runJob(writer, row.run_at, id, () => undefined, {row, work});
    expect(run).toThrow('a bug');
    expect(writer.isUnchangedSince(mark)).toBe(false);
    throw new Error('the write is rolled back');
  });
  await expect(written).rejects.toThrow();
  expect(schedule.db.prepare('SELECT id FROM jobs').pluck().all()).toEqual([id]);
  await schedule.pass(MINUTE);
  expect(schedule.runs).toEqual([id]);
});
