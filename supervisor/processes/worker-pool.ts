/**
 * Worker processes before they have a tenant. Spares are started in advance, so that a wake does not wait for a process
 * start.
 *
 * Wakes have priority: no spare is started while any worker opens its tenant, and then spares are started one after
 * another, because a starting process takes CPU time from those that serve.
 */

import {Answers} from '../../shared/answers.ts';
import {
  type ErrandSettings,
  LAST_REPORT_ID,
  type SupervisorToWorker,
  type TenantSettings,
  type WorkerToSupervisor,
  type WorkerUser,
} from '../../shared/ipc/control.ts';
import type {Errand} from '../../shared/ipc/errand.ts';
import type {Logger} from '../../shared/log.ts';
import {type FunctionCount, functionCountsIn} from '../../shared/metrics/function-counts.ts';
import {DOCUMENT_WORKER_FLAGS, ISOLATE_FLAGS, WARM_FUNCTIONS} from '../../shared/node-flags.ts';
import type {WorkerGroups} from '../confinement/groups.ts';
import {endAllOf} from '../confinement/leftovers.ts';
import {
  BACKUP_FLUSH_MS,
  FILE_HOLD_ANSWER_MS,
  METRICS_TIMEOUT_MS,
  SPARE_AFTER_CODE_MS,
  SPARE_PAUSE_MS_MAX,
  SPARE_PAUSE_MS_MIN,
  WORKER_MESSAGE_MS,
  WORKER_MESSAGES_AT_ONCE,
} from '../limits.ts';
import {Child, type ChildEnd, type KillReason} from './child.ts';
import type {KillRate} from './kill-rate.ts';
import {workerMessageIn} from './worker-message.ts';

/** Messages of a worker that are not answers to our requests. */
export type WorkerMessage =
  | Exclude<WorkerToSupervisor, {type: 'metrics' | 'copies_flushed' | 'file_held' | 'file_released'}>
  | {type: 'functions_counted'; counts: FunctionCount[]};

export type WorkerEvents = {
  onMessage: (message: WorkerMessage) => void;
  onEnd: (end: ChildEnd) => void;
};

export type PoolSettings = {
  /** The Node executable. */
  executable: string;
  entry: string;
  env: Record<string, string>;
  /** Environment of workers that run code, in addition to `env`. */
  codeEnv: Record<string, string>;
  /** The command in front of a worker's executable. */
  confinement: readonly string[];
  /** Each worker has one of these groups; null: the machine does not support them. */
  groups: WorkerGroups | null;
  sparesWanted: number;
  /**
   * Called before a spare is started: whether any tenant has code, so that spares must be of the kind that serves every
   * tenant.
   */
  sparesRunCode: () => boolean;
  /** Where spares practise opening a tenant (warm-up). */
  warmUpDirectory: () => string;
  rate: KillRate;
  onKill: (reason: KillReason) => void;
  /** Some processes of this user could not be ended. */
  onUnended: (user: number) => void;
};

/**
 * Source maps are off: reading them costs a cold start 8 ms, and the bundle keeps lines and names, so stack traces are
 * clear enough.
 */
function flagsOf(runsCode: boolean): readonly string[] {
  return runsCode ? ISOLATE_FLAGS : DOCUMENT_WORKER_FLAGS;
}

type WorkerKind = {
  /** It can hold isolates (0063), so it serves every tenant; a worker that cannot starts in half the time. */
  runsCode: boolean;
  /** Arguments of the warm-up; none: no warm-up. */
  args?: readonly string[];
};

/** A worker process and, once it has a tenant, the receiver of its events. */
export class Worker {
  readonly runsCode: boolean;
  readonly child: Child<SupervisorToWorker, WorkerToSupervisor>;
  readonly #flushes = new Answers<true>();
  readonly #reports = new Answers<string>();
  readonly #holds = new Answers<number>();
  readonly #releases = new Answers<boolean>();
  readonly #log: Logger;
  readonly #onUnended: (user: number) => void;
  readonly #groups: WorkerGroups | null;
  /** Its cgroup, including all its children; null: it has none. */
  readonly #group: string | null;
  #events: WorkerEvents;
  #isOpening = false;
  #hasErrand = false;
  /** Messages that it has sent and can send only once. */
  readonly #said = new Set<WorkerToSupervisor['type']>();
  /** Each message advances this by WORKER_MESSAGE_MS; if it is in the future, there are too many. */
  #spentUntilMs = Number.NEGATIVE_INFINITY;
  #lastReport: string | null = null;
  /** The user that it switched to with its tenant. */
  #user: WorkerUser | null = null;
  #tenant: string | undefined;

  constructor(settings: PoolSettings, log: Logger, events: WorkerEvents, {runsCode, args = []}: WorkerKind) {
    this.#events = events;
    this.runsCode = runsCode;
    this.#log = log;
    this.#onUnended = settings.onUnended;
    this.#groups = settings.groups;
    this.child = new Child<SupervisorToWorker, WorkerToSupervisor>({
      kind: 'worker',
      executable: settings.executable,
      tenant: () => this.#tenant,
      confinement: settings.confinement,
      entry: settings.entry,
      args,
      nodeFlags: flagsOf(runsCode),
      env: runsCode ? {...settings.env, ...settings.codeEnv} : settings.env,
      log,
      rate: settings.rate,
      onKill: settings.onKill,
      messageIn: workerMessageIn,
      onMessage: message => this.#received(message),
      onEnd: end => {
        this.#reports.end();
        this.#flushes.end();
        this.#holds.end();
        this.#releases.end();
        void this.#ended(end);
      },
    });
    const {pid} = this.child;
    this.#group = pid === undefined ? null : (this.#groups?.enter(pid) ?? null);
  }

  /** Its metrics when it closed its tenant, as JSON; null: not closed. */
  get lastReport(): string | null {
    return this.#lastReport;
  }

  /** Its metrics, as JSON; null: it does not answer in time. */
  report(): Promise<string | null> {
    return this.#reports.ask(METRICS_TIMEOUT_MS, id => this.child.send({type: 'metrics', id}));
  }

  /** Resolves when every commit that is durable now is in the spool, or the worker does not answer in time. */
  async flushCopies(): Promise<void> {
    await this.#flushes.ask(BACKUP_FLUSH_MS, id => this.child.send({type: 'copies_flush', id}));
  }

  /** The bytes of its log that make one commit with its file, until the release; null: it does not answer, or cannot. */
  holdFile(): Promise<number | null> {
    return this.#holds.ask(FILE_HOLD_ANSWER_MS, id => this.child.send({type: 'file_hold', id}));
  }

  /** @returns whether the file was held all the time; null: it does not answer in time */
  releaseFile(): Promise<boolean | null> {
    return this.#releases.ask(FILE_HOLD_ANSWER_MS, id => this.child.send({type: 'file_release', id}));
  }

  /** Sends it its tenant. It may have started long ago, or may still be starting. */
  open(settings: TenantSettings): void {
    this.#isOpening = true;
    this.#user = settings.user;
    this.#tenant = settings.tenant;
    this.child.starts();
    this.child.send({type: 'open', settings});
  }

  /** Sends it its errand. Its checks can block it as an opening does. */
  runErrand(settings: ErrandSettings, errand: Errand): void {
    this.#hasErrand = true;
    this.#user = settings.user;
    this.#tenant = settings.tenant;
    this.child.starts();
    this.child.send({type: 'errand', settings, errand});
  }

  /** It has ended when no process of its group or its user runs any more. */
  async #ended(end: ChildEnd): Promise<void> {
    const group = this.#group === null ? undefined : this.#groups?.end(this.#group);
    if (this.#user !== null) {
      const {id} = this.#user;
      const {left} = await endAllOf(uid => uid === id);
      if (left.length > 0) {
        this.#log.error('processes left behind by a worker could not be ended', {user: id, pids: left});
        this.#onUnended(id);
      }
    }
    if (group !== undefined) await group;
    this.#events.onEnd(end);
  }

  #received(message: WorkerToSupervisor): void {
    const fault = this.#faultOf(message);
    if (fault !== null) {
      this.child.disbelieve(fault);
      return;
    }
    if (message.type === 'opened' || (message.type === 'spare' && !this.#isOpening)) this.child.serves();
    if (message.type === 'metrics') {
      if (message.id === LAST_REPORT_ID) this.#lastReport = message.report;
      this.#reports.settle(message.id, message.report);
      this.#functionsCounted(message.functions);
    } else if (message.type === 'copies_flushed') this.#flushes.settle(message.id, true);
    else if (message.type === 'file_held') this.#holds.settle(message.id, message.logBytes);
    else if (message.type === 'file_released') this.#releases.settle(message.id, message.isWhole);
    else this.#events.onMessage(message);
  }

  /** Not only those that came in time, because each call is reported once. */
  #functionsCounted(text: string): void {
    const counts = functionCountsIn(text);
    if (counts === null) this.child.disbelieve('its report of functions is malformed');
    else if (counts.length > 0) this.#events.onMessage({type: 'functions_counted', counts});
  }

  /** Null: the message is valid in the present state. */
  #faultOf({type}: WorkerToSupervisor): string | null {
    const nowMs = performance.now();
    const earnedMs = WORKER_MESSAGE_MS * WORKER_MESSAGES_AT_ONCE;
    this.#spentUntilMs = Math.max(this.#spentUntilMs, nowMs - earnedMs) + WORKER_MESSAGE_MS;
    if (this.#spentUntilMs > nowMs) return 'it says too much';
    const isOfErrand = type === 'errand_done' || type === 'errand_failed';
    if (type !== 'opened' && type !== 'closed' && !isOfErrand) return null;
    if (this.#said.has(type) || !(isOfErrand ? this.#hasErrand : this.#isOpening))
      return `it says "${type}" out of turn`;
    this.#said.add(type);
    return null;
  }

  handOver(events: WorkerEvents): void {
    this.#events = events;
  }
}

type TakenWorker = {worker: Worker; kind: 'spare' | 'cold'};

export class WorkerPool {
  readonly #settings: PoolSettings;
  readonly #log: Logger;
  readonly #ready: Worker[] = [];
  #starting: Worker | null = null;
  #pauseMs = 0;
  #pauseTimer: NodeJS.Timeout | null = null;
  #opening = 0;
  /** The tenant that was opened last has code, so the next one can too. */
  #expectsCode = true;
  #isClosed = false;

  constructor(settings: PoolSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
  }

  get spares(): number {
    return this.#ready.length;
  }

  /** Includes those that are starting. */
  sparePids(): number[] {
    const all = this.#starting === null ? this.#ready : [...this.#ready, this.#starting];
    return all.flatMap(({child}) => child.pid ?? []);
  }

  /**
   * Takes a worker for a tenant: the oldest spare, else a spare that is starting (ahead of a new process), else a new
   * process. `opened` must be called when it has opened the tenant or ended.
   * @param fresh do not use a spare
   * @param runsCode the tenant has code; otherwise workers that run no code are preferred
   */
  take({fresh, runsCode}: {fresh: boolean; runsCode: boolean}, events: WorkerEvents): TakenWorker {
    this.#opening++;
    const spare = fresh ? null : this.#takeReady(runsCode);
    const worker = spare ?? (fresh ? null : this.#takeStarting(runsCode));
    if (worker === null) return {worker: new Worker(this.#settings, this.#log, events, {runsCode}), kind: 'cold'};
    worker.handOver(events);
    return {worker, kind: spare === null ? 'cold' : 'spare'};
  }

  /** A process of its own for an errand; the spares stay for wakes. */
  forErrand(runsCode: boolean, events: WorkerEvents): Worker {
    return new Worker(this.#settings, this.#log, events, {runsCode});
  }

  #takeReady(runsCode: boolean): Worker | null {
    const same = this.#ready.findIndex(worker => worker.runsCode === runsCode);
    if (same !== -1) return this.#ready.splice(same, 1)[0]!;
    return runsCode ? null : (this.#ready.shift() ?? null);
  }

  #takeStarting(runsCode: boolean): Worker | null {
    const worker = this.#starting;
    if (worker === null || (runsCode && !worker.runsCode)) return null;
    this.#starting = null;
    return worker;
  }

  /**
   * A worker that was taken has opened its tenant, or has ended.
   * @param hasCode of the tenant: its first query can wait for a further process, which the next spare would delay. Null:
   * the worker has ended
   */
  opened(hasCode: boolean | null): void {
    this.#opening--;
    this.#expectsCode = hasCode ?? this.#expectsCode;
    if (hasCode === true) this.#pause(SPARE_AFTER_CODE_MS);
    else this.refill();
  }

  refill(): void {
    if (this.#isClosed || this.#opening > 0 || this.#starting !== null || this.#pauseTimer !== null) return;
    const runsCode = this.#settings.sparesRunCode();
    const useful = this.#ready.filter(worker => worker.runsCode || !runsCode).length;
    if (useful >= this.#settings.sparesWanted) return;
    if (this.#ready.length >= this.#settings.sparesWanted) this.#dropSpare();
    const events: WorkerEvents = {
      onMessage: message => {
        if (message.type === 'spare' && this.#starting === worker) this.#started(worker);
      },
      onEnd: end => this.#ended(worker, end),
    };
    const worker: Worker = new Worker(this.#settings, this.#log, events, {
      runsCode,
      args: [this.#settings.warmUpDirectory(), ...(runsCode && this.#expectsCode ? [WARM_FUNCTIONS] : [])],
    });
    this.#starting = worker;
  }

  /** Replaces a spare that runs no code by one that serves every tenant. */
  #dropSpare(): void {
    const [spare] = this.#ready.splice(
      this.#ready.findIndex(worker => !worker.runsCode),
      1,
    );
    spare?.handOver({onMessage: () => undefined, onEnd: () => undefined});
    spare?.child.kill();
  }

  /** Ends the spares and starts no more; `take` still works, with new processes. */
  close(): void {
    this.#isClosed = true;
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    this.#takeStarting(false)?.child.kill();
    for (const worker of this.#ready.splice(0)) worker.child.kill();
  }

  #started(worker: Worker): void {
    this.#starting = null;
    this.#pauseMs = 0;
    this.#ready.push(worker);
    this.refill();
  }

  #ended(worker: Worker, end: ChildEnd): void {
    if (this.#starting === worker) this.#starting = null;
    const at = this.#ready.indexOf(worker);
    if (at !== -1) this.#ready.splice(at, 1);
    if (this.#isClosed) return;
    this.#log.warn('a spare worker ended', {pid: worker.child.pid, ...end});
    this.#pauseMs = Math.min(SPARE_PAUSE_MS_MAX, Math.max(SPARE_PAUSE_MS_MIN, this.#pauseMs * 2));
    this.#pause(this.#pauseMs);
  }

  #pause(ms: number): void {
    if (this.#isClosed) return;
    this.#pauseTimer ??= setTimeout(() => {
      this.#pauseTimer = null;
      this.refill();
    }, ms);
  }
}
