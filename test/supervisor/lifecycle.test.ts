import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {COOL_DOWN_MS, CRASHES_BEFORE_COOL_DOWN, DAMAGED_COOL_DOWN_MS_MAX, HEALTHY_MS} from '../../supervisor/limits.ts';
import {step} from '../../supervisor/tenants/lifecycle.ts';
import {hasWorker, type Input, type Lifecycle} from '../../supervisor/tenants/lifecycle-states.ts';

const NOW_MS = 1_000_000;
const ERROR = {code: 'op.storage_damaged', message: 'damaged'} as const;
const FULL = {code: 'session.storage_full', message: 'full'} as const;

const asleep: Lifecycle = {state: 'asleep', crashes: 0};
const queued: Lifecycle = {state: 'queued', crashes: 0, requested: true};
const waking: Lifecycle = {state: 'waking', crashes: 0, requested: true, retried: false};
const awake: Lifecycle = {state: 'awake', crashes: 0, sinceMs: NOW_MS};
const releasing: Lifecycle = {state: 'releasing', crashes: 0, sinceMs: NOW_MS, forOther: false};
const evicted: Lifecycle = {...releasing, forOther: true};
const moving: Lifecycle = {state: 'moving', crashes: 0, requested: true};
const closing: Lifecycle = {state: 'closing', crashes: 0, wanted: false, requested: false, stored: false};
const resting: Lifecycle = {state: 'resting', crashes: CRASHES_BEFORE_COOL_DOWN, untilMs: NOW_MS + 12_345, error: null};
const pausing: Lifecycle = {state: 'pausing', crashes: 0, isEnding: false, stored: false};
const ending: Lifecycle = {...pausing, isEnding: true};
const paused: Lifecycle = {state: 'paused', crashes: 0};
const errand: Lifecycle = {state: 'errand', crashes: 0, isPaused: false, wanted: false, requested: false};
const deleting: Lifecycle = {state: 'deleting', hasWorker: true};

const requested: Input = {type: 'want', requested: true};
const due: Input = {type: 'want', requested: false};
const ended: Input = {type: 'ended', error: null};
const released = (how: {busy?: boolean; inUse?: boolean}): Input => ({
  type: 'released',
  busy: false,
  inUse: false,
  ...how,
});

describe('a tenant moves between disk and a worker', () => {
  test.each<[string, Lifecycle, Input, Lifecycle['state'], string]>([
    ['asleep, a request comes', asleep, requested, 'queued', 'enqueue'],
    ['asleep, it is due', asleep, due, 'queued', 'enqueue'],
    ['queued, a slot is free', queued, {type: 'admit'}, 'waking', 'start'],
    ['queued for the router, no slot', queued, {type: 'refuse', error: ERROR}, 'asleep', 'fail'],
    ['queued for itself, no slot', {...queued, requested: false}, {type: 'refuse', error: ERROR}, 'asleep', ''],
    ['waking, the worker has opened it', waking, {type: 'opened'}, 'awake', 'ready'],
    ['waking, the worker ends before', waking, ended, 'waking', 'start'],
    ['waking again, the worker ends before', {...waking, retried: true}, ended, 'asleep', 'fail later'],
    ['waking, the file cannot be opened', waking, {type: 'ended', error: ERROR}, 'asleep', 'fail later'],
    ['awake, the router asks again', awake, requested, 'awake', 'confirm'],
    ['awake on the second look', awake, {type: 'confirm'}, 'awake', 'ready'],
    ['gone on the second look', asleep, {type: 'confirm'}, 'queued', 'enqueue'],
    ['awake, its worker dies', awake, ended, 'asleep', 'later'],
    ['awake and idle', awake, {type: 'let_go', forOther: false}, 'releasing', 'release'],
    ['asked to let go, and in use', releasing, released({busy: true}), 'awake', ''],
    ['asked to let go, and unused', releasing, released({}), 'closing', 'close'],
    ['asked to let go, and a sandbox was created meanwhile', releasing, released({inUse: true}), 'awake', ''],
    ['asked to let go for another tenant, and it has a sandbox', evicted, released({inUse: true}), 'closing', 'close'],
    ['asked to let go, the router dies', releasing, {type: 'router_ended'}, 'awake', ''],
    ['asked to let go, its worker dies', releasing, ended, 'asleep', 'later'],
    ['awake, and it needs another worker', awake, {type: 'move'}, 'moving', 'give_up'],
    ['asked to let go, and it needs another worker', releasing, {type: 'move'}, 'moving', 'give_up'],
    ['asleep, and it needs another worker', asleep, {type: 'move'}, 'queued', 'enqueue'],
    ['closing, and it needs another worker', closing, {type: 'move'}, 'closing', ''],
    ['moving, a request comes', moving, requested, 'moving', ''],
    ['moving, nobody uses the worker', moving, {type: 'given_up'}, 'closing', 'close'],
    ['moving, its worker dies', moving, ended, 'queued', 'enqueue'],
    ['moving, the router dies', moving, {type: 'router_ended'}, 'moving', ''],
    ['moving, it is deleted', moving, {type: 'delete'}, 'deleting', 'close'],
    ['moving, the server stops', moving, {type: 'shut_down'}, 'closing', 'close'],
    ['moved already', awake, {type: 'given_up'}, 'awake', ''],
    ['closing, a request comes', closing, requested, 'closing', ''],
    ['closing, the worker reports its next due time', closing, {type: 'closed', nextDueMs: 7}, 'closing', 'store'],
    ['closed in order', {...closing, stored: true}, ended, 'asleep', ''],
    ['closed in order, and wanted again', {...closing, stored: true, wanted: true}, ended, 'queued', 'enqueue'],
    ['closing, the worker dies before it reported', closing, ended, 'asleep', 'later'],
    ['resting, a request comes', resting, requested, 'resting', 'fail'],
    ['resting, and it was not the tenant', resting, {type: 'held'}, 'asleep', 'later'],
    ['asleep, and it was not the tenant', asleep, {type: 'held'}, 'asleep', ''],
    ['awake again, and it was not the tenant', awake, {type: 'held'}, 'awake', ''],
    ['rested', resting, {type: 'rested'}, 'queued', 'enqueue'],
    ['asleep, it has an errand', asleep, {type: 'errand'}, 'errand', 'start_errand'],
    ['paused, it has an errand', paused, {type: 'errand'}, 'errand', 'start_errand'],
    ['awake, it has an errand', awake, {type: 'errand'}, 'awake', ''],
    ['an errand, its process ends', errand, ended, 'asleep', ''],
    ['an errand of a paused tenant, its process ends', {...errand, isPaused: true}, ended, 'paused', ''],
    ['an errand, a request comes', errand, requested, 'errand', 'kill'],
    ['an errand of a paused tenant, a request comes', {...errand, isPaused: true}, requested, 'errand', 'fail'],
    ['an errand that made way, its process ends', {...errand, wanted: true}, ended, 'queued', 'enqueue'],
    ['an errand, it is paused', errand, {type: 'pause'}, 'pausing', 'kill'],
    ['an errand, it is deleted', errand, {type: 'delete'}, 'deleting', 'kill'],
    ['an errand, the server stops', errand, {type: 'shut_down'}, 'errand', 'kill'],
    ['awake, its settings changed', awake, {type: 'reopen'}, 'moving', 'give_up'],
    ['waking, its settings changed', waking, {type: 'reopen'}, 'closing', 'kill'],
    ['asleep, its settings changed', asleep, {type: 'reopen'}, 'asleep', ''],
    ['asleep, it is paused', asleep, {type: 'pause'}, 'paused', ''],
    ['queued, it is paused', queued, {type: 'pause'}, 'paused', 'fail'],
    ['waking, it is paused', waking, {type: 'pause'}, 'pausing', 'fail kill'],
    ['awake, it is paused', awake, {type: 'pause'}, 'pausing', 'give_up'],
    ['asked to let go, it is paused', releasing, {type: 'pause'}, 'pausing', 'give_up'],
    ['moving, it is paused', moving, {type: 'pause'}, 'pausing', 'fail'],
    ['closing, it is paused', closing, {type: 'pause'}, 'pausing', ''],
    ['resting, it is paused', resting, {type: 'pause'}, 'paused', ''],
    ['pausing, a request comes', pausing, requested, 'pausing', 'fail'],
    ['pausing, nobody uses the worker', pausing, {type: 'given_up'}, 'pausing', 'close'],
    ['pausing, the worker reports its next due time', ending, {type: 'closed', nextDueMs: 7}, 'pausing', 'store'],
    ['pausing, its worker ends', ending, ended, 'paused', ''],
    ['pausing, its worker dies', pausing, ended, 'paused', ''],
    ['pausing, it is resumed', pausing, {type: 'resume'}, 'moving', ''],
    ['pausing, its worker ends, it is resumed', ending, {type: 'resume'}, 'closing', ''],
    ['pausing, it is deleted', pausing, {type: 'delete'}, 'deleting', 'close'],
    ['pausing, its worker ends, it is deleted', ending, {type: 'delete'}, 'deleting', ''],
    ['pausing, the server stops', pausing, {type: 'shut_down'}, 'pausing', 'close'],
    ['paused, a request comes', paused, requested, 'paused', 'fail'],
    ['paused, it is due', paused, due, 'paused', ''],
    ['paused, and it was not the tenant', paused, {type: 'held'}, 'paused', ''],
    ['paused, its rest ends', paused, {type: 'rested'}, 'paused', ''],
    ['paused, it is resumed', paused, {type: 'resume'}, 'asleep', ''],
    ['paused, it is deleted', paused, {type: 'delete'}, 'deleting', 'remove'],
    ['not paused, it is resumed', awake, {type: 'resume'}, 'awake', ''],
    ['asleep, it is deleted', asleep, {type: 'delete'}, 'deleting', 'remove'],
    ['resting, it is deleted', resting, {type: 'delete'}, 'deleting', 'remove'],
    ['waking, it is deleted', waking, {type: 'delete'}, 'deleting', 'kill'],
    ['awake, it is deleted', awake, {type: 'delete'}, 'deleting', 'close'],
    ['closing, it is deleted', closing, {type: 'delete'}, 'deleting', ''],
    ['being deleted, its worker ends', deleting, ended, 'deleting', 'remove'],
    ['being deleted, a request comes', deleting, requested, 'deleting', ''],
    ['awake, the server stops', awake, {type: 'shut_down'}, 'closing', 'close'],
    ['waking, the server stops', waking, {type: 'shut_down'}, 'waking', 'kill'],
  ])('%s', (_, lifecycle, input, state, effects) => {
    const {next, effects: got} = step(lifecycle, input, NOW_MS);
    expect(next.state).toBe(state);
    expect(got.map(effect => effect.type).join(' ')).toBe(effects);
  });
});

describe('deaths', () => {
  test('the second worker of a wake is a new process, not another spare', () => {
    expect(step(waking, ended, NOW_MS).effects).toEqual([{type: 'start', fresh: true}]);
  });

  test(`${CRASHES_BEFORE_COOL_DOWN} without ${HEALTHY_MS} ms of service between them rest the tenant for ${COOL_DOWN_MS} ms`, () => {
    let lifecycle: Lifecycle = awake;
    for (let crashes = 1; crashes < CRASHES_BEFORE_COOL_DOWN; crashes++) {
      lifecycle = step(lifecycle, ended, NOW_MS).next;
      expect(lifecycle).toEqual({state: 'asleep', crashes});
      lifecycle = wake(lifecycle);
    }
    expect(step(lifecycle, ended, NOW_MS).next).toEqual({
      state: 'resting',
      crashes: CRASHES_BEFORE_COOL_DOWN,
      untilMs: NOW_MS + COOL_DOWN_MS,
      error: null,
    });
  });

  test('one after healthy service is the first', () => {
    const lifecycle: Lifecycle = {state: 'awake', crashes: CRASHES_BEFORE_COOL_DOWN - 1, sinceMs: NOW_MS - HEALTHY_MS};
    expect(step(lifecycle, ended, NOW_MS).next).toEqual({state: 'asleep', crashes: 1});
  });

  test('a request to a resting tenant learns how long the rest still is', () => {
    expect(step(resting, requested, NOW_MS).effects).toMatchObject([{type: 'fail', retryAfterMs: 12_345}]);
  });

  test('a full disk is none, however often: space, and the next request is served', () => {
    let lifecycle: Lifecycle = waking;
    for (let n = 0; n <= CRASHES_BEFORE_COOL_DOWN; n++) {
      const {next, effects} = step(lifecycle, {type: 'ended', error: FULL}, NOW_MS);
      expect(next).toEqual({state: 'asleep', crashes: 0});
      expect(effects[0]).toMatchObject({type: 'fail', error: FULL});
      lifecycle = [requested, {type: 'admit'} as const].reduce((at, input) => step(at, input, NOW_MS).next, next);
    }
  });

  test('of a file that cannot be opened: the rest has its reason', () => {
    const last: Lifecycle = {...waking, crashes: CRASHES_BEFORE_COOL_DOWN - 1, retried: true};
    const {next} = step(last, {type: 'ended', error: ERROR}, NOW_MS);
    expect(next.state).toBe('resting');
    expect(step(next, requested, NOW_MS).effects).toMatchObject([{type: 'fail', error: ERROR}]);
  });

  test('of a damaged file: without requests it is opened ever more rarely, and a request opens it after REST_MS', () => {
    let lifecycle: Lifecycle = {...waking, crashes: CRASHES_BEFORE_COOL_DOWN - 1, requested: false, retried: true};
    const pausesMs: number[] = [];
    for (let rests = 0; rests < 9; rests++) {
      const {next, effects} = step(lifecycle, {type: 'ended', error: ERROR}, NOW_MS);
      for (const effect of effects) if (effect.type === 'later') pausesMs.push(effect.afterMs);
      const answer = step(next, requested, NOW_MS).effects;
      expect(answer).toEqual([{type: 'fail', error: ERROR, retryAfterMs: COOL_DOWN_MS}]);
      const tried = step(next, requested, NOW_MS + COOL_DOWN_MS);
      expect(tried).toMatchObject({next: {state: 'queued', requested: true}, effects: [{type: 'enqueue'}]});
      // Its own timer comes too late for the one that a request has woken.
      expect(step(tried.next, {type: 'rested'}, NOW_MS)).toEqual({next: tried.next, effects: []});
      lifecycle = [{type: 'rested'} as const, {type: 'admit'} as const].reduce(
        (at, input) => step(at, input, NOW_MS).next,
        next,
      );
    }
    const doubled = [1, 2, 4, 8, 16, 32, 64].map(times => times * COOL_DOWN_MS);
    expect(pausesMs).toEqual([...doubled, DAMAGED_COOL_DOWN_MS_MAX, DAMAGED_COOL_DOWN_MS_MAX]);
  });

  test('that are held against calls never rest the tenant', () => {
    let lifecycle: Lifecycle = awake;
    for (let crashes = 0; crashes < 3 * CRASHES_BEFORE_COOL_DOWN; crashes++) {
      lifecycle = step(step(lifecycle, ended, NOW_MS).next, {type: 'held'}, NOW_MS).next;
      expect(lifecycle).toEqual({state: 'asleep', crashes: 0});
      lifecycle = wake(lifecycle);
    }
    const tired: Lifecycle = {state: 'awake', crashes: CRASHES_BEFORE_COOL_DOWN - 1, sinceMs: NOW_MS};
    expect(step(step(tired, ended, NOW_MS).next, {type: 'held'}, NOW_MS).next).toEqual({
      state: 'asleep',
      crashes: CRASHES_BEFORE_COOL_DOWN - 1,
    });
  });

  test('the first death after a rest is followed by the next rest', () => {
    const lifecycle = wake(step(resting, {type: 'rested'}, NOW_MS).next);
    expect(step(lifecycle, ended, NOW_MS).next.state).toBe('resting');
  });
});

test('whatever happens: workers are started only without one, and only who asked is answered', () => {
  const input = fc.oneof(
    fc.constantFrom<Input>(
      ...[requested, due, ended, {type: 'confirm'} as const, {type: 'admit'} as const, {type: 'opened'} as const],
      ...[
        {type: 'let_go', forOther: false} as const,
        {type: 'held'} as const,
        {type: 'router_ended'} as const,
        {type: 'rested'} as const,
        {type: 'move'} as const,
        {type: 'given_up'} as const,
        {type: 'pause'} as const,
        {type: 'resume'} as const,
        {type: 'errand'} as const,
        {type: 'reopen'} as const,
      ],
      ...[{type: 'delete'} as const, {type: 'shut_down'} as const, {type: 'closed', nextDueMs: null} as const],
      ...[
        {type: 'refuse', error: ERROR} as const,
        {type: 'ended', error: ERROR} as const,
        {type: 'ended', error: FULL} as const,
      ],
    ),
    fc.record({busy: fc.boolean(), inUse: fc.boolean()}).map(released),
  );
  fc.assert(
    fc.property(fc.array(input, {maxLength: 60}), inputs => {
      let lifecycle: Lifecycle = asleep;
      let isRequested = false;
      for (const next of inputs) {
        if (next.type === 'ended' && !hasWorker(lifecycle)) continue; // nothing there to end
        if ((next.type === 'want' && next.requested) || next.type === 'confirm' || next.type === 'move')
          isRequested = true;
        if (next.type === 'router_ended') isRequested = false;
        const before = lifecycle;
        const {next: after, effects} = step(lifecycle, next, NOW_MS);
        for (const effect of effects) {
          if (effect.type === 'start_errand') expect(hasWorker(before)).toBe(false);
          if (effect.type === 'start') expect(!hasWorker(before) || next.type === 'ended').toBe(true);
          if (effect.type === 'fail') expect(isRequested).toBe(true);
          if (effect.type === 'ready') expect(after.state === 'awake' || after.state === 'releasing').toBe(true);
          if (effect.type === 'remove') expect(hasWorker(after)).toBe(false);
          if (effect.type === 'fail' || effect.type === 'ready') isRequested = false;
        }
        if (before.state === 'pausing' || before.state === 'paused') {
          for (const effect of effects) expect(['start', 'enqueue', 'ready']).not.toContain(effect.type);
        }
        if (before.state === 'deleting') expect(after.state).toBe('deleting');
        lifecycle = after;
      }
    }),
  );
});

function wake(lifecycle: Lifecycle): Lifecycle {
  const inputs: Input[] = [due, {type: 'admit'}, {type: 'opened'}];
  return inputs.reduce((at, input) => step(at, input, NOW_MS).next, lifecycle);
}
