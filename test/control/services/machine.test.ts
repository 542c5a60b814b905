/** The state machine of a service, against whatever may come in whatever order. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {SERVICE_HEALTHY_MS, SERVICE_PAUSE_MS_MAX, SERVICE_PAUSE_MS_MIN} from '../../../worker/control/limits.ts';
import {type Effect, type Input, type Machine, pauseMs, step} from '../../../worker/control/services/service-state.ts';

const inputs: fc.Arbitrary<Input> = fc.oneof(
  fc.constantFrom<Input>({type: 'start'}, {type: 'stop'}, {type: 'restart'}, {type: 'began'}, {type: 'due'}),
  fc.record({type: fc.constant('ended' as const), hasReturned: fc.boolean(), isFinal: fc.boolean()}),
);
const policies = fc.constantFrom('always' as const, 'on_failure' as const, 'never' as const);

describe('whatever comes in whatever order', () => {
  test('there is never a second process, a pause is never left over, and what was asked for last is done', () => {
    fc.assert(
      fc.property(policies, fc.array(inputs, {maxLength: 60}), (policy, all) => {
        let machine: Machine = {state: 'stopped'};
        let processes = 0;
        let pauses = 0;
        let isTold = false;
        let wanted: 'start' | 'stop' = 'stop';
        for (const input of all) {
          // A process that is not there does not end, nor does a pause that is not.
          if ((input.type === 'ended' || input.type === 'began') && processes === 0) continue;
          if (input.type === 'due' && pauses === 0) continue;
          if (input.type === 'ended') processes--;
          if (input.type === 'due') pauses--;
          const {next, effects}: {next: Machine; effects: Effect[]} = step(machine, input, policy, 0, 0.5);
          machine = next;
          for (const effect of effects) {
            if (effect.type === 'open') {
              processes++;
              isTold = false;
            } else if (effect.type === 'end') isTold = true;
            else if (effect.type === 'pause') pauses++;
            else if (effect.type === 'cancel_pause') pauses--;
          }
          if (input.type === 'start' || input.type === 'restart') wanted = 'start';
          if (input.type === 'stop') wanted = 'stop';
          const {state} = machine;
          expect(processes).toBe(state === 'starting' || state === 'running' || state === 'stopping' ? 1 : 0);
          expect(pauses).toBe(state === 'backoff' ? 1 : 0);
          expect(isTold && processes === 1).toBe(state === 'stopping');
          if (state === 'stopping') expect(machine.after).toBe(wanted);
          if (wanted === 'stop') expect(['stopped', 'stopping']).toContain(state);
        }
      }),
    );
  });
});

describe('the pause before a service is started again', () => {
  const ended: Input = {type: 'ended', hasReturned: false, isFinal: false};

  test('doubles with each failure up to its maximum, half of it by chance', () => {
    expect([1, 2, 3].map(failures => pauseMs(failures, 0))).toEqual([
      SERVICE_PAUSE_MS_MIN / 2,
      SERVICE_PAUSE_MS_MIN,
      SERVICE_PAUSE_MS_MIN * 2,
    ]);
    expect(pauseMs(1, 1)).toBe(SERVICE_PAUSE_MS_MIN);
    for (const failures of [20, 1_000]) {
      expect(pauseMs(failures, 0)).toBe(SERVICE_PAUSE_MS_MAX / 2);
      expect(pauseMs(failures, 1)).toBe(SERVICE_PAUSE_MS_MAX);
    }
  });

  test('is the first one again after it ran well', () => {
    const running: Machine = {state: 'running', failures: 7, sinceMs: 0};
    expect(step(running, ended, 'always', SERVICE_HEALTHY_MS - 1, 0).next).toEqual({state: 'backoff', failures: 8});
    expect(step(running, ended, 'always', SERVICE_HEALTHY_MS, 0).next).toEqual({state: 'backoff', failures: 1});
  });
});
