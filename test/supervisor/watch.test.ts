import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {KILL_PAUSE_MS_MAX, KILL_PAUSE_MS_MIN, KILLS_AT_ONCE_MAX, KILLS_FORGOTTEN_MS} from '../../supervisor/limits.ts';
import {KillRate} from '../../supervisor/processes/kill-rate.ts';
import {type Doing, type ProcessProbe, parseThreadStat} from '../../supervisor/processes/process-probe.ts';
import {HEARD, type Watch, type WatchLimits, watch} from '../../supervisor/processes/watch.ts';

const LIMITS: WatchLimits = {tickMs: 1_000, servingMs: 8_000, startingMs: 30_000, silenceMs: 120_000};

type Script = {doing: Doing; cpuMsATick: number; othersWork?: boolean; isStarting?: boolean};

/** Ticks until a child that does this, and says nothing, counts as hung. */
function ticksUntilHung({doing, cpuMsATick, othersWork = false, isStarting = false}: Script): number {
  let state: Watch = HEARD;
  for (let ticks = 1; ; ticks++) {
    const probe: ProcessProbe = {doing, cpuMs: 500 + ticks * cpuMsATick, othersWork};
    state = watch(state, {heard: false, probe, isStarting}, LIMITS);
    if (state.state === 'hung') return ticks;
  }
}

describe('a child that says nothing hangs once its own time is used up', () => {
  const SLOWEST = LIMITS.silenceMs / LIMITS.tickMs;
  test.each<[string, Script, number]>([
    ['stopped by a signal', {doing: 'stopped', cpuMsATick: 0}, 8],
    ['asleep in all its threads', {doing: 'sleeping', cpuMsATick: 0}, 8],
    ['in a loop', {doing: 'runnable', cpuMsATick: 1_000}, 9],
    ['in a loop, with a tenth of a processor', {doing: 'runnable', cpuMsATick: 100}, 81],
    ['runnable, and never let run', {doing: 'runnable', cpuMsATick: 0}, SLOWEST],
    ['waiting for the disk', {doing: 'disk', cpuMsATick: 0}, SLOWEST],
    ['waiting for a thread of its own that works', {doing: 'sleeping', cpuMsATick: 0, othersWork: true}, SLOWEST],
    ['in a loop while it starts', {doing: 'runnable', cpuMsATick: 1_000, isStarting: true}, 31],
    ['asleep while it starts', {doing: 'sleeping', cpuMsATick: 0, isStarting: true}, 30],
    ['starting, and hardly let run', {doing: 'runnable', cpuMsATick: 50, isStarting: true}, SLOWEST],
  ])('%s', (_, script, ticks) => {
    expect(ticksUntilHung(script)).toBe(ticks);
  });

  test('an fsync that takes 12 seconds, and a minute without a processor, are survived', () => {
    let state: Watch = HEARD;
    const probe = (doing: Doing): ProcessProbe => ({doing, cpuMs: 100, othersWork: false});
    for (let tick = 0; tick < 12; tick++)
      state = watch(state, {heard: false, probe: probe('disk'), isStarting: false}, LIMITS);
    for (let tick = 0; tick < 60; tick++)
      state = watch(state, {heard: false, probe: probe('runnable'), isStarting: false}, LIMITS);
    expect(state).toMatchObject({state: 'silent', silentMs: 72_000, ownMs: 0});
    expect(watch(state, {heard: true, probe: null, isStarting: false}, LIMITS)).toEqual(HEARD);
  });

  test('where the system tells nothing, every silent tick counts', () => {
    let state: Watch = HEARD;
    for (let tick = 1; tick <= 7; tick++) state = watch(state, {heard: false, probe: null, isStarting: false}, LIMITS);
    expect(state.state).toBe('silent');
    expect(watch(state, {heard: false, probe: null, isStarting: false}, LIMITS).state).toBe('hung');
  });

  test('a process that has ended is not blamed for its silence', () => {
    const hung: Watch = {state: 'silent', silentMs: 7_000, ownMs: 7_000, seen: null};
    const probe: ProcessProbe = {doing: 'ended', cpuMs: 0, othersWork: false};
    expect(watch(hung, {heard: false, probe, isStarting: false}, LIMITS)).toEqual(HEARD);
  });

  test('whatever happens: never before its own time is used up or all time is, and never after all time', () => {
    const doing = fc.constantFrom<Doing>('runnable', 'sleeping', 'disk', 'stopped');
    const tick = fc.record({doing, ranMs: fc.integer({min: 0, max: 1_000}), othersWork: fc.boolean()});
    fc.assert(
      fc.property(fc.array(tick, {minLength: 1, maxLength: 200}), ticks => {
        let state: Watch = HEARD;
        let [cpuMs, couldMs] = [0, 0];
        for (const [i, {doing, ranMs, othersWork}] of ticks.entries()) {
          cpuMs += ranMs;
          const isIdle = doing === 'stopped' || (doing === 'sleeping' && !othersWork);
          couldMs += isIdle ? LIMITS.tickMs : ranMs;
          state = watch(state, {heard: false, probe: {doing, cpuMs, othersWork}, isStarting: false}, LIMITS);
          const isAllTimeUp = (i + 1) * LIMITS.tickMs >= LIMITS.silenceMs;
          if (state.state === 'hung') expect(couldMs >= LIMITS.servingMs || isAllTimeUp).toBe(true);
          else expect(isAllTimeUp).toBe(false);
        }
      }),
    );
  });
});

test.each([
  ['R', 'runnable'],
  ['S', 'sleeping'],
  ['D', 'disk'],
  ['t', 'disk'],
  ['T', 'stopped'],
  ['Z', 'ended'],
])('the state %s of a thread in /proc means %s, whatever the name of its program', (state, doing) => {
  const stat = `7 (a) R (b) ${state} 1 1 1 0 -1 4194560 7561 70864 0 4 212 39 65 41 20 0 1 0`;
  expect(parseThreadStat(stat)).toEqual({doing, cpuMs: 2_510});
});

describe('the pace of kills', () => {
  test('a few at once, then ever longer pauses, and anew after a minute without any', () => {
    let nowMs = 0;
    const rate = new KillRate(() => nowMs);
    for (let i = 0; i < KILLS_AT_ONCE_MAX; i++) expect(rate.take()).toBe(true);
    let pauseMs = KILL_PAUSE_MS_MIN;
    for (let i = 0; i < 10; i++) {
      nowMs += pauseMs - 1;
      expect(rate.take()).toBe(false);
      nowMs += 1;
      expect(rate.take()).toBe(true);
      pauseMs = Math.min(2 * pauseMs, KILL_PAUSE_MS_MAX);
    }
    nowMs += KILLS_FORGOTTEN_MS;
    for (let i = 0; i < KILLS_AT_ONCE_MAX; i++) expect(rate.take()).toBe(true);
    expect(rate.take()).toBe(false);
  });
});
