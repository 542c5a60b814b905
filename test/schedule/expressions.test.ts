/** Crons by expression, changes of crons, runs that are asked for and histories, on a real file with a clock that can be set. */
import {describe, expect, test} from 'vitest';
import {CRON_RUNS_KEEP} from '../../engine/limits.ts';
import {CronRunReader} from '../../engine/scheduler/cron-runs.ts';
import {type CronChange, changeCron, deleteCron, runCronNow} from '../../engine/scheduler/crons.ts';
import {smallTablesFinding} from '../../engine/storage/row-sums.ts';
import type {CronRun} from '../../shared/protocol/schedule.ts';
import {eachWithSchedule, type Schedule, START_MS} from './movable-schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** 2027-01-15, 8:00 UTC. */
const HOURLY = '0 * * * *';
const FAILS = JSON.stringify({type: 'delete', table: 't', id: 'none'});

let schedule: Schedule;
eachWithSchedule(own => {
  schedule = own;
});

const ran = (name: string) =>
  schedule.runs.filter(run => run.startsWith(`${name}@`)).map(run => run.slice(name.length + 1));
const at = (...hours: number[]) => hours.map(hour => String(START_MS + hour * HOUR));
const change = (name: string, to: CronChange) =>
  schedule.change(writer => changeCron(writer, schedule.nowMs, name, to));
const history = (name: string, limit: number | null = null) => {
  const text = new CronRunReader(schedule.db).list(name, {limit, after: null});
  return (JSON.parse(text) as {runs: CronRun[]}).runs;
};

describe('a cron by expression', () => {
  test('runs at its ticks, once for those that were missed, and goes on from there', async () => {
    await schedule.cronBy('c', HOURLY);
    expect(schedule.nextRun('c')).toBe(START_MS + HOUR);
    for (let n = 0; n < 2; n++) await schedule.pass(HOUR);
    expect(ran('c')).toEqual(at(1, 2));
    schedule.close();
    schedule.nowMs += 5 * HOUR + 10 * MINUTE;
    schedule.open();
    await schedule.pass(0);
    expect(ran('c')).toEqual(at(1, 2, 3));
    await schedule.pass(50 * MINUTE);
    expect(ran('c')).toEqual(at(1, 2, 3, 8));
  });

  test.each(['while it watches', 'while it is closed'])(
    'goes on in the new time when the clock is set back %s',
    async how => {
      await schedule.cronBy('c', HOURLY);
      await schedule.pass(HOUR);
      const back = START_MS - 3 * DAY + 10 * MINUTE;
      if (how === 'while it watches') await schedule.setClock(back);
      else {
        schedule.close();
        schedule.nowMs = back;
        schedule.open();
        await schedule.pass(30_000);
      }
      expect(schedule.nextRun('c')).toBe(START_MS - 3 * DAY + HOUR);
      await schedule.pass(HOUR);
      expect(ran('c').slice(1)).toEqual([String(START_MS - 3 * DAY + HOUR)]);
    },
  );

  test('does not run a tick twice when the clock is corrected by less than a minute', async () => {
    await schedule.cronBy('c', HOURLY);
    await schedule.pass(HOUR + 5_000);
    await schedule.setClock(START_MS + HOUR - 40_000);
    await schedule.pass(MINUTE);
    expect(ran('c')).toEqual(at(1));
    await schedule.pass(HOUR);
    expect(ran('c')).toEqual(at(1, 2));
  });

  test('survives a new process with its time zone', async () => {
    await schedule.cronBy('c', '0 10 * * *', 'Europe/Berlin');
    schedule.close();
    schedule.open();
    await schedule.pass(HOUR);
    await schedule.pass(DAY);
    expect(ran('c')).toEqual(at(1, 25)); // 10 o'clock there is 9:00 UTC
    expect(smallTablesFinding(schedule.db, 1_000)).toBeNull();
  });
});

describe('a cron whose time zone is not known any more', () => {
  const forget = (name: string) =>
    schedule.db.prepare("UPDATE crons SET time_zone = 'Atlantis/Poseidonis', checksum = NULL WHERE name = ?").run(name);

  test('fails at its tick and is disabled, said in its row, its history and the log; others run', async () => {
    await schedule.cronBy('lost', HOURLY, 'Europe/Oslo');
    await schedule.cronBy('sound', HOURLY);
    forget('lost');
    await schedule.pass(HOUR);
    await schedule.pass(HOUR);
    expect(schedule.failures).toEqual([]);
    expect(ran('sound')).toEqual(at(1, 2));
    expect(schedule.writer.statements.cron.get('lost')).toMatchObject({
      ...{enabled: 0, last_outcome: 'failed', failures: 1},
      last_error: expect.stringContaining('"Atlantis/Poseidonis"'),
    });
    expect(history('lost')).toMatchObject([{due: START_MS + HOUR, outcome: 'failed'}]);
    expect(schedule.db.prepare('SELECT count(*) FROM documents').pluck().get()).toBe(2);
    const said = schedule.logged.filter(line => line.includes('a cron was disabled'));
    expect([said.length, said[0]]).toEqual([1, expect.stringContaining('"cron":"lost"')]);
    expect(smallTablesFinding(schedule.db, 1_000)).toBeNull();
  });

  test('is enabled by a schedule that is known, and not without one; a clock that is set back is not its end', async () => {
    await schedule.cronBy('lost', HOURLY, 'Europe/Oslo');
    forget('lost');
    await schedule.setClock(START_MS - DAY);
    expect(schedule.failures).toEqual([]);
    await schedule.setClock(START_MS + HOUR);
    expect(schedule.writer.statements.cron.get('lost')).toMatchObject({enabled: 0});
    await expect(change('lost', {isEnabled: true})).rejects.toMatchObject({code: 'op.invalid_input'});
    await change('lost', {isEnabled: true, rhythm: {interval_ms: 0, expression: HOURLY, time_zone: 'UTC'}});
    const runs = ran('lost').length;
    await schedule.pass(HOUR);
    expect(ran('lost')).toHaveLength(runs + 1);
  });
});

describe('a cron that is changed', () => {
  test('does not run while it is not enabled, and keeps its phase when it is again', async () => {
    await schedule.cron('c', HOUR);
    await schedule.pass(HOUR);
    await change('c', {isEnabled: false});
    expect(schedule.runner.nextDueMs()).toBeNull();
    await schedule.pass(3 * HOUR + 20 * MINUTE);
    expect(ran('c')).toEqual(at(1));
    await change('c', {isEnabled: true});
    await schedule.pass(40 * MINUTE);
    expect(ran('c')).toEqual(at(1, 5));
  });

  test('goes by its new schedule from then on, does its new work, and keeps what it has been', async () => {
    await schedule.cron('c', DAY, FAILS);
    await schedule.pass(DAY);
    await change('c', {rhythm: {interval_ms: 0, expression: HOURLY, time_zone: 'UTC'}});
    await schedule.pass(HOUR);
    expect(schedule.writer.statements.cron.get('c')).toMatchObject({failures: 2, last_outcome: 'failed'});
    await change('c', {mutation: JSON.stringify({type: 'insert', table: 't', fields: {}})});
    await schedule.pass(HOUR);
    expect(schedule.writer.statements.cron.get('c')).toMatchObject({failures: 0, last_outcome: 'completed'});
    expect(history('c').map(({outcome}) => outcome)).toEqual(['completed', 'failed', 'failed']);
    await change('c', {rhythm: {interval_ms: 10 * MINUTE, expression: null, time_zone: null}});
    expect(schedule.nextRun('c')).toBe(schedule.nowMs + 10 * MINUTE);
  });

  test('into what it is already stays as it is, and writes nothing', async () => {
    await schedule.cron('c', HOUR);
    await schedule.pass(20 * MINUTE);
    const {sequence} = schedule.writer.head;
    await change('c', {rhythm: {interval_ms: HOUR, expression: null, time_zone: null}, isEnabled: true});
    expect([schedule.nextRun('c'), schedule.writer.head.sequence]).toEqual([START_MS + HOUR, sequence]);
  });
});

describe('the history of a cron', () => {
  test('has each run, the newest first: its tick, when it ran, how it ended', async () => {
    await schedule.cron('c', HOUR, FAILS);
    await schedule.pass(HOUR + 7);
    const text = await schedule.change(writer => runCronNow(writer, schedule.nowMs, 'c', () => undefined));
    const error = 'op.not_found: table "t" has no document "none"';
    const asked = {due: null, ran_at: schedule.nowMs, outcome: 'failed', error};
    expect(JSON.parse(text)).toEqual(asked);
    expect(history('c')).toEqual([asked, {...asked, due: START_MS + HOUR, ran_at: START_MS + HOUR + 7}]);
    expect(schedule.nextRun('c')).toBe(START_MS + 2 * HOUR);
    expect(schedule.runs.at(-1)).toBe(`c@now-${schedule.nowMs}`);
  });

  test(`keeps the newest ${CRON_RUNS_KEEP} of each, and goes with its cron`, async () => {
    await schedule.cron('other', 10 * DAY);
    await schedule.change(writer => runCronNow(writer, schedule.nowMs, 'other', () => undefined));
    await schedule.cron('c', MINUTE);
    for (let n = 0; n < CRON_RUNS_KEEP + 5; n++) await schedule.pass(MINUTE);
    const ticks = history('c').map(({due}) => due);
    expect(ticks).toHaveLength(CRON_RUNS_KEEP);
    expect(ticks[0]).toBe(START_MS + (CRON_RUNS_KEEP + 5) * MINUTE);
    expect(history('other')).toHaveLength(1);
    await schedule.change(writer => deleteCron(writer, 'c'));
    expect([history('c'), history('other').length]).toEqual([[], 1]);
    expect(smallTablesFinding(schedule.db, 1_000)).toBeNull();
  });
});
