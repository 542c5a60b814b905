/**
 * Computes when a cron is due: at whole intervals, or at the times of its expression in a time zone (parsed by croner).
 *
 * A change to summer time skips times of day, and the change back repeats some. An expression with a single value each
 * for second, minute and hour still runs once a day: at the first moment after the gap, and at the first of two equal
 * times. Any other expression (lists, steps, wildcards) runs whenever the clock shows a matching time: not in the gap,
 * and in both of the repeated hours.
 */
import {createRequire} from 'node:module';
import type {Cron} from 'croner';
import {invalid} from '../../shared/errors.ts';
import {CronExpression, Interval, type Schedule, type ShownSchedule} from '../../shared/protocol/schedule.ts';
import {CRON_EXPRESSIONS_READY_MAX} from '../limits.ts';
import type {CronRow} from '../storage/statements.ts';
import {checkWireType, wireType} from '../wire-type.ts';

export type Rhythm = Pick<CronRow, 'interval_ms' | 'expression' | 'time_zone'>;

const interval = wireType(Interval);
const cronExpression = wireType(CronExpression);
/** Five or six fields, or a name such as @daily. Other syntax of croner is excluded: dates, and ?, which means now. */
const EXPRESSION = /^(@[a-z]+|[^\s@?]+( +[^\s@?]+){4,5})$/i;

/** @throws op.invalid_input 400 */
export function rhythmOf(schedule: {type: Schedule['type']}): Rhythm {
  const at = 'schedule.';
  if (schedule.type === 'interval') {
    const {seconds} = checkWireType(interval, schedule, at);
    return {interval_ms: intervalMs(seconds), expression: null, time_zone: null};
  }
  const {expression, time_zone: timeZone = 'UTC'} = checkWireType(cronExpression, schedule, at);
  const rhythm = {interval_ms: 0, expression, time_zone: timeZone};
  checkTimeZone(timeZone);
  if (!EXPRESSION.test(expression)) {
    throw invalid(
      'schedule.expression must have five parts (minute, hour, day, month, weekday), or six with a second before them',
    );
  }
  if (nextOf(rhythm, Date.now()) === null) throw invalid('schedule.expression never comes: no date is as it says');
  return rhythm;
}

export function shownSchedule({interval_ms: ms, expression, time_zone}: Rhythm): ShownSchedule {
  if (expression === null || time_zone === null) return {type: 'interval', seconds: ms / 1000};
  return {type: 'cron', expression, time_zone};
}

/** The first tick of a cron that begins now. @throws as `tickAfter` */
export function firstTick(rhythm: Rhythm, nowMs: number): number {
  return rhythm.expression === null ? nowMs + rhythm.interval_ms : expressionTick(rhythm, nowMs);
}

/**
 * The first tick after `nowMs` of a cron that has begun.
 * @throws op.invalid_input 400 when the tick cannot be computed any more: known time zones and expressions depend on
 *   the current Node and parser, and the cron may have been made with others
 */
export function tickAfter({next_run: tick, ...rhythm}: Rhythm & {next_run: number}, nowMs: number): number {
  if (rhythm.expression !== null) return expressionTick(rhythm, nowMs);
  const {interval_ms: ms} = rhythm;
  return tick + (Math.floor((nowMs - tick) / ms) + 1) * ms;
}

/** The next tick of a cron and those after it, at most `count`. @throws as `tickAfter` */
export function nextTicks({next_run: first, ...rhythm}: Rhythm & {next_run: number}, count: number): number[] {
  const ticks: number[] = [];
  let tick: number | null = first;
  while (tick !== null && ticks.length < count) {
    ticks.push(tick);
    tick = rhythm.expression === null ? tick + rhythm.interval_ms : nextOf(rhythm, tick);
  }
  return ticks;
}

function expressionTick(rhythm: Rhythm, nowMs: number): number {
  const next = nextOf(rhythm, nowMs);
  if (next === null) throw invalid('schedule.expression does not come again');
  return next;
}

/** A cron's interval in milliseconds; intervals that would have to be rounded are refused. */
function intervalMs(seconds: number): number {
  const ms = Math.round(seconds * 1000);
  if (ms / 1000 === seconds) return ms;
  throw invalid('schedule.seconds must have at most three decimals');
}

const ready = new Map<string, Cron>();
/** Loaded with the tenant's first expression, and synchronously, because the tick is needed inside a commit. */
const load = createRequire(import.meta.url);

/** Null: never. @throws op.invalid_input 400 */
function nextOf(rhythm: Rhythm, nowMs: number): number | null {
  const name = `${rhythm.time_zone} ${rhythm.expression}`;
  const cron = ready.get(name) ?? parsed(rhythm);
  ready.set(name, cron);
  if (ready.size > CRON_EXPRESSIONS_READY_MAX) ready.delete(ready.keys().next().value!);
  return cron.nextRun(new Date(nowMs))?.getTime() ?? null;
}

function parsed({expression, time_zone}: Rhythm): Cron {
  const croner = load('croner') as typeof import('croner');
  checkTimeZone(time_zone!);
  try {
    return new croner.Cron(expression!, {paused: true, mode: '5-or-6-parts', timezone: time_zone!});
  } catch (caught) {
    throw invalid(`schedule.expression is not understood: ${(caught as Error).message.replace(/^CronPattern: /, '')}`);
  }
}

function checkTimeZone(name: string): void {
  try {
    new Intl.DateTimeFormat('en', {timeZone: name});
  } catch {
    throw invalid(
      `schedule.time_zone must be the name of a time zone, like Europe/Berlin or UTC: ${JSON.stringify(name)} is none`,
    );
  }
}
