/**
 * Decides when each tenant's worker starts and ends: carries out the effects of `lifecycle.ts`, stops idle tenants and
 * wakes due ones. `assignments.ts` runs the workers.
 *
 * Inputs are processed one after another: an input that arises while another is carried out waits for it, so a step
 * always sees the state that the previous one left.
 */
import {performance} from 'node:perf_hooks';
import {assert, unreachable} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {SupervisorToRouter, TenantSuspects, UserCall, WorkerAddress} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {Registry} from '../files/registry.ts';
import {DRAIN_MS} from '../limits.ts';
import {type AssignmentEnd, type AssignmentParts, type AssignmentSettings, Assignments} from './assignments.ts';
import {Crashes, type Verdict} from './crashes.ts';
import {DueTimer} from './due-timer.ts';
import {type Effect, type Input, type Lifecycle, step} from './lifecycle.ts';
import {Place, type PlacedTenant, type PlaceMarks} from './place.ts';
import {Slots} from './slots.ts';
import type {Reporter} from './worker-figures.ts';

export type PlacementSettings = AssignmentSettings & {
  maxAwake: number;
  /** 0: idle tenants are never stopped. */
  idleStopMs: number;
};

export type PlacementParts = AssignmentParts & {
  settings: PlacementSettings;
  registry: Registry;
  /** @returns false when the router with this index is not running */
  sendToRouter: (place: number, message: SupervisorToRouter) => boolean;
  sendToRouters: (message: SupervisorToRouter) => void;
  tenantDeleted: (tenant: string) => void;
};

const SERVING: ReadonlySet<Lifecycle['state']> = new Set(['awake', 'releasing']);
/** Maximum interval between checks for idle tenants; there are at least four within the idle time. */
const SWEEP_MS_MAX = 1_000;
const SWEEP_MS_MIN = 25;
/** Pause before a tenant that was busy is requested again to give up its worker. */
const BUSY_MS = 100;

export class Placement {
  readonly #parts: PlacementParts;
  readonly #log: Logger;
  readonly #places = new Map<string, Place>();
  readonly #slots: Slots;
  readonly #assignments: Assignments;
  readonly #inputs: {place: Place; input: Input}[] = [];
  #isTaking = false;
  /** It was logged that the data directory is not writable. */
  #isUnwritable = false;
  #sweepTimer: NodeJS.Timeout | null = null;
  readonly #due: DueTimer;
  #onDrained: (() => void) | null = null;

  constructor(parts: PlacementParts) {
    this.#parts = parts;
    this.#log = parts.log;
    this.#slots = new Slots(parts.settings.maxAwake);
    this.#assignments = new Assignments(parts, {
      give: (place, input) => this.#give(place, input),
      ended: (place, end) => this.#workerEnded(place, end),
    });
    this.#due = new DueTimer(parts.registry, parts.now, id => {
      const place = this.#places.get(id);
      if (place !== undefined) this.#give(place, {type: 'want', asked: false});
    });
  }

  /** Opens the tenants that were open when the server last stopped. From now on, watches for idle and due tenants. */
  start(): void {
    for (const place of this.#places.values()) if (place.isToOpen) this.#give(place, {type: 'want', asked: false});
    const {idleStopMs} = this.#parts.settings;
    const sweepMs = idleStopMs === 0 ? SWEEP_MS_MAX : Math.min(SWEEP_MS_MAX, Math.max(SWEEP_MS_MIN, idleStopMs / 4));
    this.#sweepTimer = setInterval(() => this.#sweep(), sweepMs);
    this.#due.start();
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** Whether the tenant exists and is not being deleted. */
  isServed(id: string): boolean {
    const place = this.#places.get(id);
    return place !== undefined && place.lifecycle.state !== 'deleting';
  }

  get size(): number {
    return this.#places.size;
  }

  /** Tenants that are served, in no order. */
  ids(): string[] {
    return [...this.#places.values()].filter(place => place.lifecycle.state !== 'deleting').map(place => place.id);
  }

  *states(): Iterable<Lifecycle['state']> {
    for (const place of this.#places.values()) yield place.lifecycle.state;
  }

  /** Pids of workers that have a tenant. */
  pids(): number[] {
    return [...this.#slots.occupied].flatMap(({worker}) => worker?.child.pid ?? []);
  }

  /** Metrics of each worker that serves, as JSON; null: it does not answer in time. */
  reports(): {worker: Reporter; report: Promise<string | null>}[] {
    const serving = [...this.#slots.occupied].filter(({lifecycle: {state}}) => SERVING.has(state));
    return serving.flatMap(({worker, reporter}) =>
      worker === null || reporter === null ? [] : [{worker: reporter, report: worker.report()}],
    );
  }

  /** Suspected calls of all tenants that have any. */
  suspects(): TenantSuspects[] {
    return [...this.#places.values()].flatMap(({id, crashes}) => {
      const suspects = crashes?.suspects() ?? null;
      return suspects === null ? [] : [{tenant: id, ...suspects}];
    });
  }

  add(tenant: PlacedTenant, marks: PlaceMarks): void {
    assert(!this.#places.has(tenant.id), `tenant ${tenant.id} has one place`);
    const place = new Place(tenant, marks);
    this.#parts.code.known(place);
    this.#places.set(tenant.id, place);
  }

  /** Resolves when nothing uses the tenant's files any more; it gets no worker from now on. */
  async delete(id: string): Promise<PlacedTenant> {
    const place = this.#places.get(id);
    assert(place !== undefined, `tenant ${id} has a place`);
    await new Promise<void>(resolve => {
      place.onRemovable = resolve;
      this.#give(place, {type: 'delete'});
    });
    return place;
  }

  /** The deletion is complete, and the id is free. */
  forget(id: string): void {
    const place = this.#places.get(id);
    assert(place?.lifecycle.state === 'deleting', `tenant ${id} is being deleted`);
    this.#parts.users.forget(this.#parts.files.path(id, place.generation));
    this.#places.delete(id);
    this.#parts.tenantDeleted(id);
  }

  /** A router needs this tenant. @param forCode in a worker that runs code, to which the tenant moves if necessary */
  wake(id: string, router: number, forCode: boolean): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    place.users.asking.add(router);
    if (forCode) this.#parts.code.is(place, true);
    const moves = forCode && place.worker?.runsCode === false;
    this.#give(place, moves ? {type: 'move'} : {type: 'want', asked: true});
  }

  /** A router has given up the worker that the tenant moves away from. */
  givenUp(id: string, router: number): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    place.users.givenUp(router);
    this.#moveOn(place);
  }

  #moveOn(place: Place): void {
    if (place.users.isGivenUp) this.#give(place, {type: 'given_up'});
  }

  released(id: string, router: number, busy: boolean): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    const nowMs = this.#parts.now();
    if (busy) {
      place.lastActiveMs = nowMs;
      place.busyUntilMs = nowMs + BUSY_MS;
    }
    const released = place.users.released(router, busy);
    if (released !== null) this.#give(place, {type: 'released', busy: released.isBusy});
  }

  /** A router lost its link to this worker, which is ending or has ended. */
  linkLost(id: string, router: number, socketPath: string, calls: UserCall[]): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    if (place.address?.socketPath === socketPath) {
      place.users.lost(router, calls);
      this.#moveOn(place);
    } else place.crashes?.heard(router, socketPath, calls);
  }

  /** This worker violated the protocol towards a router. */
  linkMalformed(id: string, socketPath: string, why: string): void {
    const place = this.#places.get(id);
    if (place?.address?.socketPath === socketPath) place.worker?.child.disbelieve(why);
  }

  /** A router received the answer to a suspected call. */
  callAnswered(id: string, key: string): void {
    this.#places.get(id)?.crashes?.answered(key);
    this.#parts.sendToRouters({type: 'call_answered', tenant: id, key});
  }

  activity(ids: string[]): void {
    const nowMs = this.#parts.now();
    for (const id of ids) {
      const place = this.#places.get(id);
      if (place !== undefined) place.lastActiveMs = nowMs;
    }
  }

  routerEnded(router: number): void {
    for (const place of this.#places.values()) {
      place.users.routerEnded(router);
      this.#moveOn(place);
      place.crashes?.routerEnded(router);
      // If the tenant is still idle, the release is requested again from the remaining routers.
      const isWaitedFor = place.users.asking.size > 0 && place.lifecycle.state !== 'releasing';
      if (place.lifecycle.state !== 'asleep' && !isWaitedFor) this.#give(place, {type: 'router_ended'});
    }
  }

  /** Closes every tenant. Resolves when no worker with a tenant is left. */
  drain(): Promise<void> {
    if (this.#sweepTimer !== null) clearInterval(this.#sweepTimer);
    this.#due.stop();
    return new Promise(resolve => {
      this.#onDrained = resolve;
      for (const place of [...this.#slots.occupied]) this.#give(place, {type: 'shut_down'});
      this.#checkDrained();
    });
  }

  /** Kills every worker that has a tenant. */
  killAll(): void {
    for (const place of this.#slots.occupied) place.worker?.child.kill();
  }

  #give(place: Place, input: Input): void {
    this.#inputs.push({place, input});
    this.#run();
  }

  #run(): void {
    if (this.#isTaking) return;
    this.#isTaking = true;
    for (let next = this.#nextInput(); next !== null; next = this.#nextInput()) this.#take(next.place, next.input);
    this.#isTaking = false;
  }

  #nextInput(): {place: Place; input: Input} | null {
    return this.#inputs.shift() ?? (this.#onDrained === null ? this.#slots.decide(this.#parts.now()) : null);
  }

  #take(place: Place, input: Input): void {
    const before = place.lifecycle;
    const {next, effects} = step(before, input, this.#parts.now());
    place.lifecycle = next;
    if (next.state !== before.state)
      this.#log.debug('placement', {tenant: place.id, from: before.state, to: next.state});
    this.#slots.follow(place);
    for (const effect of effects) this.#carryOut(place, effect);
  }

  #carryOut(place: Place, effect: Effect): void {
    switch (effect.type) {
      case 'enqueue':
        return; // `slots` follows the state
      case 'start':
        this.#startWorker(place, effect.fresh);
        return;
      case 'ready':
        this.#tellReady(place);
        return;
      case 'confirm':
        // Two turns: by then, events about processes that ended before this turn have arrived.
        setImmediate(() => setImmediate(() => this.#give(place, {type: 'confirm'})));
        return;
      case 'fail':
        this.#parts.metrics.wakeFailed();
        for (const router of place.users.refuse()) {
          this.#parts.sendToRouter(router, {
            type: 'worker_failed',
            tenant: place.id,
            error: effect.error,
            retryAfterS: Math.max(1, Math.ceil(effect.retryAfterMs / 1000)),
          });
        }
        return;
      case 'release':
        this.#release(place);
        return;
      case 'give_up':
        for (const router of place.users.beginMove()) {
          this.#parts.sendToRouter(router, {type: 'give_up', tenant: place.id});
        }
        this.#later(place, 'given_up', effect.withinMs);
        this.#moveOn(place);
        return;
      case 'close':
        place.worker?.child.send({type: 'close'});
        place.worker?.child.killAfter(DRAIN_MS);
        return;
      case 'kill':
        place.worker?.child.kill();
        return;
      case 'store':
        this.#store(place, effect.nextDueMs);
        return;
      case 'later':
        this.#later(place, effect.input, effect.afterMs);
        return;
      case 'remove':
        if (place.laterTimer !== null) clearTimeout(place.laterTimer);
        place.crashes?.end();
        place.onRemovable?.();
        return;
      default:
        unreachable(effect);
    }
  }

  /** Announces the worker to the waiting routers, once the last crash has been attributed. */
  #tellReady(place: Place): void {
    place.isReadyPending = place.crashes?.isOpen === true;
    if (place.isReadyPending) return;
    const address = addressOf(place);
    for (const router of place.users.tell()) this.#parts.sendToRouter(router, {type: 'worker_ready', address});
  }

  /**
   * Requests every router that uses the worker to release it; if there is none, and none is about to use it, it is
   * idle.
   */
  #release(place: Place): void {
    if (place.users.asking.size > 0) {
      this.#give(place, {type: 'released', busy: true});
      return;
    }
    const routers = place.users.beginRelease();
    for (const router of routers) this.#parts.sendToRouter(router, {type: 'release', tenant: place.id});
    if (routers.length === 0) this.#give(place, {type: 'released', busy: false});
  }

  #startWorker(place: Place, fresh: boolean): void {
    const {registry} = this.#parts;
    place.wakingSinceMs = this.#parts.now();
    try {
      if (!place.isMarkedAwake) {
        registry.markAwake(place.id);
        this.#isUnwritable = false;
      }
      place.isMarkedAwake = true;
    } catch (caught) {
      // The mark only saves a scan at the next start: a file that was written has a log, or a different modification
      // time.
      this.#notMarked('the disk is full: a tenant is woken without a mark', place, caught);
    }
    this.#assignments.start(place, fresh);
  }

  /** The registry could not store a mark. An unwritable disk is logged once, until it is writable again. */
  #notMarked(what: string, {id}: Place, caught: unknown): void {
    if (!(caught instanceof ServiceError)) throw caught;
    if (!this.#parts.registry.isUnwritable) this.#log.warn(what, {tenant: id, error: caught});
    else if (!this.#isUnwritable) {
      this.#log.error('the data directory cannot be written: reads go on, and changes are refused', {error: caught});
    }
    this.#isUnwritable = this.#parts.registry.isUnwritable;
  }

  #workerEnded(place: Place, {socketPath, ...end}: AssignmentEnd): void {
    const {lifecycle} = place;
    const expected = lifecycle.state === 'deleting' || (lifecycle.state === 'closing' && lifecycle.stored);
    if (!expected && this.#onDrained === null) {
      this.#parts.metrics.died('worker');
      this.#log.warn('a worker ended unasked', {
        tenant: place.id,
        state: lifecycle.state,
        ...end,
      });
    }
    const {calls, unheard} = place.users.ended();
    this.#give(place, {type: 'ended', error: place.openError});
    if (!expected && (calls.length > 0 || unheard.size > 0)) {
      place.crashes ??= new Crashes(
        () => performance.now(),
        verdict => this.#judged(place, verdict),
      );
      place.crashes.died(socketPath, calls, unheard);
    }
    this.#checkDrained();
  }

  /** The last crash has been attributed. */
  #judged(place: Place, {isAttributed, refused}: Verdict): void {
    for (const refusal of refused) this.#log.error('a call ended its worker too often', {tenant: place.id, ...refusal});
    const suspects = place.crashes?.suspects() ?? null;
    if (suspects !== null) this.#parts.sendToRouters({type: 'suspects', tenant: place.id, ...suspects});
    if (isAttributed) this.#give(place, {type: 'held'});
    if (place.isReadyPending && SERVING.has(place.lifecycle.state)) this.#tellReady(place);
  }

  #store(place: Place, nextDueMs: number | null): void {
    try {
      const {fileMs} = this.#parts.files.fileState(place.id, place.generation);
      this.#parts.registry.markAsleep(place.id, nextDueMs, fileMs);
      place.isMarkedAwake = false;
    } catch (caught) {
      // The mark remains, which is safe: the tenant is opened once at the next start.
      this.#notMarked('a tenant stays marked awake', place, caught);
    }
    if (this.#onDrained === null) this.#due.arm();
  }

  #later(place: Place, input: 'want' | 'rested' | 'given_up', afterMs: number): void {
    if (this.#onDrained !== null) return;
    if (place.laterTimer !== null) clearTimeout(place.laterTimer);
    place.laterTimer = setTimeout(() => {
      place.laterTimer = null;
      this.#give(place, input === 'want' ? {type: 'want', asked: false} : {type: input});
    }, afterMs);
  }

  #sweep(): void {
    const {now, settings} = this.#parts;
    if (settings.idleStopMs > 0) {
      const idleSinceMs = now() - settings.idleStopMs;
      for (const place of [...this.#slots.occupied]) {
        if (place.lifecycle.state !== 'awake' || place.lastActiveMs > idleSinceMs) continue;
        if (place.inUseUntilMs <= now()) this.#give(place, {type: 'let_go'});
      }
    }
    // Tenants that wait for a slot may be able to get one now, without any input.
    this.#run();
  }

  #checkDrained(): void {
    if (this.#onDrained !== null && this.#slots.occupied.size === 0) this.#onDrained();
  }
}

function addressOf(place: Place): WorkerAddress {
  assert(place.address !== null, `tenant ${place.id} has a worker that listens`);
  return place.address;
}
