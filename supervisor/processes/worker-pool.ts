/**
 * Worker processes before they have a tenant. Spares are started ahead, so that a wake does not pay for a process start.
 *
 * A wake comes first: no spare is started while any worker opens its tenant, and then they are started one after another,
 * because a starting process takes the processor from those that serve.
 */

import {Answers} from '../../shared/answers.ts';
import {
  LAST_REPORT_ID,
  type SupervisorToWorker,
  type TenantSettings,
  type WorkerToSupervisor,
  type WorkerUser,
} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import {FROZEN_FLAGS, ISOLATE_FLAGS} from '../../shared/node-flags.ts';
import type {WorkerGroups} from '../confinement/groups.ts';
import {endAllOf} from '../confinement/leftovers.ts';
import {
  METRICS_TIMEOUT_MS,
  SPARE_PAUSE_MS_MAX,
  SPARE_PAUSE_MS_MIN,
  WORKER_MESSAGE_MS,
  WORKER_MESSAGES_AT_ONCE,
} from '../limits.ts';
import {Child, type ChildEnd, type KillReason} from './child.ts';
import type {KillPace} from './kill-pace.ts';
import {workerMessageIn} from './worker-message.ts';

/** What a worker says that is not an answer to a question of ours. */
export type WorkerMessage = Exclude<WorkerToSupervisor, {type: 'metrics'}>;

export type WorkerEvents = {
  onMessage: (message: WorkerMessage) => void;
  onEnd: (end: ChildEnd) => void;
};

export type PoolSettings = {
  /** Node. */
  executable: string;
  entry: string;
  env: Record<string, string>;
  /** Of workers that run code, in addition to `env`. */
  codeEnv: Record<string, string>;
  /** What stands before a worker's executable. */
  confinement: readonly string[];
  /** Of which each worker has one; null: the machine gives none. */
  groups: WorkerGroups | null;
  sparesWanted: number;
  /** Asked before a spare is started: a tenant has code, so spares have to be of the kind that serves every tenant. */
  sparesRunCode: () => boolean;
  /** Where spares rehearse the open of a tenant. */
  rehearsalDirectory: () => string;
  pace: KillPace;
  onKill: (reason: KillReason) => void;
  /** Processes of this user are left. */
  onUnended: (user: number) => void;
};

/** Source maps are left off here: reading them costs a cold start 8 ms, and the bundle keeps lines and names, so that a stack trace says enough. */
function flagsOf(runsCode: boolean): readonly string[] {
  return runsCode ? ISOLATE_FLAGS : FROZEN_FLAGS;
}

type WorkerKind = {
  /** It can hold isolates (0063). It serves every tenant; one that cannot starts in half the time. */
  runsCode: boolean;
  /** Where it rehearses; none: it does not. */
  args?: readonly string[];
};

/** A worker process and, once it has a tenant, who hears of it. */
export class Worker {
  readonly runsCode: boolean;
  readonly child: Child<SupervisorToWorker, WorkerToSupervisor>;
  readonly #reports = new Answers<string>();
  readonly #log: Logger;
  readonly #onUnended: (user: number) => void;
  readonly #groups: WorkerGroups | null;
  /** Its cgroup, with all that it starts; null: it has none. */
  readonly #group: string | null;
  #events: WorkerEvents;
  #isOpening = false;
  /** What it says once. */
  readonly #said = new Set<'opened' | 'closed'>();
  /** A message moves it on by WORKER_MESSAGE_MS; beyond the present there are too many. */
  #spentUntilMs = Number.NEGATIVE_INFINITY;
  #lastReport: string | null = null;
  /** What it became with its tenant. */
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
      pace: settings.pace,
      onKill: settings.onKill,
      messageIn: workerMessageIn,
      onMessage: message => this.#received(message),
      onEnd: end => {
        this.#reports.end();
        void this.#ended(end);
      },
    });
    const {pid} = this.child;
    this.#group = pid === undefined ? null : (this.#groups?.enter(pid) ?? null);
  }

  /** What it counted when it closed its tenant, as JSON; null: it has not. */
  get lastReport(): string | null {
    return this.#lastReport;
  }

  /** What it counts, as JSON; null: it does not say in time. */
  report(): Promise<string | null> {
    return this.#reports.ask(METRICS_TIMEOUT_MS, id => this.child.send({type: 'metrics', id}));
  }

  /** Tells it its tenant. It may have started long ago, or not yet. */
  open(settings: TenantSettings): void {
    this.#isOpening = true;
    this.#user = settings.user;
    this.#tenant = settings.tenant;
    this.child.starts();
    this.child.send({type: 'open', settings});
  }

  /** It has ended when nothing of its group or its user runs any more. */
  async #ended(end: ChildEnd): Promise<void> {
    const group = this.#group === null ? undefined : this.#groups?.end(this.#group);
    if (this.#user !== null) {
      const {id} = this.#user;
      const {left} = await endAllOf(uid => uid === id);
      if (left.length > 0) {
        this.#log.error('what a worker left behind could not be ended', {user: id, pids: left});
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
    } else this.#events.onMessage(message);
  }

  /** Null: a worker of ours says this now. */
  #faultOf({type}: WorkerToSupervisor): string | null {
    const nowMs = performance.now();
    const earnedMs = WORKER_MESSAGE_MS * WORKER_MESSAGES_AT_ONCE;
    this.#spentUntilMs = Math.max(this.#spentUntilMs, nowMs - earnedMs) + WORKER_MESSAGE_MS;
    if (this.#spentUntilMs > nowMs) return 'it says too much';
    if (type !== 'opened' && type !== 'closed') return null;
    if (this.#said.has(type) || !this.#isOpening) return `it says "${type}" out of turn`;
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
  #isClosed = false;

  constructor(settings: PoolSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
  }

  get spares(): number {
    return this.#ready.length;
  }

  /** Of those that start, too. */
  sparePids(): number[] {
    const all = this.#starting === null ? this.#ready : [...this.#ready, this.#starting];
    return all.flatMap(({child}) => child.pid ?? []);
  }

  /**
   * A worker for a tenant: the oldest spare, else one that is starting (it is further than a new one would be), else a new
   * process. `opened` must be called when it has opened or ended.
   * @param fresh not one that waits already @param runsCode the tenant has code; without, a worker without comes first
   */
  take({fresh, runsCode}: {fresh: boolean; runsCode: boolean}, events: WorkerEvents): TakenWorker {
    this.#opening++;
    const spare = fresh ? null : this.#takeReady(runsCode);
    const worker = spare ?? (fresh ? null : this.#takeStarting(runsCode));
    if (worker === null) return {worker: new Worker(this.#settings, this.#log, events, {runsCode}), kind: 'cold'};
    worker.handOver(events);
    return {worker, kind: spare === null ? 'cold' : 'spare'};
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

  /** A worker that was taken serves its tenant, or has ended. */
  opened(): void {
    this.#opening--;
    this.refill();
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
      args: [this.#settings.rehearsalDirectory()],
    });
    this.#starting = worker;
  }

  /** One that runs no code gives its place to one that serves every tenant. */
  #dropSpare(): void {
    const [spare] = this.#ready.splice(
      this.#ready.findIndex(worker => !worker.runsCode),
      1,
    );
    spare?.handOver({onMessage: () => undefined, onEnd: () => undefined});
    spare?.child.kill();
  }

  /** Ends the spares and starts no others; `take` still works, with new processes. */
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
    this.#pauseTimer ??= setTimeout(() => {
      this.#pauseTimer = null;
      this.refill();
    }, this.#pauseMs);
  }
}
