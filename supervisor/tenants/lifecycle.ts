/** The steps of a tenant between disk and a worker process, as drawn in `lifecycle-states.ts`: a pure function. */

import {unreachable} from '../../shared/assert.ts';
import {backOffMs} from '../../shared/back-off.ts';
import {type ErrorCode, type ErrorObject, PAUSED} from '../../shared/errors.ts';
import {COOL_DOWN_MS, CRASHES_BEFORE_COOL_DOWN, DAMAGED_COOL_DOWN_MS_MAX, HEALTHY_MS, MOVE_MS_MAX} from '../limits.ts';
import {fence, handsOverError, stepAcquiring, stepHandingOver, stepRemote} from './lifecycle-cluster.ts';
import {type Effect, hasWorker, type Input, type Lifecycle, type Step} from './lifecycle-states.ts';
import {beginClose, failIf, RETRY_AFTER_MS, stay, stepWaited, to} from './lifecycle-step.ts';

/**
 * Pauses before a tenant is opened again without a request after its first, second… crash. A router's wake does not
 * wait for them.
 */
const PAUSES_MS = [0, 100, 500, 2_000];
/** How often sockets of a paused tenant request it again. */
const PAUSED_RETRY_MS = 10_000;
const OF_THE_DISK: ReadonlySet<ErrorCode> = new Set(['session.storage_full', 'session.storage_read_only']);

/**
 * Input that a state does not handle has no effect: it crossed with the message that led to the state.
 * @param isClustered another host can serve the tenant, so it is found out before a worker is started
 */
export function step(lifecycle: Lifecycle, given: Input, nowMs: number, isClustered = false): Step {
  const stepped = stepAlone(lifecycle, given, nowMs);
  return isClustered ? acquiredFirst(lifecycle, stepped) : stepped;
}

function acquiredFirst(before: Lifecycle, stepped: Step): Step {
  const {next, effects} = stepped;
  const isNew = next.state === 'queued' && before.state !== 'queued' && before.state !== 'acquiring';
  // A worker that ended has used up its grant.
  const isAgain = before.state === 'waking' && next.state === 'waking' && effects.some(({type}) => type === 'start');
  if (!isNew && !isAgain) return stepped;
  const others = effects.filter(({type}) => type !== 'enqueue' && type !== 'start');
  return to({state: 'acquiring', crashes: next.crashes, requested: next.requested}, ...others, {type: 'locate'});
}

function stepAlone(lifecycle: Lifecycle, given: Input, nowMs: number): Step {
  const isServed = lifecycle.state === 'awake' || lifecycle.state === 'releasing';
  // If the tenant is not served any more at the second check, the router's wake was about a worker that ended. A tenant
  // that is not served moves simply by being woken.
  const isWish = given.type === 'confirm' || given.type === 'move';
  const input: Input = isWish && !isServed ? {type: 'want', requested: true} : given;
  if (lifecycle.state === 'deleting') return stepDeleting(lifecycle, input);
  if (input.type === 'delete') return beginDelete(lifecycle);
  if (input.type === 'pause') return beginPause(lifecycle);
  if (input.type === 'held') return forgive(lifecycle);
  if (input.type === 'fence') return fence(lifecycle);
  switch (lifecycle.state) {
    case 'acquiring':
      return stepAcquiring(lifecycle, input);
    case 'remote':
      return stepRemote(lifecycle, input);
    case 'handing_over':
      return stepHandingOver(lifecycle, input);
    case 'asleep':
      if (input.type === 'errand') return beginErrand(lifecycle);
      if (input.type !== 'want') return stay(lifecycle);
      return to({state: 'queued', crashes: lifecycle.crashes, requested: input.requested}, {type: 'enqueue'});
    case 'queued':
      return stepQueued(lifecycle, input);
    case 'waking':
      return stepWaking(lifecycle, input, nowMs);
    case 'awake':
    case 'releasing':
      return stepAwake(lifecycle, input, nowMs);
    case 'moving':
      return stepMoving(lifecycle, input);
    case 'closing':
      return stepClosing(lifecycle, input, nowMs);
    case 'resting':
      return stepCoolingDown(lifecycle, input, nowMs);
    case 'pausing':
      return stepPausing(lifecycle, input);
    case 'paused':
      return stepPaused(lifecycle, input);
    case 'errand':
      return stepErrand(lifecycle, input);
    default:
      return unreachable(lifecycle);
  }
}

function stepQueued(lifecycle: Lifecycle & {state: 'queued'}, input: Input): Step {
  const {crashes, requested} = lifecycle;
  switch (input.type) {
    case 'admit':
      return to({state: 'waking', crashes, requested, retried: false}, {type: 'start', fresh: false});
    case 'refuse':
      return to({state: 'asleep', crashes}, ...failIf(requested, input.error, RETRY_AFTER_MS));
    case 'hand_over':
      return to({state: 'asleep', crashes}, ...failIf(requested, handsOverError(), RETRY_AFTER_MS));
    default:
      return stepWaited(lifecycle, input);
  }
}

function stepWaking(lifecycle: Lifecycle & {state: 'waking'}, input: Input, nowMs: number): Step {
  const {crashes, requested, retried} = lifecycle;
  switch (input.type) {
    case 'opened':
      return to({state: 'awake', crashes, sinceMs: nowMs}, {type: 'ready'});
    case 'ended':
      // A full or read-only disk says nothing about the tenant: the next request tries again.
      if (input.error !== null && OF_THE_DISK.has(input.error.code)) return noSpace(crashes, requested, input.error);
      // A spare may have been broken before it got its tenant, so one crash of it does not count against the request.
      if (input.error === null && !retried && crashes + 1 < CRASHES_BEFORE_COOL_DOWN) {
        return to({state: 'waking', crashes: crashes + 1, requested, retried: true}, {type: 'start', fresh: true});
      }
      return died(crashes, requested, input.error, nowMs);
    case 'shut_down':
      return to({...lifecycle, retried: true}, {type: 'kill'});
    case 'reopen':
    case 'hand_over':
      // It may have its settings already.
      return to({state: 'closing', crashes, wanted: true, requested, stored: true}, {type: 'kill'});
    default:
      return stepWaited(lifecycle, input);
  }
}

function stepAwake(lifecycle: Lifecycle & {state: 'awake' | 'releasing'}, input: Input, nowMs: number): Step {
  const {crashes, sinceMs} = lifecycle;
  switch (input.type) {
    case 'want':
      // The router lost its link, perhaps because the worker just ended and we do not know yet. Or it requested the
      // worker while `release` was on its way to it (then it answers that it is busy).
      return input.requested ? to(lifecycle, {type: 'confirm'}) : stay(lifecycle);
    case 'confirm':
      return to(lifecycle, {type: 'ready'});
    case 'ended':
      return died(nowMs - sinceMs >= HEALTHY_MS ? 0 : crashes, false, null, nowMs);
    case 'let_go':
      if (lifecycle.state === 'releasing') return stay(lifecycle);
      return to({...lifecycle, state: 'releasing', forOther: input.forOther}, {type: 'release'});
    case 'router_ended':
      return to({state: 'awake', crashes, sinceMs});
    case 'released':
      if (lifecycle.state === 'awake') return stay(lifecycle);
      if (input.busy || (input.inUse && !lifecycle.forOther)) return to({state: 'awake', crashes, sinceMs});
      return beginClose(crashes);
    case 'move':
      return to({state: 'moving', crashes, requested: true}, giveUp(movesError()));
    case 'reopen':
      return to({state: 'moving', crashes, requested: false}, giveUp(reopensError()));
    case 'hand_over':
      return to({state: 'handing_over', crashes, requested: false}, giveUp(handsOverError()));
    case 'shut_down':
      return beginClose(crashes);
    default:
      return stay(lifecycle);
  }
}

function stepMoving(lifecycle: Lifecycle & {state: 'moving'}, input: Input): Step {
  const {crashes, requested} = lifecycle;
  switch (input.type) {
    case 'given_up':
      return to({state: 'closing', crashes, wanted: true, requested, stored: false}, {type: 'close'});
    case 'ended':
      return to({state: 'queued', crashes, requested}, {type: 'enqueue'});
    case 'shut_down':
      return beginClose(crashes);
    default:
      return stepWaited(lifecycle, input);
  }
}

function stepClosing(lifecycle: Lifecycle & {state: 'closing'}, input: Input, nowMs: number): Step {
  const {crashes, wanted, requested, stored} = lifecycle;
  switch (input.type) {
    case 'want':
      return to({...lifecycle, wanted: true, requested: requested || input.requested});
    case 'router_ended':
      return to({...lifecycle, requested: false});
    case 'closed':
      return to({...lifecycle, stored: true}, {type: 'store', nextDueMs: input.nextDueMs});
    case 'ended':
      if (wanted) return to({state: 'queued', crashes, requested}, {type: 'enqueue'});
      return stored ? to({state: 'asleep', crashes: 0}) : died(crashes, false, null, nowMs);
    default:
      return stay(lifecycle);
  }
}

function stepCoolingDown(lifecycle: Lifecycle & {state: 'resting'}, input: Input, nowMs: number): Step {
  switch (input.type) {
    case 'want':
      // Its next attempt without a request can be an hour away.
      if (input.requested && nowMs >= lifecycle.untilMs) {
        return to({state: 'queued', crashes: lifecycle.crashes, requested: true}, {type: 'enqueue'});
      }
      return to(
        lifecycle,
        ...failIf(input.requested, lifecycle.error ?? coolDownError(), Math.max(0, lifecycle.untilMs - nowMs)),
      );
    case 'rested':
      // One crash before the next cool-down: a persistent fault costs one process per COOL_DOWN_MS, not CRASHES_BEFORE_COOL_DOWN.
      // Crashes because of damage keep counting, because each of their cool-downs is longer than the previous one.
      return to(
        {
          state: 'queued',
          crashes: isDamage(lifecycle.error) ? lifecycle.crashes : CRASHES_BEFORE_COOL_DOWN - 1,
          requested: false,
        },
        {type: 'enqueue'},
      );
    default:
      return stay(lifecycle);
  }
}

function stepPausing(lifecycle: Lifecycle & {state: 'pausing'}, input: Input): Step {
  const {crashes, isEnding, stored} = lifecycle;
  switch (input.type) {
    case 'want':
      return to(lifecycle, ...failIf(input.requested, PAUSED, PAUSED_RETRY_MS));
    case 'given_up':
    case 'shut_down':
      return isEnding ? stay(lifecycle) : to({...lifecycle, isEnding: true}, {type: 'close'});
    case 'closed':
      return to({...lifecycle, stored: true}, {type: 'store', nextDueMs: input.nextDueMs});
    case 'ended':
      return to({state: 'paused', crashes: 0});
    case 'resume':
      if (!isEnding) return to({state: 'moving', crashes, requested: false});
      return to({state: 'closing', crashes, wanted: true, requested: false, stored});
    default:
      return stay(lifecycle);
  }
}

function stepPaused(lifecycle: Lifecycle & {state: 'paused'}, input: Input): Step {
  switch (input.type) {
    case 'want':
      return to(lifecycle, ...failIf(input.requested, PAUSED, PAUSED_RETRY_MS));
    case 'resume':
      return to({state: 'asleep', crashes: 0});
    case 'errand':
      return beginErrand(lifecycle);
    default:
      return stay(lifecycle);
  }
}

function beginErrand({state, crashes}: Lifecycle & {state: 'asleep' | 'paused'}): Step {
  const next: Lifecycle = {state: 'errand', crashes, isPaused: state === 'paused', wanted: false, requested: false};
  return to(next, {type: 'start_errand'});
}

function stepErrand(lifecycle: Lifecycle & {state: 'errand'}, input: Input): Step {
  const {crashes, isPaused, wanted, requested} = lifecycle;
  switch (input.type) {
    case 'want':
      if (isPaused) return to(lifecycle, ...failIf(input.requested, PAUSED, PAUSED_RETRY_MS));
      return to({...lifecycle, wanted: true, requested: requested || input.requested}, {type: 'kill'});
    case 'shut_down':
      return to(lifecycle, {type: 'kill'});
    case 'router_ended':
      return to({...lifecycle, requested: false});
    case 'resume':
      return to({...lifecycle, isPaused: false});
    case 'ended':
      if (isPaused) return to({state: 'paused', crashes});
      return wanted ? to({state: 'queued', crashes, requested}, {type: 'enqueue'}) : to({state: 'asleep', crashes});
    default:
      return stay(lifecycle);
  }
}

function died(before: number, requested: boolean, error: ErrorObject | null, nowMs: number): Step {
  const crashes = before + 1;
  if (crashes >= CRASHES_BEFORE_COOL_DOWN) {
    return to(
      {state: 'resting', crashes, untilMs: nowMs + COOL_DOWN_MS, error},
      ...failIf(requested, error ?? coolDownError(), COOL_DOWN_MS),
      {type: 'later', input: 'rested', afterMs: isDamage(error) ? damagedCoolDownMs(crashes) : COOL_DOWN_MS},
    );
  }
  const pauseMs = PAUSES_MS[Math.min(crashes, PAUSES_MS.length) - 1]!;
  return to({state: 'asleep', crashes}, ...failIf(requested, error ?? diedError(), RETRY_AFTER_MS), {
    type: 'later',
    input: 'want',
    afterMs: pauseMs,
  });
}

function isDamage(error: ErrorObject | null): boolean {
  return error?.code === 'op.storage_damaged';
}

/** The file stays damaged until an operator repairs it, so attempts become rarer. */
function damagedCoolDownMs(crashes: number): number {
  return backOffMs(COOL_DOWN_MS, DAMAGED_COOL_DOWN_MS_MAX, crashes - CRASHES_BEFORE_COOL_DOWN);
}

/** Its due work waits for disk space as long as necessary. */
function noSpace(crashes: number, requested: boolean, error: ErrorObject): Step {
  return to({state: 'asleep', crashes}, ...failIf(requested, error, RETRY_AFTER_MS), {
    type: 'later',
    input: 'want',
    afterMs: PAUSES_MS.at(-1)!,
  });
}

function forgive(lifecycle: Exclude<Lifecycle, {state: 'deleting'}>): Step {
  const crashes = Math.max(0, Math.min(lifecycle.crashes, CRASHES_BEFORE_COOL_DOWN) - 1);
  if (lifecycle.state !== 'resting') return to({...lifecycle, crashes});
  return to({state: 'asleep', crashes}, {type: 'later', input: 'want', afterMs: PAUSES_MS.at(-1)!});
}

function beginPause(lifecycle: Exclude<Lifecycle, {state: 'deleting'}>): Step {
  const {crashes} = lifecycle;
  switch (lifecycle.state) {
    case 'asleep':
    case 'resting':
      return to({state: 'paused', crashes: 0});
    case 'remote':
      return to({state: 'paused', crashes: 0}, {type: 'refer_again'});
    case 'acquiring':
    case 'queued':
      return to({state: 'paused', crashes: 0}, ...failIf(lifecycle.requested, PAUSED, PAUSED_RETRY_MS));
    case 'waking':
      // As in a deletion: nothing in it is worth waiting for.
      return to(
        {state: 'pausing', crashes, isEnding: true, stored: false},
        ...failIf(lifecycle.requested, PAUSED, PAUSED_RETRY_MS),
        {type: 'kill'},
      );
    case 'awake':
    case 'releasing':
      return to({state: 'pausing', crashes, isEnding: false, stored: false}, giveUp(PAUSED));
    case 'moving':
    case 'handing_over':
      return to(
        {state: 'pausing', crashes, isEnding: false, stored: false},
        ...failIf(lifecycle.requested, PAUSED, PAUSED_RETRY_MS),
      );
    case 'closing':
      return to(
        {state: 'pausing', crashes, isEnding: true, stored: lifecycle.stored},
        ...failIf(lifecycle.requested, PAUSED, PAUSED_RETRY_MS),
      );
    case 'errand':
      if (lifecycle.isPaused) return stay(lifecycle);
      return to(
        {state: 'pausing', crashes, isEnding: true, stored: true},
        ...failIf(lifecycle.requested, PAUSED, PAUSED_RETRY_MS),
        {type: 'kill'},
      );
    case 'pausing':
    case 'paused':
      return stay(lifecycle);
    default:
      return unreachable(lifecycle);
  }
}

function beginDelete(lifecycle: Lifecycle): Step {
  const next: Lifecycle = {state: 'deleting', hasWorker: hasWorker(lifecycle)};
  switch (lifecycle.state) {
    case 'awake':
    case 'releasing':
    case 'moving':
    case 'handing_over':
      return to(next, {type: 'close'});
    case 'waking':
    case 'errand':
      // It may be anywhere between a spare and an open file; nothing in it is worth waiting for.
      return to(next, {type: 'kill'});
    case 'closing':
      return to(next);
    case 'pausing':
      return lifecycle.isEnding ? to(next) : to(next, {type: 'close'});
    default:
      return to(next, {type: 'remove'});
  }
}

function stepDeleting(lifecycle: Lifecycle & {state: 'deleting'}, input: Input): Step {
  if (input.type !== 'ended' || !lifecycle.hasWorker) return stay(lifecycle);
  return to({state: 'deleting', hasWorker: false}, {type: 'remove'});
}

function giveUp(error: ErrorObject): Effect {
  return {type: 'give_up', withinMs: MOVE_MS_MAX, error};
}

function movesError(): ErrorObject {
  return {code: 'session.worker_unavailable', message: 'the tenant moves to a worker that runs its code; ask again'};
}

function reopensError(): ErrorObject {
  return {code: 'session.worker_unavailable', message: 'the tenant is opened again with other settings; ask again'};
}

function diedError(): ErrorObject {
  return {code: 'session.worker_unavailable', message: "the tenant's worker ended while it was starting; try again"};
}

function coolDownError(): ErrorObject {
  return {
    code: 'session.worker_unavailable',
    message: "the tenant's worker ended too often in a row; it is started again after a pause",
  };
}
