/**
 * Runs scans on threads, so that no query blocks the serving thread, and a second core is used. Threads start on first
 * use and end when they are idle.
 *
 *   waiting ──thread free──▶ running ──▶ answered | refused
 *      └── not needed any more ──▶ gone (a running one ends at its next batch)
 *
 * Each scan holds a snapshot, and the WAL can start over only when there are no snapshots: when it has grown long,
 * `pause` lets the running scans end before others begin.
 *
 * A scan that takes too much memory ends its thread, and is refused; anything else that ends a thread ends the process.
 */
import {Buffer} from 'node:buffer';
import {once} from 'node:events';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Worker} from 'node:worker_threads';
import {assert, unreachable} from '../../shared/assert.ts';
import {overloaded, ServiceError, tenantClosing, tooLarge} from '../../shared/errors.ts';
import type {PaginatedQueryBody} from '../../shared/protocol/queries.ts';
import {SCAN_THREAD_HEAP_MB, SCAN_THREAD_IDLE_MS, SCAN_THREADS_MAX, SCANS_WAITING_MAX} from '../limits.ts';
import {errorOfThread} from '../storage/damage.ts';
import {indexReads} from '../storage/index-reads.ts';
import type {
  FromScanThread,
  LiveBatch,
  LiveScan,
  RequestScan,
  ScanThreadSettings,
  ToScanThread,
} from './scan-message.ts';

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'scan.thread.js');

type Settle = (outcome: Buffer | ServiceError) => void;

/** Receives a live result, batch by batch. Exactly one of `end` and `failed` is called, unless the scan is aborted. */
export interface LiveTaker {
  /** A thread receives the scan now: its snapshot includes everything committed before. */
  begins(): void;
  batch(batch: LiveBatch): void;
  /** @param isComplete no documents match other than those in the batches */
  end(isComplete: boolean): void;
  failed(error: ServiceError): void;
}

/** Evaluates live queries that read much. */
export interface LiveScans {
  /** @returns a function that aborts the evaluation */
  live(scan: LiveScan, taker: LiveTaker): () => void;
}

type RequestJob = {kind: 'request'; scan: RequestScan; flag: Int32Array; settle: Settle};
type LiveJob = {kind: 'live'; scan: LiveScan; flag: Int32Array; taker: LiveTaker};
type Job = RequestJob | LiveJob;

export class ScanPool implements LiveScans {
  readonly #settings: ScanThreadSettings;
  readonly #onFailure: (error: unknown) => void;
  readonly #threadFile: string;
  readonly #threads = new Set<ScanThread>();
  readonly #waiting: RequestJob[] = [];
  /** Evaluations of live queries; at most one per live query. */
  readonly #waitingLive: LiveJob[] = [];
  #wasLive = false;
  /** No scan begins until none runs; then this is called, and no scan begins until its promise has resolved. */
  #whenNoneRuns: (() => Promise<void>) | null = null;
  #isPaused = false;
  #closed = false;

  /** @param onFailure called for a bug or a broken file; ends the process */
  constructor(databasePath: string, onFailure: (error: unknown) => void, threadFile = THREAD) {
    this.#settings = {databasePath, indexReads: indexReads.begin()};
    this.#onFailure = onFailure;
    this.#threadFile = threadFile;
  }

  /** A page of a query, as JSON. Rejects with the query's error, or with session.overloaded 503. */
  page(page: PaginatedQueryBody): Promise<string> {
    return new Promise((resolve, reject) => {
      this.run({kind: 'page', page}, outcome =>
        outcome instanceof ServiceError ? reject(outcome) : resolve(Buffer.from(outcome).toString()),
      );
    });
  }

  /**
   * @param settle called once, with the body (whose buffer is transferred) or with the error, unless the scan is
   *   aborted
   * @returns a function that aborts the scan
   * @throws session.overloaded 503
   */
  run(scan: RequestScan, settle: Settle): () => void {
    if (this.#closed) throw tenantClosing();
    if (this.#waiting.length >= SCANS_WAITING_MAX) {
      throw overloaded(
        `${SCANS_WAITING_MAX} queries that read much of this tenant are waiting; try again later, or add an index`,
      );
    }
    const job: RequestJob = {kind: 'request', scan, flag: newFlag(), settle};
    this.#waiting.push(job);
    this.#dispatch();
    return () => this.#giveUp(this.#waiting, job);
  }

  /** Never refused: the live query has been accepted already, and requests one evaluation at a time. */
  live(scan: LiveScan, taker: LiveTaker): () => void {
    const job: LiveJob = {kind: 'live', scan, flag: newFlag(), taker};
    this.#waitingLive.push(job);
    this.#dispatch();
    return () => this.#giveUp(this.#waitingLive, job);
  }

  /** No other scan begins until the running ones have ended and the promise of `whenNoneRuns` has resolved. */
  pause(whenNoneRuns: () => Promise<void>): void {
    this.#whenNoneRuns = whenNoneRuns;
    this.#dispatch();
  }

  /** Aborts the running scans and ends the threads. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#waiting.splice(0)) job.settle(tenantClosing());
    this.#waitingLive.length = 0;
    await Promise.all([...this.#threads].map(thread => thread.end()));
  }

  #giveUp<J extends Job>(waiting: J[], job: J): void {
    Atomics.store(job.flag, 0, 1);
    const at = waiting.indexOf(job);
    if (at >= 0) waiting.splice(at, 1);
  }

  #dispatch(): void {
    if (!this.#closed && this.#whenNoneRuns !== null) {
      for (const thread of this.#threads) if (thread.isBusy) return;
      const noneRuns = this.#whenNoneRuns;
      this.#whenNoneRuns = null;
      this.#isPaused = true;
      void noneRuns().then(() => {
        this.#isPaused = false;
        this.#dispatch();
      });
    }
    while (!this.#closed && !this.#isPaused && this.#waiting.length + this.#waitingLive.length > 0) {
      const thread = this.#freeThread();
      if (thread === null) return;
      const job = this.#next();
      if (job.kind === 'live') job.taker.begins();
      thread.run(job);
    }
  }

  /** Requests and live queries take turns, so neither waits for all of the others. */
  #next(): Job {
    const isLive = this.#waiting.length === 0 || (this.#waitingLive.length > 0 && !this.#wasLive);
    this.#wasLive = isLive;
    const job = isLive ? this.#waitingLive.shift() : this.#waiting.shift();
    assert(job !== undefined, 'a thread is taken for a scan that waits');
    return job;
  }

  #freeThread(): ScanThread | null {
    for (const thread of this.#threads) if (thread.isFree) return thread;
    if (this.#threads.size >= SCAN_THREADS_MAX) return null;
    const thread: ScanThread = new ScanThread(this.#threadFile, this.#settings, {
      onFree: () => this.#dispatch(),
      onEnd: () => this.#threads.delete(thread),
      onFailure: this.#onFailure,
    });
    this.#threads.add(thread);
    return thread;
  }
}

type ThreadEvents = {onFree: () => void; onEnd: () => void; onFailure: (error: unknown) => void};

/** One thread, from its start to its end. */
class ScanThread {
  readonly #worker: Worker;
  readonly #events: ThreadEvents;
  #job: Job | null = null;
  #isEnding = false;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(file: string, {databasePath, indexReads}: ScanThreadSettings, events: ThreadEvents) {
    this.#events = events;
    this.#worker = new Worker(file, {
      workerData: {databasePath, indexReads} satisfies ScanThreadSettings,
      resourceLimits: {maxOldGenerationSizeMb: SCAN_THREAD_HEAP_MB},
    });
    this.#worker.on('message', (message: FromScanThread) => this.#received(message));
    this.#worker.on('error', error => this.#failed(error));
  }

  get isBusy(): boolean {
    return this.#job !== null;
  }

  get isFree(): boolean {
    return !this.isBusy && !this.#isEnding;
  }

  run(job: Job): void {
    assert(this.isFree, 'a thread has one scan at a time');
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    this.#job = job;
    this.#post({type: 'run', scan: job.scan, flag: job.flag});
  }

  /** Aborts the current scan, and rejects its result. Resolves when the thread has ended. */
  async end(): Promise<void> {
    const job = this.#job;
    if (job !== null && Atomics.exchange(job.flag, 0, 1) === 0 && job.kind === 'request') job.settle(tenantClosing());
    const ended = once(this.#worker, 'exit');
    this.#leave();
    await ended;
  }

  #received(message: FromScanThread): void {
    const job = this.#job;
    assert(job !== null, 'a thread answers what it was asked');
    const isWanted = Atomics.load(job.flag, 0) === 0;
    switch (message.type) {
      case 'answer': {
        const {buffer, byteOffset, byteLength} = message.body;
        if (isWanted) settleRequest(job, Buffer.from(buffer, byteOffset, byteLength));
        break;
      }
      case 'batch':
        if (this.#takeBatch(job, isWanted, message)) return;
        break;
      case 'failed':
        if (isWanted) fail(job, message.error === null ? tenantClosing() : errorOfThread(message.error));
        break;
      default:
        unreachable(message);
    }
    this.#freed();
  }

  /** @returns whether another batch follows */
  #takeBatch(job: Job, isWanted: boolean, {batch, isLast, isComplete}: FromScanThread & {type: 'batch'}): boolean {
    assert(job.kind === 'live', 'only live results come in batches');
    if (isWanted) job.taker.batch(batch);
    if (!isLast) this.#post({type: isWanted ? 'more' : 'stop'});
    if (isWanted && isLast) job.taker.end(isComplete);
    return isWanted && !isLast;
  }

  #freed(): void {
    this.#job = null;
    if (this.#isEnding) return;
    this.#idleTimer = setTimeout(() => this.#leave(), SCAN_THREAD_IDLE_MS);
    this.#events.onFree();
  }

  #leave(): void {
    this.#isEnding = true;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#events.onEnd();
    this.#post({type: 'end'});
  }

  #failed(error: Error & {code?: string}): void {
    const job = this.#job;
    if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY' || job === null) {
      this.#events.onFailure(error);
      return;
    }
    this.#job = null;
    this.#isEnding = true;
    this.#events.onEnd();
    const reason = 'the query takes more memory than it may; read it in pages, or add an index';
    if (Atomics.load(job.flag, 0) === 0) fail(job, tooLarge(reason));
    this.#events.onFree();
  }

  #post(message: ToScanThread): void {
    this.#worker.postMessage(message);
  }
}

function newFlag(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4));
}

function settleRequest(job: Job, body: Buffer): void {
  assert(job.kind === 'request', 'a live result comes in batches');
  job.settle(body);
}

function fail(job: Job, error: ServiceError): void {
  if (job.kind === 'request') job.settle(error);
  else job.taker.failed(error);
}
