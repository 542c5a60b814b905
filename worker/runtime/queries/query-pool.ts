/**
 * Assigns queries to threads. Queries that arrive while a thread is busy are sent to it together, so the message costs
 * little. Under load, a second batch already waits at the thread when it finishes the first, so it never waits for the
 * main thread.
 *
 * A batch lasts QUERY_SLICE_MS. If a query runs longer, the main thread takes back the other queries of its batch and
 * gives them to another thread. Queries that were already done are run again, which costs less than reporting each one;
 * the first result counts. So a query in a loop, or one that is legitimately slow, delays its neighbours by two polls
 * of QUERY_POLL_MS, not by its own run time.
 *
 * Functions that were recently slow run alone, and never on all threads: one thread is kept for the others.
 */
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {errorOfThread} from '../../../engine/storage/damage.ts';
import {overloaded, tenantClosing} from '../../../shared/errors.ts';
import type {Execution} from '../execution.ts';
import {
  FUNCTION_IDLE_MS,
  FUNCTION_LOAD_MS_MAX,
  QUERY_BATCH_MAX,
  QUERY_LOOK_AHEAD_MIN,
  QUERY_POLL_MS,
  QUERY_QUEUE_MAX,
  QUERY_SLOW_MS,
  QUERY_SLOW_PATHS_MAX,
  QUERY_THREADS_MAX,
  QUERY_WALL_MS_MAX,
  QUERY_WEDGED_MS,
} from '../limits.ts';
import type {ProcessMemory} from '../process-memory.ts';
import {holdsUp, NOT_SEEN, type Running, seen} from './held-up.ts';
import {ExecutionPacker} from './packed-executions.ts';
import type {PackedRun} from './packed-run.ts';
import {
  PROGRESS_FIRST,
  PROGRESS_SLOTS,
  PROGRESS_TAKEN,
  PROGRESS_THREAD,
  type QueryBatch,
  type QueryBatchResult,
  type QueryTask,
  type QueryThreadSettings,
  REST,
  WARM,
} from './query-batch.ts';
import {TaskThread} from './task-thread.ts';
import {cpuMsOf} from './thread-time.ts';

type Waiting = {
  execution: Execution;
  resolve: (result: PackedRun) => void;
  reject: (error: unknown) => void;
  /** Answered, perhaps while it waits to be run again. */
  isDone: boolean;
};

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'query.thread.js');

type ThreadSettings = {databasePath: string | null; threadFile: string; idleMs: number};

export class QueryPool {
  readonly #settings: ThreadSettings;
  readonly #memory: ProcessMemory;
  readonly #onWedged: () => void;
  readonly #threads: QueryThread[] = [];
  #quick: Waiting[] = [];
  #slow: Waiting[] = [];
  /** Groups of queries that must each read one snapshot. */
  #whole: Waiting[][] = [];
  /** Functions that blocked a thread → until when they count as slow. */
  readonly #slowUntilMs = new Map<string, number>();
  #pollTimer: NodeJS.Timeout | null = null;
  #scheduled = false;
  #closed = false;

  /**
   * @param databasePath null: `open` names it before the first query
   * @param onWedged a thread hangs in a V8 call that no time-out can interrupt: only the end of the process frees it
   * @param idleMs a thread without work releases its isolates after this time
   */
  constructor(
    databasePath: string | null,
    memory: ProcessMemory,
    onWedged: () => void,
    threadFile = THREAD,
    idleMs = FUNCTION_IDLE_MS,
  ) {
    this.#memory = memory;
    memory.add(this);
    this.#onWedged = onWedged;
    this.#settings = {databasePath, threadFile, idleMs};
  }

  get underWay(): number {
    const waiting = this.#quick.length + this.#slow.length + this.#whole.length;
    return this.#threads.reduce((sum, {underWay}) => sum + underWay, waiting);
  }

  open(databasePath: string): void {
    this.#settings.databasePath = databasePath;
    for (const thread of this.#threads) thread.open(databasePath);
  }

  /**
   * Starts a thread before the first query needs it. Its idle time begins when the file is known. Resolves when it has an
   * isolate, or failed to make one.
   */
  async warm(): Promise<void> {
    if (!this.#closed && this.#threads.length === 0) await this.#newThread()?.warm();
  }

  /** @throws session.overloaded 503; session.worker_unavailable 503 if it is closed */
  run(execution: Execution): Promise<PackedRun> {
    if (this.#closed) throw tenantClosing();
    if (this.#quick.length + this.#slow.length >= QUERY_QUEUE_MAX) {
      throw overloaded('too many queries are waiting; try again shortly');
    }
    this.#memory.check();
    return new Promise((resolve, reject) => {
      this.#queueOf(execution).push({execution, resolve, reject, isDone: false});
      this.#schedule();
    });
  }

  /** Runs all of these in one snapshot, concurrently with other queries. @throws as `run` */
  async runTogether(executions: readonly Execution[]): Promise<PackedRun[]> {
    if (this.#closed) throw tenantClosing();
    if (executions.length === 0) return [];
    if (this.#whole.length >= QUERY_QUEUE_MAX) throw overloaded('too many queries are waiting; try again shortly');
    this.#memory.check();
    const runs: Promise<PackedRun>[] = [];
    const waiting: Waiting[] = [];
    for (const execution of executions) {
      runs.push(new Promise((resolve, reject) => waiting.push({execution, resolve, reject, isDone: false})));
    }
    this.#whole.push(waiting);
    this.#schedule();
    return await Promise.all(runs);
  }

  releaseIdle(unusedMs: number): void {
    for (const thread of this.#threads) thread.releaseIdle(unusedMs);
  }

  /** Waiting queries are refused; running queries complete. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#dispatch();
    await Promise.all(this.#threads.map(thread => thread.close()));
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
  }

  #queueOf({path}: Execution): Waiting[] {
    const untilMs = this.#slowUntilMs.get(path);
    if (untilMs === undefined) return this.#quick;
    if (performance.now() < untilMs) return this.#slow;
    this.#slowUntilMs.delete(path);
    return this.#quick;
  }

  /** Dispatches at the end of the turn, so that queries that arrive together are sent together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    if (this.#closed) {
      const waiting = [...this.#quick.splice(0), ...this.#slow.splice(0), ...this.#whole.splice(0).flat()];
      for (const one of waiting) settle(one, () => one.reject(tenantClosing()));
      return;
    }
    this.#quick = this.#quick.filter(({isDone}) => !isDone);
    this.#slow = this.#slow.filter(({isDone}) => !isDone);
    while (this.#slow.length + this.#whole.length > 0 && this.#mayHold) {
      const thread = this.#threads.findLast(({underWay}) => underWay === 0) ?? this.#newThread();
      if (thread === null) break;
      const whole = this.#whole.shift();
      if (whole !== undefined) this.#send(thread, whole, 'whole');
      else this.#send(thread, this.#slow.splice(0, 1), 'slow');
    }
    while (this.#quick.length > 0) {
      const depth = this.#quick.length >= QUERY_LOOK_AHEAD_MIN ? 2 : 1;
      const running = this.#threads.filter(({isBlocked}) => !isBlocked);
      const thread = running.length === 0 ? this.#newThread() : running.find(({underWay}) => underWay < depth);
      if (thread == null) break;
      this.#send(thread, this.#quick.splice(0, QUERY_BATCH_MAX), 'quick');
    }
  }

  /** One thread is kept for quick queries. */
  get #mayHold(): boolean {
    return this.#threads.filter(({isBlocked}) => isBlocked).length < QUERY_THREADS_MAX - 1;
  }

  #newThread(): QueryThread | null {
    if (this.#threads.length >= QUERY_THREADS_MAX) return null;
    const thread = new QueryThread(this.#settings);
    this.#threads.push(thread);
    return thread;
  }

  #send(thread: QueryThread, waiting: Waiting[], kind: Batch['kind']): void {
    const runs = kind === 'whole' ? waiting.length : 1;
    const mostMs = runs * (FUNCTION_LOAD_MS_MAX + QUERY_WALL_MS_MAX) + QUERY_WEDGED_MS;
    const wedged = setTimeout(this.#onWedged, thread.underWay === 0 ? mostMs : 2 * mostMs);
    const {env} = waiting.at(-1)!.execution;
    const packer = new ExecutionPacker();
    for (const {execution} of waiting) packer.add(execution);
    const {args, ...executions} = packer.take();
    const batch = thread.begin(waiting, kind);
    this.#poll();
    thread
      .run({env, executions, args, isWhole: kind === 'whole', slot: batch.slot})
      .then(
        results => this.#answered(batch, results),
        error => {
          // Queries that were taken back are on another thread.
          for (const one of batch.isTaken ? batch.kept : waiting) settle(one, () => one.reject(error));
        },
      )
      .finally(() => {
        clearTimeout(wedged);
        thread.end(batch);
        this.#dispatch();
      });
  }

  /** A batch that has lasted long enough ends before its last query: the rest continues at once. */
  #answered({waiting, kind, isTaken, beganMs}: Batch, results: QueryBatchResult): void {
    for (const [i, result] of results.entries()) {
      const one = waiting[i]!;
      if ('refused' in result) settle(one, () => one.reject(errorOfThread(result.refused)));
      else settle(one, () => one.resolve(result));
    }
    if (!isTaken) this.#again(waiting.slice(results.length));
    // The machine can have been the cause of the slowness.
    if (kind === 'slow' && performance.now() - beganMs < QUERY_POLL_MS)
      this.#slowUntilMs.delete(waiting[0]!.execution.path);
  }

  #isSlow(path: string): void {
    this.#slowUntilMs.delete(path);
    this.#slowUntilMs.set(path, performance.now() + QUERY_SLOW_MS);
    const [oldest] = this.#slowUntilMs.keys();
    if (this.#slowUntilMs.size > QUERY_SLOW_PATHS_MAX) this.#slowUntilMs.delete(oldest!);
  }

  /** Requeues them ahead of those that came later. */
  #again(waiting: readonly Waiting[]): void {
    const left = waiting.filter(({isDone}) => !isDone);
    for (const queue of [this.#quick, this.#slow]) {
      queue.unshift(...left.filter(({execution}) => this.#queueOf(execution) === queue));
    }
  }

  /** While queries run, polls for blocked threads. */
  #poll(): void {
    this.#pollTimer ??= setTimeout(() => {
      this.#pollTimer = null;
      for (const thread of this.#threads) {
        const held = thread.poll();
        if (held === null) continue;
        this.#isSlow(held.running.execution.path);
        this.#again(held.others);
      }
      this.#dispatch();
      if (this.#threads.some(({underWay}) => underWay > 0)) this.#poll();
    }, QUERY_POLL_MS);
  }
}

function settle(one: Waiting, how: () => void): void {
  if (one.isDone) return;
  one.isDone = true;
  how();
}

/** A batch that a thread runs, or that waits behind the running one. */
type Batch = {
  waiting: readonly Waiting[];
  /** `quick`: expected to end soon; `slow`: can take long; `whole`: must read one snapshot. */
  kind: 'quick' | 'slow' | 'whole';
  slot: number;
  beganMs: number;
  /** The result of the last poll. */
  running: Running;
  /** The main thread has given its other queries to another thread. */
  isTaken: boolean;
  /** The query that was not given away, because it was running. */
  kept: Waiting[];
};

/** One thread, started on first use, ended when it is idle, and started again. */
class QueryThread {
  readonly #thread: TaskThread<QueryTask, QueryBatchResult>;
  readonly #idleMs: number;
  readonly #progress = new Int32Array(new SharedArrayBuffer(4 * PROGRESS_SLOTS));
  /** For each start of the thread, which then opens the file if it is known. */
  readonly #settings: QueryThreadSettings;
  /** The running batch, and the one behind it. */
  readonly #batches: Batch[] = [];
  /** When the last batch ended; null: the thread has held no isolates since. */
  #usedMs: number | null = null;
  /** Its last release of isolates, which can still be running. */
  #rests: Promise<unknown> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | null = null;
  #resolveFree: (() => void) | null = null;

  constructor({databasePath, threadFile, idleMs}: ThreadSettings) {
    this.#idleMs = idleMs;
    this.#settings = {databasePath, progress: this.#progress};
    this.#thread = new TaskThread(threadFile, this.#settings);
  }

  /** A failure is reported by the first query, which opens the file if it is not open. */
  open(databasePath: string): void {
    this.#settings.databasePath = databasePath;
    this.#used();
    this.#thread.run({databasePath}).catch(() => undefined);
  }

  get underWay(): number {
    return this.#batches.length;
  }

  /** It runs something that can take long. */
  get isBlocked(): boolean {
    return this.#batches.some(({isTaken, kind}) => isTaken || kind !== 'quick');
  }

  begin(waiting: readonly Waiting[], kind: Batch['kind']): Batch {
    const slot = this.#batches[0]?.slot === 0 ? 1 : 0;
    Atomics.store(this.#progress, slot, 0);
    Atomics.store(this.#progress, PROGRESS_FIRST + slot, 0);
    const batch: Batch = {
      waiting,
      kind,
      slot,
      beganMs: performance.now(),
      running: NOT_SEEN,
      isTaken: false,
      kept: [],
    };
    this.#batches.push(batch);
    return batch;
  }

  end(batch: Batch): void {
    this.#batches.splice(this.#batches.indexOf(batch), 1);
    this.#used();
    if (this.#batches.length === 0) this.#resolveFree?.();
  }

  /** A failure to start is reported by the first query. */
  async warm(): Promise<void> {
    if (this.#settings.databasePath !== null) this.#used();
    await this.#thread.run(WARM).catch(() => undefined);
  }

  #used(): void {
    this.#usedMs = performance.now();
    if (this.#idleTimer !== null) this.#idleTimer.refresh();
    else this.#idleTimer = setTimeout(() => this.#idle(), this.#idleMs).unref();
  }

  run(batch: QueryBatch): Promise<QueryBatchResult> {
    return this.#thread.run(batch);
  }

  /**
   * Whether a query has blocked it since the last poll. If so, takes all other queries from the thread, which notices
   * this when it has finished the current one.
   */
  poll(): {running: Waiting; others: Waiting[]} | null {
    const batch = this.#batches[0];
    if (batch === undefined || batch.isTaken || batch.kind === 'whole') return null;
    const begun = Atomics.load(this.#progress, batch.slot);
    if (begun === 0 || begun > batch.waiting.length) return null;
    const cpuMs = cpuMsOf(Atomics.load(this.#progress, PROGRESS_THREAD));
    batch.running = seen(batch.running, begun, cpuMs);
    const isFirst = Atomics.load(this.#progress, PROGRESS_FIRST + batch.slot) === 1;
    if (!holdsUp(batch.running, isFirst, cpuMs)) return null;
    const [at = 0] = this.#batches.map(({slot}) => Atomics.exchange(this.#progress, slot, PROGRESS_TAKEN));
    for (const taken of this.#batches) taken.isTaken = true;
    const running = batch.waiting[at - 1];
    // Its last query has just ended: the results are in transit.
    if (running === undefined) return null;
    batch.kept.push(running);
    return {running, others: this.#batches.flatMap(({waiting}) => waiting).filter(one => one !== running)};
  }

  releaseIdle(unusedMs: number): void {
    if (this.#usedMs === null || (unusedMs > 0 && this.#batches.length > 0)) return;
    // If this ends the thread, its isolates are freed as well; the next batch starts another.
    if (performance.now() - this.#usedMs >= unusedMs) this.#rest().catch(() => undefined);
  }

  /**
   * It releases its isolates first, and ends when it is still idle as long again: isolated-vm must not have messages
   * left for a thread that has ended.
   */
  #idle(): void {
    if (this.#thread.isBusy) return;
    if (this.#usedMs === null) void this.#thread.end();
    else this.#rest().catch(() => undefined);
  }

  /** When a thread is ended, isolated-vm must not have anything left in it. */
  async close(): Promise<void> {
    if (this.#batches.length > 0) await new Promise<void>(resolve => (this.#resolveFree = resolve));
    // A thread that cannot even release its isolates is ended as it is.
    await this.#rest().catch(() => undefined);
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    await this.#thread.end();
  }

  /** Resolves when the thread has released its isolates; a release can already be running. */
  #rest(): Promise<unknown> {
    if (this.#usedMs !== null) {
      this.#usedMs = null;
      this.#rests = this.#thread.run(REST).finally(() => this.#idleTimer?.refresh());
    }
    return this.#rests;
  }
}
