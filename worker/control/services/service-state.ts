/**
 * The state machine of a service: a union and a pure step function, drawn in shared/protocol/services.ts. The runner
 * (service-runner.ts) owns processes, timers and records, and carries out the effects.
 *
 * Invariants
 * - A process exists, or is being prepared, exactly in starting, running and stopping: each `open` is followed by one
 *   `ended` before the next `open`. So a service never has two processes.
 * - Only `ended` leaves `stopping`, whatever is requested meanwhile; the latest request is carried out then.
 */

import {unreachable} from '../../../shared/assert.ts';
import {backOffMs} from '../../../shared/back-off.ts';
import type {ServiceRecord} from '../../../shared/protocol/services.ts';
import {SERVICE_HEALTHY_MS, SERVICE_PAUSE_MS_MAX, SERVICE_PAUSE_MS_MIN} from '../limits.ts';

export type Machine =
  | {state: 'stopped'}
  /** `failures`: times in a row that it ended without having been healthy. */
  | {state: 'starting'; failures: number}
  | {state: 'running'; failures: number; sinceMs: number}
  | {state: 'stopping'; after: 'stop' | 'start'}
  | {state: 'backoff'; failures: number}
  | {state: 'failed'};

export type Input =
  | {type: 'start'}
  | {type: 'stop'}
  /** Replaces the process by one with the current definition. */
  | {type: 'restart'}
  /** Its function has been called. */
  | {type: 'began'}
  /** Its process is gone. `isFinal`: another start would end the same way. */
  | {type: 'ended'; hasReturned: boolean; isFinal: boolean}
  /** The pause is over. */
  | {type: 'due'};

export type Effect =
  /** Prepare and start a process. `isAgain`: an automatic restart. */
  | {type: 'open'; isAgain: boolean}
  /** Send the stop signal, and kill the process if it does not end. */
  | {type: 'end'}
  /** Send `due` after this time. */
  | {type: 'pause'; ms: number}
  | {type: 'cancel_pause'}
  /** It has finished: it is no longer wanted. */
  | {type: 'done'};

export type Step = {next: Machine; effects: Effect[]};
export type Policy = ServiceRecord['restart'];

/** An input that a state does not mention changes nothing. @param random from 0 to 1 */
export function step(machine: Machine, input: Input, policy: Policy, nowMs: number, random: number): Step {
  switch (input.type) {
    case 'start':
      return started(machine);
    case 'restart':
      return restarted(machine);
    case 'stop':
      return stopped(machine);
    case 'began':
      if (machine.state !== 'starting') return to(machine);
      return to({state: 'running', failures: machine.failures, sinceMs: nowMs});
    case 'ended':
      return ended(machine, input, policy, nowMs, random);
    case 'due':
      if (machine.state !== 'backoff') return to(machine);
      return to({state: 'starting', failures: machine.failures}, {type: 'open', isAgain: true});
    default:
      return unreachable(input);
  }
}

const FIRST: Machine = {state: 'starting', failures: 0};
const OPEN: Effect = {type: 'open', isAgain: false};

function started(machine: Machine): Step {
  switch (machine.state) {
    case 'stopped':
    case 'failed':
      return to(FIRST, OPEN);
    case 'backoff':
      return to(FIRST, {type: 'cancel_pause'}, OPEN);
    case 'stopping':
      return to({state: 'stopping', after: 'start'});
    case 'starting':
    case 'running':
      return to(machine);
    default:
      return unreachable(machine);
  }
}

function restarted(machine: Machine): Step {
  if (machine.state !== 'starting' && machine.state !== 'running') return started(machine);
  return to({state: 'stopping', after: 'start'}, {type: 'end'});
}

function stopped(machine: Machine): Step {
  switch (machine.state) {
    case 'stopped':
      return to(machine);
    case 'failed':
      return to({state: 'stopped'});
    case 'backoff':
      return to({state: 'stopped'}, {type: 'cancel_pause'});
    case 'stopping':
      return to({state: 'stopping', after: 'stop'});
    case 'starting':
    case 'running':
      return to({state: 'stopping', after: 'stop'}, {type: 'end'});
    default:
      return unreachable(machine);
  }
}

function ended(
  machine: Machine,
  {hasReturned, isFinal}: Input & {type: 'ended'},
  policy: Policy,
  nowMs: number,
  random: number,
): Step {
  if (machine.state === 'stopping') return machine.after === 'stop' ? to({state: 'stopped'}) : to(FIRST, OPEN);
  if (machine.state !== 'starting' && machine.state !== 'running') return to(machine);
  if (isFinal) return to({state: 'failed'});
  if (hasReturned && policy !== 'always') return to({state: 'stopped'}, {type: 'done'});
  if (policy === 'never') return to({state: 'failed'});
  const wasHealthy = machine.state === 'running' && nowMs - machine.sinceMs >= SERVICE_HEALTHY_MS;
  const failures = wasHealthy ? 1 : machine.failures + 1;
  return to({state: 'backoff', failures}, {type: 'pause', ms: pauseMs(failures, random)});
}

/** Half of the pause is random, so that services that fail together do not restart together. */
export function pauseMs(failures: number, random: number): number {
  const most = backOffMs(SERVICE_PAUSE_MS_MIN, SERVICE_PAUSE_MS_MAX, failures - 1);
  return Math.round((most * (1 + random)) / 2);
}

function to(next: Machine, ...effects: Effect[]): Step {
  return {next, effects};
}
