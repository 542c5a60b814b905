/** When a cron by expression is due: the days and hours of a clock on some wall. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {firstTick, rhythmOf, tickAfter} from '../../engine/scheduler/ticks.ts';
import {ServiceError} from '../../shared/errors.ts';

const MINUTE = 60_000;
const rhythm = (expression: string, time_zone?: string) =>
  rhythmOf({type: 'cron', expression, ...(time_zone === undefined ? {} : {time_zone})} as never);

/** The ticks from a moment on, in UTC. */
function ticks(expression: string, zone: string, from: string, count: number): string[] {
  const found: string[] = [];
  const its = rhythm(expression, zone);
  for (let at = Date.parse(from); found.length < count; ) {
    at = firstTick(its, at);
    found.push(new Date(at).toISOString().slice(0, 19));
  }
  return found;
}

/** A part: what it matches, and how it is written. */
const part = (low: number, high: number) => {
  const number = fc.integer({min: low, max: high});
  const one = number.map(n => ({text: String(n), has: (m: number) => m === n}));
  const all = fc.constant({text: '*', has: () => true});
  const range = fc.tuple(number, number).map(([a, b]) => {
    const [from, to] = [Math.min(a, b), Math.max(a, b)];
    return {text: `${from}-${to}`, has: (m: number) => m >= from && m <= to};
  });
  const list = fc.tuple(one, one, one).map(each => ({
    text: [...new Set(each.map(({text}) => text))].join(','),
    has: (m: number) => each.some(({has}) => has(m)),
  }));
  const steps = fc.integer({min: 2, max: 12}).map(by => ({text: `*/${by}`, has: (m: number) => (m - low) % by === 0}));
  return fc.oneof(all, one, range, list, steps);
};

describe('an expression', () => {
  test('is due in exactly the minutes that a naive reader of it finds', () => {
    fc.assert(
      fc.property(
        fc.tuple(part(0, 59), part(0, 23), part(1, 12)),
        fc.integer({min: 0, max: 4 * 365 * 24 * 60}),
        ([minute, hour, month], offset) => {
          const its = rhythm(`${minute.text} ${hour.text} * ${month.text} *`);
          const from = Date.UTC(2026, 0, 1) + offset * MINUTE + 17;
          const next = firstTick(its, from);
          const matches = (ms: number) => {
            const at = new Date(ms);
            return minute.has(at.getUTCMinutes()) && hour.has(at.getUTCHours()) && month.has(at.getUTCMonth() + 1);
          };
          let naive = Math.floor(from / MINUTE) * MINUTE + MINUTE;
          for (let steps = 0; !matches(naive) && steps < 400 * 24 * 60; steps++) naive += MINUTE;
          expect(next).toBe(naive);
          expect(tickAfter({...its, next_run: next}, next)).toBeGreaterThan(next);
        },
      ),
      {numRuns: 60},
    );
  });

  test.each([
    ['30 4 * * 1-5', 'UTC', '2026-11-20T00:00Z', ['2026-11-20T04:30:00', '2026-11-23T04:30:00']],
    ['0 0 1,15 * *', 'UTC', '2026-11-20T00:00Z', ['2026-12-01T00:00:00', '2026-12-15T00:00:00']],
    ['*/20 30 6 * * *', 'UTC', '2026-11-20T06:30:10Z', ['2026-11-20T06:30:20', '2026-11-20T06:30:40']],
    ['0 9 * * MON', 'Asia/Tokyo', '2026-11-20T00:00Z', ['2026-11-23T00:00:00', '2026-11-30T00:00:00']],
    ['0 0 29 2 *', 'UTC', '2026-11-20T00:00Z', ['2028-02-29T00:00:00', '2032-02-29T00:00:00']],
    ['@daily', 'America/New_York', '2026-07-01T00:00Z', ['2026-07-01T04:00:00', '2026-07-02T04:00:00']],
  ])('%s in %s', (expression, zone, from, expected) => {
    expect(ticks(expression, zone, from, 2)).toEqual(expected);
  });

  // In Berlin the clock goes from 2 to 3 on 2026-03-29 (at 1:00 UTC) and from 3 back to 2 on 2026-10-25.
  test.each([
    [
      'a time of day that is skipped comes after the gap',
      '30 2 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00:00', '2026-03-30T00:30:00'],
    ],
    [
      'a time of day that comes twice is the first',
      '30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30:00', '2026-10-26T01:30:00'],
    ],
    ['steps skip what is not there', '*/30 2 * * *', '2026-03-28T12:00Z', ['2026-03-30T00:00:00']],
    [
      'steps run in both hours of the same name',
      '30 */1 * * *',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:30:00', '2026-10-25T01:30:00', '2026-10-25T02:30:00'],
    ],
  ])('when the clocks change: %s', (_, expression, from, expected) => {
    expect(ticks(expression, 'Europe/Berlin', from, expected.length)).toEqual(expected);
  });

  test.each([
    ['', 'five parts'],
    ['* * * *', 'five parts'],
    ['* * * * * * *', 'five parts'],
    ['? * * * *', 'five parts'],
    ['2030-01-01T00:00:00', 'five parts'],
    ['61 * * * *', 'not understood: Invalid value for minute: 61'],
    ['@sometimes', 'not understood'],
    ['a b c d e', 'not understood'],
    ['0 0 30 2 *', 'never comes'],
  ])('%j is refused, and the message says why', (expression, why) => {
    expect(() => rhythm(expression)).toThrow(ServiceError);
    expect(() => rhythm(expression)).toThrow(why);
  });

  test.each(['Nowhere/Town', '', '+25:00'])('a time zone %j is refused by name', zone => {
    expect(() => rhythm('* * * * *', zone)).toThrow('schedule.time_zone');
  });

  test.each([
    [{type: 'cron', expression: '* * * * *', timezone: 'UTC'}, 'schedule.timezone'],
    [{type: 'cron'}, 'schedule'],
    [{type: 'cron', expression: '* '.repeat(200)}, 'schedule.expression'],
    [{type: 'interval', seconds: 0.5}, 'schedule.seconds'],
    [{type: 'interval', seconds: 1.0001}, 'schedule.seconds'],
  ])('a schedule %j is refused by name', (schedule, named) => {
    expect(() => rhythmOf(schedule as never)).toThrow(named);
  });
});
