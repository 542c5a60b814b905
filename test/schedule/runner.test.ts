/**
 * The scheduler on a real file with a clock that can be set: what runs when, whatever the clock does, and at what cost while
 * nothing is due. Timers are driven by hand, so a test waits for nothing.
 */
import fc from 'fast-check';
import {beforeEach, describe, expect, test, vi} from 'vitest';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {
  BACKGROUND_RETRY_MS,
  CLOCK_STEP_MS,
  JOBS_PENDING_BYTES_MAX,
  QUOTA_FAR_BYTES,
  SCHEDULED_ERROR_CHARS_MAX,
} from '../../engine/limits.ts';
import {deleteCron} from '../../engine/scheduler/crons.ts';
import {cancelJob, insertFunctionJob, scheduleJob} from '../../engine/scheduler/jobs.ts';
import {failureText} from '../../engine/scheduler/work.ts';
import {ServiceError} from '../../shared/errors.ts';
import {CLOCK_CHECK_MS} from '../../shared/limits.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {eachWithSchedule, Schedule, START_MS, WORK} from './movable-schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TRACE = {id: 'r', jobs: 1};

let schedule: Schedule;
eachWithSchedule(own => {
  schedule = own;
});

describe('a job', () => {
  test('runs at its time and not before', async () => {
    const id = await schedule.job(HOUR);
    await schedule.pass(HOUR - 1);
    expect(schedule.runs).toEqual([]);
    await schedule.pass(1);
    expect(schedule.runs).toEqual([id]);
    await schedule.pass(DAY);
    expect(schedule.runs).toEqual([id]);
  });

  test.each([
    ['has no row', 'DELETE FROM jobs'],
    ['says it is due and its row says later', `UPDATE jobs SET run_at = ${START_MS + DAY}, checksum = NULL`],
  ])('whose entry among the due ones %s is damage: it is not looked at again and again', async (_, statement) => {
    const ghost = await schedule.job(HOUR);
    schedule.behind('jobs_by_time', statement);
    const sound = await schedule.job(2 * HOUR);
    await schedule.pass(HOUR);
    expect(schedule.runner.nextDueMs()).toBe(START_MS + 2 * HOUR);
    await schedule.pass(HOUR);
    expect(schedule.runs).toEqual([sound]);
    expect(schedule.damage).toEqual([{check: 'entry', stored: `the job "${ghost}"`, index: 'jobs_by_time'}]);
  });

  test('may lie further ahead than a timer can count', async () => {
    const id = await schedule.job(60 * DAY); // a timer of more than 2^31 ms fires at once
    await schedule.pass(59 * DAY);
    expect(schedule.runs).toEqual([]);
    await schedule.pass(DAY);
    expect(schedule.runs).toEqual([id]);
  });

  test('does not wait for a later one that was armed first', async () => {
    const late = await schedule.job(HOUR);
    const soon = await schedule.job(MINUTE);
    await schedule.pass(MINUTE);
    expect(schedule.runs).toEqual([soon]);
    await schedule.pass(HOUR);
    expect(schedule.runs).toEqual([soon, late]);
  });

  test('that was cancelled never runs', async () => {
    const id = await schedule.job(HOUR);
    await schedule.change(writer => cancelJob(writer, id));
    expect(schedule.runner.nextDueMs()).toBe(null);
    await schedule.pass(2 * HOUR);
    expect(schedule.runs).toEqual([]);
  });

  test('that is overdue runs at start-up, once, however many are', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 100; n++) ids.push(await schedule.job(n * MINUTE + 1));
    schedule.close();
    schedule.nowMs += 2 * HOUR;
    schedule.open();
    await schedule.pass(0);
    expect(schedule.runs).toEqual(ids);
    schedule.close();
    schedule.open();
    await schedule.pass(0);
    expect(schedule.runs).toEqual(ids);
  });

  test('that the writer refuses, the disk being full, stays due and runs when there is space', async () => {
    const text = 'x'.repeat(500_000);
    const id = await schedule.job(MINUTE, JSON.stringify({type: 'insert', table: 't', fields: {text}}));
    const pages = schedule.db.pragma('page_count', {simple: true}) as number;
    schedule.db.pragma(`max_page_count = ${pages}`);
    const attempts = vi.spyOn(schedule.writer.statements.begin, 'run');
    await schedule.pass(MINUTE);
    expect(attempts).toHaveBeenCalledTimes(1);
    await schedule.pass(BACKGROUND_RETRY_MS - 1);
    expect(attempts).toHaveBeenCalledTimes(1);
    await schedule.pass(1);
    expect(attempts).toHaveBeenCalledTimes(2);
    expect(schedule.runs).toEqual([]);
    schedule.db.pragma('max_page_count = 1000000');
    await schedule.pass(BACKGROUND_RETRY_MS);
    expect(schedule.runs).toEqual([id]);
  });
});

test('what the writer refuses holds up no other due work, which may be what makes room', async () => {
  schedule.close();
  schedule.storageBytesMax = QUOTA_FAR_BYTES; // near it, each write is checked
  schedule.open();
  const big = JSON.stringify({type: 'insert', table: 'big', fields: {}});
  let isFull = true;
  vi.spyOn(schedule.quota, 'check').mockImplementation((writer, before) => {
    const changed = writer.commit().changes.slice(before.changes);
    if (!isFull || changed.every(({table}) => table.name !== 'big')) return;
    throw new ServiceError('session.storage_full', 'the tenant keeps all it may');
  });
  const refused = await schedule.job(MINUTE, big);
  await schedule.cron('refused', MINUTE, big);
  await schedule.cron('c', MINUTE);
  const later = await schedule.job(2 * MINUTE);
  for (let n = 0; n < 3; n++) await schedule.pass(MINUTE);
  const ticks = [1, 2, 3].map(n => `c@${START_MS + n * MINUTE}`);
  expect(schedule.runs.toSorted()).toEqual([...ticks, later].toSorted());
  isFull = false;
  await schedule.pass(BACKGROUND_RETRY_MS);
  expect(schedule.runs).toEqual(expect.arrayContaining([refused, `refused@${START_MS + MINUTE}`]));
  await schedule.pass(MINUTE - BACKGROUND_RETRY_MS);
  expect(schedule.runs.slice(-2).toSorted()).toEqual(['c', 'refused'].map(name => `${name}@${START_MS + 4 * MINUTE}`));
});

test('a bug while due work runs is not taken for its failure or a refusal of the writer', async () => {
  schedule.close();
  schedule.functions = [
    writer => {
      insertEffect('t', {})(writer);
      throw new TypeError('a bug');
    },
  ];
  schedule.open();
  await schedule.cron('c', MINUTE, JSON.stringify({type: 'function', path: 'a:b', args: {}}));
  await schedule.pass(MINUTE);
  expect(schedule.failures).toHaveLength(1);
  expect(schedule.runs).toEqual([]);
  expect(schedule.db.prepare('SELECT count(*) FROM documents').pluck().get()).toBe(0);
});

describe('a job of a function that cannot be loaded', () => {
  test('stays due, holds up nothing else, and runs once it can be', async () => {
    let isThere = false;
    schedule.close();
    schedule.functions = [writer => void insertEffect('ran', {})(writer), false, () => Promise.resolve(isThere)];
    schedule.open();
    await schedule.change(writer =>
      insertFunctionJob(writer, START_MS, {path: 'a:b', args: '{}', runAtMs: START_MS}, TRACE),
    );
    const other = await schedule.job(0);
    await schedule.pass(0);
    expect(schedule.runs).toEqual([other]);
    isThere = true;
    await schedule.pass(BACKGROUND_RETRY_MS);
    expect(schedule.runs).toHaveLength(2);
    expect(schedule.failures).toEqual([]);
  });
});

describe('a clock that is set', () => {
  test('forward: overdue jobs run once, each at the next look', async () => {
    const ids = [await schedule.job(HOUR), await schedule.job(2 * HOUR), await schedule.job(3 * DAY)];
    await schedule.setClock(START_MS + DAY);
    expect(schedule.runs).toEqual(ids.slice(0, 2));
    await schedule.pass(3 * DAY);
    expect(schedule.runs).toEqual(ids);
  });

  test('back: a job waits for its time, and is not lost', async () => {
    const id = await schedule.job(HOUR);
    await schedule.setClock(START_MS - DAY);
    await schedule.pass(DAY - CLOCK_CHECK_MS);
    expect(schedule.runs).toEqual([]);
    await schedule.pass(HOUR);
    expect(schedule.runs).toEqual([id]);
  });

  test('forward and back again: what ran does not run again', async () => {
    const [early, late] = [await schedule.job(HOUR), await schedule.job(2 * DAY)];
    await schedule.setClock(START_MS + DAY);
    expect(schedule.runs).toEqual([early]);
    await schedule.setClock(START_MS);
    await schedule.pass(2 * HOUR);
    expect(schedule.runs).toEqual([early]);
    await schedule.pass(2 * DAY);
    expect(schedule.runs).toEqual([early, late]);
  });

  test('in any way: each job runs exactly once and never before its time; crons keep their phase and never storm', async () => {
    const move = fc.record({
      /** How the clock goes on from here, and how far the timers do. */
      jumpMs: fc.integer({min: -3 * DAY, max: 3 * DAY}),
      passMs: fc.integer({min: 0, max: 2 * HOUR}),
      jobMs: fc.option(fc.integer({min: 0, max: DAY})),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(move, {minLength: 1, maxLength: 12}), async moves => {
        const own = new Schedule();
        try {
          const everyMs = 37 * MINUTE;
          await own.cron('c', everyMs);
          const dueMs = new Map<string, number>();
          for (const {jumpMs, passMs, jobMs} of moves) {
            if (jobMs !== null) {
              const at = own.nowMs + jobMs;
              dueMs.set(await own.job(jobMs), at);
            }
            const before = new Set(own.runs);
            await own.setClock(own.nowMs + jumpMs);
            await own.pass(passMs);
            const fresh = own.runs.filter(id => !before.has(id));
            for (const id of fresh) expect(dueMs.get(id) ?? 0).toBeLessThanOrEqual(own.nowMs);
            // One look after the jump, one after the time passed.
            expect(fresh.filter(id => id.startsWith('c@')).length).toBeLessThanOrEqual(2);
            const next = own.nextRun('c');
            expect((((next - START_MS) % everyMs) + everyMs) % everyMs).toBe(0);
            expect(next).toBeGreaterThan(own.nowMs);
            expect(next).toBeLessThanOrEqual(own.nowMs + everyMs + CLOCK_STEP_MS);
            expect(new Set(fresh).size).toBe(fresh.length);
            const overdue = [...dueMs].filter(([, at]) => at <= own.nowMs).map(([id]) => id);
            expect(own.runs).toEqual(expect.arrayContaining(overdue));
          }
          await own.setClock(START_MS + 100 * DAY);
          const jobs = own.runs.filter(id => !id.startsWith('c@'));
          expect(jobs.toSorted()).toEqual([...dueMs.keys()].sort());
        } finally {
          own.remove();
        }
      }),
      {numRuns: rounds({commit: 15, nightly: 40})},
    );
  });
});

describe('a cron', () => {
  test('first runs one interval after its creation, then at every tick', async () => {
    await schedule.cron('c', HOUR);
    await schedule.pass(HOUR - 1);
    expect(schedule.runs).toEqual([]);
    await schedule.pass(1);
    await schedule.pass(HOUR);
    await schedule.pass(HOUR);
    expect(schedule.runs).toEqual([1, 2, 3].map(n => `c@${START_MS + n * HOUR}`));
  });

  test('whose ticks were missed runs once for all of them, and keeps its phase', async () => {
    await schedule.cron('c', HOUR);
    schedule.close();
    schedule.nowMs = START_MS + 10.5 * HOUR;
    schedule.open();
    await schedule.pass(0);
    expect(schedule.runs).toEqual([`c@${START_MS + HOUR}`]);
    expect(schedule.nextRun('c')).toBe(START_MS + 11 * HOUR);
    await schedule.pass(HOUR / 2);
    expect(schedule.runs).toHaveLength(2);
  });

  test('that runs late keeps its phase', async () => {
    await schedule.cron('c', HOUR);
    schedule.nowMs += 7 * MINUTE;
    await schedule.pass(HOUR);
    expect(schedule.nextRun('c')).toBe(START_MS + 2 * HOUR);
  });

  test('goes on with the first tick of the new time when the clock is set back', async () => {
    await schedule.cron('c', HOUR);
    await schedule.pass(HOUR);
    await schedule.setClock(START_MS - 30 * DAY);
    expect(schedule.nextRun('c')).toBe(START_MS - 30 * DAY + HOUR);
    expect(schedule.runs).toHaveLength(1);
    await schedule.pass(HOUR);
    expect(schedule.runs).toHaveLength(2);
  });

  test('that was made in a time which the clock left is brought back too', async () => {
    schedule.nowMs = START_MS + 365 * DAY;
    await schedule.cron('c', DAY);
    await schedule.setClock(START_MS);
    await schedule.pass(DAY);
    expect(schedule.runs).toHaveLength(1);
  });

  test.each([1, 50, 2_000, CLOCK_STEP_MS - 1])(
    'does not run at its creation when the clock is corrected by -%d ms just after it, other work being due',
    async backMs => {
      await schedule.cron('hourly', HOUR);
      schedule.nowMs -= backMs;
      const job = await schedule.job(0);
      await schedule.pass(backMs);
      expect(schedule.runs).toEqual([job]);
      expect(schedule.nextRun('hourly')).toBe(START_MS + HOUR);
      await schedule.pass(HOUR);
      expect(schedule.runs).toEqual([job, `hourly@${START_MS + HOUR}`]);
    },
  );

  test.each([1, 50, 2_000, CLOCK_STEP_MS - 1])(
    'does not run a tick twice when the clock is corrected by -%d ms just after it ran',
    async backMs => {
      await schedule.cron('daily', DAY);
      await schedule.pass(DAY);
      schedule.nowMs -= backMs;
      const job = await schedule.job(0);
      await schedule.pass(backMs);
      await schedule.pass(HOUR);
      expect(schedule.runs).toEqual([`daily@${START_MS + DAY}`, job]);
    },
  );

  test('of a second waits out a correction of its clock, and goes on', async () => {
    await schedule.cron('c', 1_000);
    await schedule.pass(1_000);
    schedule.nowMs -= 30_000;
    await schedule.pass(30_000);
    expect(schedule.runs).toHaveLength(1);
    await schedule.pass(1_000);
    expect(schedule.runs).toEqual([`c@${START_MS + 1_000}`, `c@${START_MS + 2_000}`]);
  });

  test('that fails is logged at its 1st, 10th and 100th failure in a row, and when it completes again', async () => {
    await schedule.cron('c', MINUTE, JSON.stringify({type: 'delete', table: 't', id: 'later'}));
    const told = () =>
      schedule.logged
        .map(line => JSON.parse(line) as {level: string; cron?: string; failures?: number; error?: string})
        .filter(({cron}) => cron === 'c')
        .map(({level, failures, error}) => [level, failures, error]);
    const error = 'op.not_found: table "t" has no document "later"';
    for (let n = 0; n < 120; n++) await schedule.pass(MINUTE);
    const failed = [1, 10, 100].map(failures => ['warn', failures, error]);
    expect(told()).toEqual(failed);
    expect(schedule.writer.statements.cron.get('c')).toMatchObject({
      failures: 120,
      last_outcome: 'failed',
      last_error: error,
    });
    await schedule.job(0, JSON.stringify({type: 'insert', table: 't', id: 'later', fields: {}}));
    await schedule.pass(MINUTE);
    expect(told()).toEqual([...failed, ['info', 120, undefined]]);
    expect(schedule.writer.statements.cron.get('c')).toMatchObject({
      failures: 0,
      last_outcome: 'completed',
      last_error: null,
    });
    await schedule.pass(MINUTE);
    expect(told()).toEqual([...failed, ['info', 120, undefined], ['warn', 1, error]]);
  });

  test('whose error is long keeps the beginning of it, with whole characters', async () => {
    const id = '😀'.repeat(64);
    const work = JSON.stringify({type: 'update', table: 't', id: 'x', patch: {}});
    await schedule.cron('c', MINUTE, work.replace('"x"', JSON.stringify(id)));
    await schedule.pass(MINUTE);
    expect(schedule.writer.statements.cron.get('c')!.last_error).toContain(id);
    const cut = failureText(new ServiceError('op.failed', '😀'.repeat(SCHEDULED_ERROR_CHARS_MAX)), work)!;
    expect([cut.length, cut.isWellFormed(), cut.at(-1)]).toEqual([SCHEDULED_ERROR_CHARS_MAX, true, '…']);
  });

  test('that was deleted never runs', async () => {
    await schedule.cron('c', HOUR);
    await schedule.change(writer => deleteCron(writer, 'c'));
    await schedule.pass(DAY);
    expect(schedule.runs).toEqual([]);
  });
});

test('statements of the schedule read jobs and crons by an index, if at all', () => {
  const names = [
    ...(['nextJobs', 'dueJobs', 'job', 'jobsAhead', 'deleteJob', 'insertJob'] as const),
    ...(['nextCrons', 'dueCrons', 'cron', 'forgetJobResults'] as const),
  ];
  const scans = names.flatMap(name => {
    const {source} = schedule.writer.statements[name];
    const parameters = Array.from(source.matchAll(/\?/g), () => null);
    const plan = schedule.db.prepare<unknown[], {detail: string}>(`EXPLAIN QUERY PLAN ${source}`).all(...parameters);
    return plan
      .filter(({detail}) => /^SCAN (?!json_each)|TEMP B-TREE/.test(detail))
      .map(({detail}) => `${name}: ${detail}`);
  });
  expect(scans).toEqual([]);
});

describe('many pending jobs cost nothing until they are due', () => {
  const pending = rounds({commit: 10_000, nightly: 100_000});
  beforeEach(() => {
    const insert = schedule.writer.statements.insertJob;
    schedule.db.transaction(() => {
      for (let n = 0; n < pending; n++) insert.run(`job${n}`, START_MS + DAY + n, START_MS, WORK, null, 0);
    })();
  });

  test('scheduling and cancelling count them once, not every time', async () => {
    const count = vi.spyOn(schedule.writer.statements.countJobs, 'get');
    for (let n = 0; n < 5; n++) {
      const id = await schedule.job(HOUR);
      await schedule.change(writer => cancelJob(writer, id));
    }
    expect(count).toHaveBeenCalledTimes(1);
    expect(schedule.writer.pendingJobs.jobs).toBe(pending);
  });

  test('the count stays right when writes are taken back and when jobs run', async () => {
    expect(schedule.writer.pendingJobs.jobs).toBe(pending);
    const refused = schedule.change(writer => {
      scheduleJob(writer, START_MS, HOUR, WORK);
      throw new Error('taken back');
    });
    await expect(refused).rejects.toThrow();
    expect(schedule.writer.pendingJobs.jobs).toBe(pending);
    await schedule.job(1);
    await schedule.pass(1);
    expect(schedule.runs).toHaveLength(1);
    expect(schedule.writer.pendingJobs.jobs).toBe(pending);
  });

  test('only the next one is looked for, by one timer', async () => {
    schedule.runner.arm();
    expect(schedule.runner.nextDueMs()).toBe(START_MS + DAY);
    expect(vi.getTimerCount()).toBe(1);
    await schedule.pass(CLOCK_CHECK_MS);
    expect(schedule.runs).toEqual([]);
    expect(vi.getTimerCount()).toBe(1);
  });
});

nightly.describe('pending jobs are bounded by their bytes', () => {
  const large = `{"type":"insert","table":"t","fields":{"text":"${'é'.repeat(4 * 1024 * 1024)}"}}`;
  const largeBytes = Buffer.byteLength(large);
  const most = Math.floor(JOBS_PENDING_BYTES_MAX / largeBytes);

  nightly.test(
    'one too many is op.rate_limited; a cancelled one makes room, and one that was taken back takes none',
    async () => {
      const ids: string[] = [];
      for (let n = 0; n < most; n++) ids.push(await schedule.job(HOUR, large));
      const limited = expect.objectContaining({code: 'op.rate_limited'});
      await expect(schedule.job(HOUR, large)).rejects.toEqual(limited);
      await schedule.job(HOUR);
      await schedule.change(writer => cancelJob(writer, ids[0]!));
      const taken = new ServiceError('op.conflict', 'taken back');
      const failing = schedule.change(writer => {
        scheduleJob(writer, START_MS, HOUR, large);
        throw taken;
      });
      await expect(failing).rejects.toBe(taken);
      await schedule.job(HOUR, large);
      await expect(schedule.job(HOUR, large)).rejects.toEqual(limited);
      const counted = schedule.writer.pendingJobs;
      expect(counted).toEqual(schedule.writer.statements.countJobs.get());
    },
  );
});
