/**
 * Decides when each tenant's worker starts and ends: carries out the effects of `lifecycle.ts`, stops idle tenants and
 * wakes due ones. `assignments.ts` runs the workers.
 *
 * Inputs are processed one after another: an input that arises while another is carried out waits for it, so a step
 * always sees the state that the previous one left.
 */
import {performance} from 'node:perf_hooks';
import {assert, unreachable} from '../../shared/assert.ts';
import type {SupervisorToRouter, UserCall, WorkerAddress, WorkerName} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {Registry} from '../files/registry.ts';
import {DRAIN_MS} from '../limits.ts';
import type {ClusterProcess} from '../processes/cluster-process.ts';
import {type AssignmentEnd, type AssignmentParts, type AssignmentSettings, Assignments} from './assignments.ts';
import {ClusterGrants} from './cluster-grants.ts';
import {Crashes, type Verdict} from './crashes.ts';
import {DueTimer} from './due-timer.ts';
import {IdleSweep} from './idle-sweep.ts';
import {step} from './lifecycle.ts';
import {handsOverError} from './lifecycle-cluster.ts';
import type {Effect, Input, Lifecycle} from './lifecycle-states.ts';
import {Marks} from './marks.ts';
import {Slots} from './slots.ts';
import {type EntryMarks, type PlacedTenant, TenantEntry} from './tenant-entry.ts';
import {causeOf, type WakeCause} from './wakes.ts';

export type PlacementSettings = AssignmentSettings & {
  maxAwake: number;
  /** 0: idle tenants are never stopped. */
  idleStopMs: number;
};

export type PlacementParts = AssignmentParts & {
  settings: PlacementSettings;
  registry: Registry;
  /** @returns false when the router with this index is not running */
  sendToRouter: (router: number, message: SupervisorToRouter) => boolean;
  sendToRouters: (message: SupervisorToRouter) => void;
  tenantDeleted: (tenant: string) => void;
  /** A tenant is new (`before` null), or its state has changed. */
  tenantChanged: (entry: TenantEntry, before: Lifecycle | null) => void;
  /** Null: the server is not part of a cluster. */
  cluster: ClusterProcess | null;
  /** A tenant's worker has closed its file. @param nextDueMs when it has work again; null: never */
  slept: (tenant: string, nextDueMs: number | null) => void;
};

/** `cause`: of a wake; absent: by the kind of input. */
type Given = {entry: TenantEntry; input: Input; cause?: WakeCause};

const SERVING: ReadonlySet<Lifecycle['state']> = new Set(['awake', 'releasing']);
/** Pause before a tenant that was busy is requested again to give up its worker. */
const BUSY_MS = 100;

export class Placement {
  readonly #parts: PlacementParts;
  readonly #log: Logger;
  readonly #entries = new Map<string, TenantEntry>();
  readonly #slots: Slots;
  readonly #assignments: Assignments;
  readonly #marks: Marks;
  readonly #inputs: Given[] = [];
  #isTaking = false;
  readonly #idle: IdleSweep;
  /** Null: the server is not part of a cluster. */
  readonly grants: ClusterGrants | null;
  readonly #due: DueTimer;
  #onDrained: (() => void) | null = null;

  constructor(parts: PlacementParts) {
    this.#parts = parts;
    this.#log = parts.log;
    this.#slots = new Slots(parts.settings.maxAwake);
    this.#marks = new Marks(parts.registry, parts.files, parts.log);
    this.#assignments = new Assignments(parts, {
      give: (entry, input) => this.give(entry, input),
      ended: (entry, end) => this.#workerEnded(entry, end),
    });
    const give = (entry: TenantEntry, input: Input, cause?: WakeCause) => this.give(entry, input, cause);
    this.grants =
      parts.cluster === null
        ? null
        : new ClusterGrants({
            ...{process: parts.cluster, give},
            find: id => this.#entries.get(id),
            entries: () => this.#entries.values(),
          });
    this.#idle = new IdleSweep({
      idleStopMs: parts.settings.idleStopMs,
      now: parts.now,
      entries: () => (this.grants === null ? this.#slots.occupied : this.#entries.values()),
      letGo: entry => this.give(entry, {type: 'let_go', forOther: false}),
      // Tenants that wait for a slot may be able to get one now, without any input.
      swept: () => this.#run(),
    });
    this.#due = new DueTimer(parts.registry, parts.now, id => {
      const entry = this.#entries.get(id);
      if (entry !== undefined) this.give(entry, {type: 'want', requested: false}, 'due');
    });
  }

  /** Opens the tenants that were open when the server last stopped. From now on, watches for idle and due tenants. */
  start(): void {
    for (const entry of this.#entries.values())
      if (entry.isToOpen && !entry.isReadOnly) this.give(entry, {type: 'want', requested: false}, 'start');
    this.#idle.start();
    // In a cluster, the host that owns a tenant wakes it.
    if (this.grants === null) this.#due.start();
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** Whether the tenant exists and is not being deleted. */
  isServed(id: string): boolean {
    return this.find(id) !== undefined;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The tenant, unless it does not exist or is being deleted. */
  find(id: string): TenantEntry | undefined {
    const entry = this.#entries.get(id);
    return entry?.lifecycle.state === 'deleting' ? undefined : entry;
  }

  /** All tenants, also those that are being deleted. */
  entries(): Iterable<TenantEntry> {
    return this.#entries.values();
  }

  /** Tenants that are served, in no order. */
  ids(): string[] {
    return [...this.#entries.values()].filter(entry => entry.lifecycle.state !== 'deleting').map(entry => entry.id);
  }

  *states(): Iterable<Lifecycle['state']> {
    for (const entry of this.#entries.values()) yield entry.lifecycle.state;
  }

  add(tenant: PlacedTenant, marks: EntryMarks): void {
    assert(!this.#entries.has(tenant.id), `tenant ${tenant.id} has one place`);
    const entry = new TenantEntry(tenant, marks);
    const paused = this.#parts.registry.paused.modeOf(tenant.id, tenant.generation);
    if (paused === 'nothing') entry.lifecycle = {state: 'paused', crashes: 0};
    entry.isReadOnly = paused === 'reads';
    this.#parts.code.known(entry);
    this.#entries.set(tenant.id, entry);
    this.#parts.tenantChanged(entry, null);
  }

  /** Resolves when nothing uses the tenant's files any more; it gets no worker from now on. */
  async delete(id: string): Promise<PlacedTenant> {
    const entry = this.#entries.get(id);
    assert(entry !== undefined, `tenant ${id} has a place`);
    await new Promise<void>(resolve => {
      entry.onRemovable = resolve;
      this.give(entry, {type: 'delete'});
    });
    return entry;
  }

  /** The deletion is complete, and the id is free. */
  forget(id: string): void {
    const entry = this.#entries.get(id);
    assert(entry?.lifecycle.state === 'deleting', `tenant ${id} is being deleted`);
    this.#parts.users.forget(this.#parts.files.path(id, entry.generation));
    this.#entries.delete(id);
    this.#parts.tenantDeleted(id);
  }

  /**
   * A router needs this tenant.
   * @param forCode in a worker that runs code, to which the tenant moves if necessary
   * @param forPeer another host has chosen this one
   */
  wake(id: string, router: number, forCode: boolean, forPeer: boolean): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.isForwarded ||= forPeer;
    entry.users.waitingRouters.add(router);
    if (forCode) this.#parts.code.is(entry, true);
    const moves = forCode && entry.worker?.runsCode === false;
    this.give(entry, moves ? {type: 'move'} : {type: 'want', requested: true});
  }

  /** A router has given up the worker that the tenant moves away from. */
  givenUp(id: string, router: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.users.givenUp(router);
    this.#moveOn(entry);
  }

  #moveOn(entry: TenantEntry): void {
    if (entry.users.isGivenUp) this.give(entry, {type: 'given_up'});
  }

  released(id: string, router: number, busy: boolean): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const nowMs = this.#parts.now();
    if (busy) {
      entry.lastActiveMs = nowMs;
      entry.busyUntilMs = nowMs + BUSY_MS;
    }
    const released = entry.users.released(router, busy);
    if (released !== null) this.#released(entry, released.isBusy);
  }

  /** A router lost its link to this worker, which is ending or has ended. */
  linkLost(id: string, router: number, worker: WorkerName, calls: UserCall[]): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    if (entry.address?.worker === worker) {
      entry.users.lost(router, calls);
      this.#moveOn(entry);
    } else entry.crashes?.heard(router, worker, calls);
  }

  /** This worker violated the protocol towards a router. */
  linkMalformed(id: string, worker: WorkerName, why: string): void {
    const entry = this.#entries.get(id);
    if (entry?.address?.worker === worker) entry.worker?.child.disbelieve(why);
  }

  /** A router received the answer to a suspected call. */
  callAnswered(id: string, key: string): void {
    this.#entries.get(id)?.crashes?.answered(key);
    this.#parts.sendToRouters({type: 'call_answered', tenant: id, key});
  }

  activity(ids: string[]): void {
    const nowMs = this.#parts.now();
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry !== undefined) entry.lastActiveMs = nowMs;
    }
  }

  routerEnded(router: number): void {
    for (const entry of this.#entries.values()) {
      entry.users.routerEnded(router);
      this.#moveOn(entry);
      entry.crashes?.routerEnded(router);
      // If the tenant is still idle, the release is requested again from the remaining routers.
      const isWaitedFor = entry.users.waitingRouters.size > 0 && entry.lifecycle.state !== 'releasing';
      if (entry.lifecycle.state !== 'asleep' && !isWaitedFor) this.give(entry, {type: 'router_ended'});
    }
  }

  /** Closes every tenant. Resolves when no worker with a tenant is left. */
  drain(): Promise<void> {
    this.#idle.stop();
    this.#due.stop();
    return new Promise(resolve => {
      this.#onDrained = resolve;
      for (const entry of [...this.#slots.occupied]) this.give(entry, {type: 'shut_down'});
      this.#checkDrained();
    });
  }

  /** Kills every worker that has a tenant. */
  killAll(): void {
    for (const entry of this.#slots.occupied) entry.worker?.child.kill();
  }

  /** @param cause of the wake, if the input does not say */
  give(entry: TenantEntry, input: Input, cause: WakeCause = causeOf(input)): void {
    this.#inputs.push({entry, input, cause});
    this.#run();
  }

  #run(): void {
    if (this.#isTaking) return;
    this.#isTaking = true;
    for (let next = this.#nextInput(); next !== null; next = this.#nextInput()) this.#take(next);
    this.#isTaking = false;
  }

  #nextInput(): Given | null {
    return this.#inputs.shift() ?? (this.#onDrained === null ? this.#slots.decide(this.#parts.now()) : null);
  }

  #take({entry, input, cause}: Given): void {
    const before = entry.lifecycle;
    const {next, effects} = step(before, input, this.#parts.now(), this.grants !== null);
    entry.lifecycle = next;
    if (next.state !== before.state)
      this.#log.debug('placement', {tenant: entry.id, from: before.state, to: next.state});
    this.#slots.follow(entry);
    entry.wakes.follow(before, next, cause ?? causeOf(input), this.#parts.now());
    if (next.state !== before.state) this.#parts.tenantChanged(entry, before);
    this.grants?.follow(entry);
    for (const effect of effects) this.#carryOut(entry, effect);
    for (const watch of entry.watches) watch(effects);
  }

  #carryOut(entry: TenantEntry, effect: Effect): void {
    switch (effect.type) {
      case 'enqueue':
        return; // `slots` follows the state
      case 'start':
        this.#startWorker(entry, effect.fresh);
        return;
      case 'locate':
        this.grants?.locate(entry);
        return;
      case 'refer_again':
        for (const router of entry.users.beginMove()) {
          this.#parts.sendToRouter(router, {type: 'give_up', tenant: entry.id, error: handsOverError()});
        }
        entry.users.ended();
        return;
      case 'start_errand':
        entry.startErrand?.();
        return;
      case 'ready':
        this.#notifyReady(entry);
        return;
      case 'confirm':
        // Two turns: by then, events about processes that ended before this turn have arrived.
        setImmediate(() => setImmediate(() => this.give(entry, {type: 'confirm'})));
        return;
      case 'fail':
        this.#parts.metrics.count('svc_wake_failures_total');
        for (const router of entry.users.refuse()) {
          this.#parts.sendToRouter(router, {
            type: 'worker_failed',
            tenant: entry.id,
            error: effect.error,
            retryAfterS: Math.max(1, Math.ceil(effect.retryAfterMs / 1000)),
          });
        }
        return;
      case 'release':
        this.#release(entry);
        return;
      case 'give_up':
        for (const router of entry.users.beginMove()) {
          this.#parts.sendToRouter(router, {type: 'give_up', tenant: entry.id, error: effect.error});
        }
        this.#later(entry, 'given_up', effect.withinMs);
        this.#moveOn(entry);
        return;
      case 'close':
        entry.worker?.child.send({type: 'close'});
        entry.worker?.child.killAfter(DRAIN_MS);
        return;
      case 'kill':
        entry.worker?.child.kill();
        return;
      case 'store':
        this.#store(entry, effect.nextDueMs);
        return;
      case 'later':
        this.#later(entry, effect.input, effect.afterMs);
        return;
      case 'remove':
        if (entry.laterTimer !== null) clearTimeout(entry.laterTimer);
        entry.crashes?.end();
        entry.onRemovable?.();
        return;
      default:
        unreachable(effect);
    }
  }

  /** Announces the worker to the waiting routers, once the last crash has been attributed. */
  #notifyReady(entry: TenantEntry): void {
    entry.isReadyPending = entry.crashes?.isOpen === true;
    if (entry.isReadyPending) return;
    const {remote} = entry;
    const message: SupervisorToRouter =
      remote === null ? {type: 'worker_ready', address: addressOf(entry)} : {type: 'served_elsewhere', address: remote};
    for (const router of entry.users.notify()) this.#parts.sendToRouter(router, message);
  }

  /**
   * Requests every router that uses the worker to release it; if there is none, and none is about to use it, it is
   * idle.
   */
  #release(entry: TenantEntry): void {
    if (entry.users.waitingRouters.size > 0) {
      this.#released(entry, true);
      return;
    }
    const routers = entry.users.beginRelease();
    for (const router of routers) this.#parts.sendToRouter(router, {type: 'release', tenant: entry.id});
    if (routers.length === 0) this.#released(entry, false);
  }

  /**
   * All routers have answered. If the last request made the worker stay awake, as one that creates a sandbox does, the
   * worker's message about it was sent before that answer, and has arrived two turns later.
   */
  #released(entry: TenantEntry, busy: boolean): void {
    const give = (): void => {
      if (entry.users.isReleasing) return; // a second release, because a router ended meanwhile
      // A router that requested the worker meanwhile was notified of it, so the worker stays.
      const isBusy = busy || entry.users.notified.size > 0;
      this.give(entry, {type: 'released', busy: isBusy, inUse: entry.inUseUntilMs > this.#parts.now()});
    };
    if (busy) give();
    else setImmediate(() => setImmediate(give));
  }

  #startWorker(entry: TenantEntry, fresh: boolean): void {
    entry.wakingSinceMs = this.#parts.now();
    this.#marks.awake(entry);
    this.#assignments.start(entry, fresh);
  }

  #workerEnded(entry: TenantEntry, {worker, ranCode, ...end}: AssignmentEnd): void {
    const {lifecycle} = entry;
    const isEnding = lifecycle.state === 'closing' || lifecycle.state === 'pausing';
    const isClosed = lifecycle.state === 'deleting' || (isEnding && lifecycle.stored);
    const expected = isClosed || entry.needsIsolates;
    if (entry.needsIsolates) this.#log.info('a tenant needs a worker that runs code', {tenant: entry.id});
    // It did not report whether its tenant has code by now.
    if (!isClosed && ranCode) this.#parts.code.is(entry, true);
    if (!expected && this.#onDrained === null) {
      this.#parts.metrics.count('svc_process_deaths_total', {process: 'worker'});
      this.#log.warn('a worker ended unexpectedly', {
        tenant: entry.id,
        state: lifecycle.state,
        ...end,
      });
    }
    const {calls, unheard} = entry.users.ended();
    const dueMs = isClosed ? entry.closedDueMs : undefined;
    entry.closedDueMs = undefined;
    this.give(entry, {type: 'ended', error: entry.openError});
    if (dueMs !== undefined && entry.lifecycle.state === 'asleep') this.#parts.slept(entry.id, dueMs);
    if (!expected && (calls.length > 0 || unheard.size > 0)) {
      entry.crashes ??= new Crashes(
        () => performance.now(),
        verdict => this.#judged(entry, verdict),
      );
      entry.crashes.died(worker, calls, unheard);
    }
    this.#checkDrained();
  }

  /** The process of an errand has ended. */
  errandEnded(entry: TenantEntry): void {
    entry.worker = null;
    this.give(entry, {type: 'ended', error: null});
    this.#checkDrained();
  }

  /** The last crash has been attributed. */
  #judged(entry: TenantEntry, {isAttributed, refused}: Verdict): void {
    for (const refusal of refused) this.#log.error('a call ended its worker too often', {tenant: entry.id, ...refusal});
    const suspects = entry.crashes?.suspects() ?? null;
    if (suspects !== null) this.#parts.sendToRouters({type: 'suspects', tenant: entry.id, ...suspects});
    if (isAttributed) this.give(entry, {type: 'held'});
    if (entry.isReadyPending && SERVING.has(entry.lifecycle.state)) this.#notifyReady(entry);
  }

  /** The tenant was resumed: its due work is late. */
  resumed(entry: TenantEntry): void {
    if (entry.isMarkedAwake) this.give(entry, {type: 'want', requested: false}, 'operator');
    this.#due.arm();
  }

  #store(entry: TenantEntry, nextDueMs: number | null): void {
    this.#marks.asleep(entry, nextDueMs);
    entry.closedDueMs = nextDueMs;
    if (this.#onDrained === null && this.grants === null) this.#due.arm();
  }

  #later(entry: TenantEntry, input: 'want' | 'rested' | 'given_up', afterMs: number): void {
    if (this.#onDrained !== null) return;
    if (entry.laterTimer !== null) clearTimeout(entry.laterTimer);
    entry.laterTimer = setTimeout(() => {
      entry.laterTimer = null;
      this.give(entry, input === 'want' ? {type: 'want', requested: false} : {type: input}, 'crash');
    }, afterMs);
  }

  #checkDrained(): void {
    if (this.#onDrained !== null && this.#slots.occupied.size === 0) this.#onDrained();
  }
}

function addressOf(entry: TenantEntry): WorkerAddress {
  assert(entry.address !== null, `tenant ${entry.id} has a worker that listens`);
  return entry.address;
}
