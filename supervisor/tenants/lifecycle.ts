/**
 * The state of one tenant between disk and a worker process: a union and a pure step function. Processes, timers and
 * the registry are in `placement.ts`, which carries out the effects.
 *
 *                      ┌──────────────────────── a slot is free ───────────────────────┐
 *   asleep ──want──▶ queued                                                            ▼
 *     ▲  ▲             └──refused (no slot to be had)──▶ asleep                     waking
 *     │  │                                                                             │ opened
 *     │  └─ want after a pause ── died ◀──────── worker ends unexpectedly ───┐         ▼
 *     │                            │                                        ├────── awake ◀──┐
 *     │            too many crashes▼                                        │         │let_go │ busy, in use
 *     │        asleep ◀──held── resting ──rested──▶ queued                  ├──── releasing ──┘
 *     │                                                                     │         │ not busy
 *     └───────────────────── worker ends after `closed` ────────────────────┴────── closing
 *
 *   awake, releasing ──move──▶ moving ──given up, or it takes too long──▶ closing, wanted
 *
 *   awake, releasing, moving ──pause──▶ pausing ──given up, or it takes too long; worker ends──▶ paused
 *   waking, closing ──pause──▶ pausing ──worker ends──▶ paused
 *   asleep, queued, resting ──pause──▶ paused ──resume──▶ asleep
 *   pausing ──resume──▶ moving or closing, wanted
 *
 *   any ──delete──▶ deleting ──worker ends, or there is none──▶ (files removed, forgotten)
 *
 * Invariants
 * - A tenant has a worker process exactly in waking, awake, releasing, moving, closing, pausing, and in deleting until
 *   that worker has ended.
 * - No worker is started in pausing and paused. The registry has the tenant's mark `paused` before the input `pause` is
 *   given, so the pause holds after a crash of the server.
 * - The registry's mark `awake` is set before a worker is requested to open, and cleared only with the next due time
 *   that a closing worker reported. After a crash the mark remains, so the tenant is wanted again without a request,
 *   and no due job is lost.
 * - `fail` answers a wake that the router requested and is never sent otherwise: a router notices a dead worker by its
 *   own link.
 */

import {unreachable} from '../../shared/assert.ts';
import {backOffMs} from '../../shared/back-off.ts';
import type {ErrorCode, ErrorObject} from '../../shared/errors.ts';
import {COOL_DOWN_MS, CRASHES_BEFORE_COOL_DOWN, DAMAGED_COOL_DOWN_MS_MAX, HEALTHY_MS, MOVE_MS_MAX} from '../limits.ts';

export type Lifecycle =
  | {state: 'asleep'; crashes: number}
  /** Waits for a slot. `requested`: a router waits for the answer. */
  | {state: 'queued'; crashes: number; requested: boolean}
  /** `retried`: a second worker is opening the tenant, because the first one ended too early. */
  | {state: 'waking'; crashes: number; requested: boolean; retried: boolean}
  | {state: 'awake'; crashes: number; sinceMs: number}
  /** Has requested the routers to release the worker. `forOther`: another tenant needs its slot. */
  | {state: 'releasing'; crashes: number; sinceMs: number; forOther: boolean}
  /** The next worker must be of another kind: routers send this one nothing more. */
  | {state: 'moving'; crashes: number; requested: boolean}
  /**
   * `wanted`: the tenant is to be opened again afterwards. `stored`: the worker's `closed` has arrived and is in the
   * registry.
   */
  | {state: 'closing'; crashes: number; wanted: boolean; requested: boolean; stored: boolean}
  /**
   * Requests fail until `untilMs`; the first one after that opens the tenant. `error`: why its file could not be
   * opened, if that was the cause.
   */
  | {state: 'resting'; crashes: number; untilMs: number; error: ErrorObject | null}
  /** `isEnding`: the worker was requested to close, or was killed. `stored`: as in closing. */
  | {state: 'pausing'; crashes: number; isEnding: boolean; stored: boolean}
  /** An operator paused it: it gets no worker, whatever needs it. */
  | {state: 'paused'; crashes: number}
  | {state: 'deleting'; hasWorker: boolean};

export type Input =
  /** The tenant is needed: by a router (`requested`), or because of its due time, a start-up, or a crash. */
  | {type: 'want'; requested: boolean}
  /** The second check that the effect `confirm` requested. */
  | {type: 'confirm'}
  /** It is next in the queue: a slot is reserved. */
  | {type: 'admit'}
  /** There is no slot, and none can be freed. */
  | {type: 'refuse'; error: ErrorObject}
  | {type: 'opened'}
  /** The worker's process ended; `error`: what it reported about a failed opening. */
  | {type: 'ended'; error: ErrorObject | null}
  /** The last crash is attributed to calls that were under way, not to the tenant. */
  | {type: 'held'}
  /** The tenant is idle, or (`forOther`) least recently used while another tenant needs the slot. */
  | {type: 'let_go'; forOther: boolean}
  /** All routers have answered. `inUse`: the worker wants to stay awake, as for a sandbox that was just created. */
  | {type: 'released'; busy: boolean; inUse: boolean}
  /** A router needs a worker of another kind. */
  | {type: 'move'}
  /** Nothing is under way in the worker that the tenant moves away from, or the time limit has passed. */
  | {type: 'given_up'}
  | {type: 'closed'; nextDueMs: number | null}
  /** The router process ended: it waits for nothing any more and will not answer `release`. */
  | {type: 'router_ended'}
  | {type: 'rested'}
  | {type: 'pause'}
  | {type: 'resume'}
  | {type: 'delete'}
  /** The server stops. A worker that is opening is killed: its mark remains. */
  | {type: 'shut_down'};

export type Effect =
  | {type: 'enqueue'}
  /** Mark the tenant awake, take a worker and request it to open. `fresh`: not a spare. */
  | {type: 'start'; fresh: boolean}
  /** Announce the worker to the routers. */
  | {type: 'ready'}
  /** Give the input `confirm` once all events about processes up to now have arrived. */
  | {type: 'confirm'}
  | {type: 'fail'; error: ErrorObject; retryAfterMs: number}
  | {type: 'release'}
  /**
   * Request all routers to give the worker up, and give the input `given_up` when they have, or after this time.
   * `error`: why, for endless answers, which are cut.
   */
  | {type: 'give_up'; withinMs: number; error: ErrorObject}
  | {type: 'close'}
  | {type: 'kill'}
  /** Clear the mark, and store when the tenant has work again. */
  | {type: 'store'; nextDueMs: number | null}
  /** Give the input `want` (not asked) or `rested` after this time. */
  | {type: 'later'; input: 'want' | 'rested'; afterMs: number}
  | {type: 'remove'};

export type Step = {next: Lifecycle; effects: Effect[]};

/**
 * Pauses before a tenant is opened again without a request after its first, second… crash. A router's wake does not
 * wait for them.
 */
const PAUSES_MS = [0, 100, 500, 2_000];
const RETRY_AFTER_MS = 1_000;
/** How often sockets of a paused tenant request it again. */
const PAUSED_RETRY_MS = 10_000;
const OF_THE_DISK: ReadonlySet<ErrorCode> = new Set(['session.storage_full', 'session.storage_read_only']);

/** Whether the tenant has a worker process that counts against `--max-awake`. */
export function hasWorker(lifecycle: Lifecycle): boolean {
  switch (lifecycle.state) {
    case 'asleep':
    case 'queued':
    case 'resting':
    case 'paused':
      return false;
    case 'waking':
    case 'awake':
    case 'releasing':
    case 'moving':
    case 'closing':
    case 'pausing':
      return true;
    case 'deleting':
      return lifecycle.hasWorker;
    default:
      return unreachable(lifecycle);
  }
}

/** Input that a state does not handle has no effect: it crossed with the message that led to the state. */
export function step(lifecycle: Lifecycle, given: Input, nowMs: number): Step {
  const isServed = lifecycle.state === 'awake' || lifecycle.state === 'releasing';
  // If the tenant is not served any more at the second check, the router's wake was about a worker that ended. A tenant
  // that is not served moves simply by being woken.
  const isWish = given.type === 'confirm' || given.type === 'move';
  const input: Input = isWish && !isServed ? {type: 'want', requested: true} : given;
  if (lifecycle.state === 'deleting') return stepDeleting(lifecycle, input);
  if (input.type === 'delete') return beginDelete(lifecycle);
  if (input.type === 'pause') return beginPause(lifecycle);
  if (input.type === 'held') return forgive(lifecycle);
  switch (lifecycle.state) {
    case 'asleep':
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
    default:
      return unreachable(lifecycle);
  }
}

function stepQueued(lifecycle: Lifecycle & {state: 'queued'}, input: Input): Step {
  const {crashes, requested} = lifecycle;
  switch (input.type) {
    case 'want':
      return to({...lifecycle, requested: requested || input.requested});
    case 'admit':
      return to({state: 'waking', crashes, requested, retried: false}, {type: 'start', fresh: false});
    case 'refuse':
      return to({state: 'asleep', crashes}, ...failIf(requested, input.error, RETRY_AFTER_MS));
    case 'router_ended':
      return to({...lifecycle, requested: false});
    default:
      return stay(lifecycle);
  }
}

function stepWaking(lifecycle: Lifecycle & {state: 'waking'}, input: Input, nowMs: number): Step {
  const {crashes, requested, retried} = lifecycle;
  switch (input.type) {
    case 'want':
      return to({...lifecycle, requested: requested || input.requested});
    case 'router_ended':
      return to({...lifecycle, requested: false});
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
    default:
      return stay(lifecycle);
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
    case 'shut_down':
      return beginClose(crashes);
    default:
      return stay(lifecycle);
  }
}

function stepMoving(lifecycle: Lifecycle & {state: 'moving'}, input: Input): Step {
  const {crashes, requested} = lifecycle;
  switch (input.type) {
    case 'want':
      return to({...lifecycle, requested: requested || input.requested});
    case 'router_ended':
      return to({...lifecycle, requested: false});
    case 'given_up':
      return to({state: 'closing', crashes, wanted: true, requested, stored: false}, {type: 'close'});
    case 'ended':
      return to({state: 'queued', crashes, requested}, {type: 'enqueue'});
    case 'shut_down':
      return beginClose(crashes);
    default:
      return stay(lifecycle);
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
      return to(lifecycle, ...failIf(input.requested, pausedError(), PAUSED_RETRY_MS));
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
      return to(lifecycle, ...failIf(input.requested, pausedError(), PAUSED_RETRY_MS));
    case 'resume':
      return to({state: 'asleep', crashes: 0});
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

function beginClose(crashes: number): Step {
  return to({state: 'closing', crashes, wanted: false, requested: false, stored: false}, {type: 'close'});
}

function beginPause(lifecycle: Exclude<Lifecycle, {state: 'deleting'}>): Step {
  const {crashes} = lifecycle;
  switch (lifecycle.state) {
    case 'asleep':
    case 'resting':
      return to({state: 'paused', crashes: 0});
    case 'queued':
      return to({state: 'paused', crashes: 0}, ...failIf(lifecycle.requested, pausedError(), PAUSED_RETRY_MS));
    case 'waking':
      // As in a deletion: nothing in it is worth waiting for.
      return to(
        {state: 'pausing', crashes, isEnding: true, stored: false},
        ...failIf(lifecycle.requested, pausedError(), PAUSED_RETRY_MS),
        {type: 'kill'},
      );
    case 'awake':
    case 'releasing':
      return to({state: 'pausing', crashes, isEnding: false, stored: false}, giveUp(pausedError()));
    case 'moving':
      return to(
        {state: 'pausing', crashes, isEnding: false, stored: false},
        ...failIf(lifecycle.requested, pausedError(), PAUSED_RETRY_MS),
      );
    case 'closing':
      return to(
        {state: 'pausing', crashes, isEnding: true, stored: lifecycle.stored},
        ...failIf(lifecycle.requested, pausedError(), PAUSED_RETRY_MS),
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
      return to(next, {type: 'close'});
    case 'waking':
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

function to(next: Lifecycle, ...effects: Effect[]): Step {
  return {next, effects};
}

function stay(lifecycle: Lifecycle): Step {
  return {next: lifecycle, effects: []};
}

function failIf(requested: boolean, error: ErrorObject, retryAfterMs: number): Effect[] {
  return requested ? [{type: 'fail', error, retryAfterMs}] : [];
}

function giveUp(error: ErrorObject): Effect {
  return {type: 'give_up', withinMs: MOVE_MS_MAX, error};
}

function movesError(): ErrorObject {
  return {code: 'session.worker_unavailable', message: 'the tenant moves to a worker that runs its code; ask again'};
}

function pausedError(): ErrorObject {
  return {code: 'session.tenant_paused', message: 'the tenant is paused; it answers again when an operator resumes it'};
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
