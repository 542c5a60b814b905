/**
 * The states of one tenant between disk and a worker process, what happens to it, and what is to be done then.
 * `lifecycle.ts` has the steps. Processes, timers and the registry are in `placement.ts`, which carries out the effects.
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
 *   asleep, paused ──errand──▶ errand ──its process ends──▶ asleep or paused; queued, if it was wanted meanwhile
 *   errand ──want, shut_down──▶ its process is killed      errand ──pause──▶ pausing, and its process is killed
 *
 *   awake, releasing ──reopen──▶ moving      waking ──reopen──▶ closing, wanted, and its worker is killed
 *
 *   any ──delete──▶ deleting ──worker ends, or there is none──▶ (files removed, forgotten)
 *
 * On a host of a cluster, `acquiring` is before each `queued`, because another host can serve the tenant:
 *
 *   asleep, … ──want──▶ acquiring ──granted──▶ queued ──▶ waking ──▶ awake ──hand_over──▶ handing_over ──given up──▶ closing
 *                         │  ▲  └──nowhere──▶ asleep
 *             located there▼  │want, requested
 *                         remote ──moved; or let_go and not busy──▶ asleep
 *
 *   queued ──hand_over, fence──▶ asleep
 *   any with a worker ──fence──▶ closing, and its worker is killed      waking ──hand_over──▶ the same
 *
 * Invariants
 * - A tenant has a worker process exactly in waking, awake, releasing, moving, closing, pausing, errand, and in deleting
 *   until that worker has ended.
 * - No worker is started in pausing and paused. The registry has the tenant's mark `paused` before the input `pause` is
 *   given, so the pause holds after a crash of the server.
 * - The registry's mark `awake` is set before a worker is requested to open, and cleared only with the next due time
 *   that a closing worker reported. After a crash the mark remains, so the tenant is wanted again without a request,
 *   and no due job is lost.
 * - On a host of a cluster, a worker is started only with a grant of the cluster process, and the grant ends when the state
 *   is one without a worker and not `queued`.
 * - `fail` answers a wake that the router requested and is never sent otherwise: a router notices a dead worker by its
 *   own link.
 */

import {unreachable} from '../../shared/assert.ts';
import type {ErrorObject} from '../../shared/errors.ts';

export type Lifecycle =
  | {state: 'asleep'; crashes: number}
  /** The cluster process finds out which host serves the tenant. `requested`: a router waits for the answer. */
  | {state: 'acquiring'; crashes: number; requested: boolean}
  /** Another host serves it, and routers were referred to that host. */
  | {state: 'remote'; crashes: number}
  /** Another host is to serve it: routers send this worker nothing more. `requested`: a router waits for the other host. */
  | {state: 'handing_over'; crashes: number; requested: boolean}
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
  /**
   * A process does one thing in the directory and serves nothing (`errands.ts`). It can be killed at any time.
   * `isPaused`: an operator paused the tenant. `wanted`: it is to be opened afterwards, and the process was killed.
   */
  | {state: 'errand'; crashes: number; isPaused: boolean; wanted: boolean; requested: boolean}
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
  /** This host serves the tenant, and opens it. */
  | {type: 'granted'}
  /** Another host serves it. */
  | {type: 'located_there'}
  /** No host serves it now. */
  | {type: 'nowhere'; error: ErrorObject}
  /** The tenant has another owner than the one that routers were referred to. */
  | {type: 'moved'}
  /** Another host is to serve the tenant. */
  | {type: 'hand_over'}
  /** This host does not own the tenant any more: its worker can append nothing. */
  | {type: 'fence'}
  | {type: 'pause'}
  | {type: 'resume'}
  /** A process is to do something in the directory of a tenant that has no worker. */
  | {type: 'errand'}
  /** Its settings have changed: its next worker gets them. */
  | {type: 'reopen'}
  | {type: 'delete'}
  /** The server stops. A worker that is opening is killed: its mark remains. */
  | {type: 'shut_down'};

export type Effect =
  | {type: 'enqueue'}
  /** Mark the tenant awake, take a worker and request it to open. `fresh`: not a spare. */
  | {type: 'start'; fresh: boolean}
  | {type: 'start_errand'}
  /** Request the cluster process to find out who serves the tenant, and give the input that it answers with. */
  | {type: 'locate'}
  /** Request all routers to give up what they were referred to. */
  | {type: 'refer_again'}
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

/** Whether the tenant has a worker process that counts against `--max-awake`. */
export function hasWorker(lifecycle: Lifecycle): boolean {
  switch (lifecycle.state) {
    case 'asleep':
    case 'acquiring':
    case 'remote':
    case 'queued':
    case 'resting':
    case 'paused':
      return false;
    case 'waking':
    case 'awake':
    case 'releasing':
    case 'moving':
    case 'handing_over':
    case 'closing':
    case 'pausing':
    case 'errand':
      return true;
    case 'deleting':
      return lifecycle.hasWorker;
    default:
      return unreachable(lifecycle);
  }
}
