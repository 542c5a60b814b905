/**
 * Hands scans to threads, so that no query holds the thread that serves, and a second core works. Threads start when they
 * are first needed and end when they are idle.
 *
 *   waiting ──thread free──▶ running ──▶ answered | refused
 *      └── nobody wants it any more ──▶ gone (a running one ends at its next piece)
 *
 * A scan that takes too much memory costs its thread, and is refused; anything else that ends a thread ends the process.
 */
import {Buffer} from 'node:buffer';
import {once} from 'node:events';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Worker} from 'node:worker_threads';
import {assert, unreachable} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {SCAN_THREAD_HEAP_MB, SCAN_THREAD_IDLE_MS, SCAN_THREADS_MAX, SCANS_WAITING_MAX} from '../../shared/limits.ts';
import type {FromScanThread, RequestScan, ScanThreadSettings, ToScanThread} from './scan-message.ts';

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'scan.thread.js');

type Job = {scan: RequestScan; flag: Int32Array; settle: (outcome: Buffer | ServiceError) => void};

export class ScanPool {
  readonly #databasePath: string;
  readonly #onFailure: (error: unknown) => void;
  readonly #threadFile: string;
  readonly #threads = new Set<ScanThread>();
  #waiting: Job[] = [];
  #closed = false;

  /** @param onFailure a bug or a broken file; ends the process */
  constructor(databasePath: string, onFailure: (error: unknown) => void, threadFile = THREAD) {
    this.#databasePath = databasePath;
    this.#onFailure = onFailure;
    this.#threadFile = threadFile;
  }

  /**
   * @param settle called once, with the body (which is handed over) or with what was said against it, unless it is given up
   * @returns gives the scan up
   * @throws session.overloaded 503
   */
  run(scan: RequestScan, settle: Job['settle']): () => void {
    if (this.#closed) throw closing();
    if (this.#waiting.length >= SCANS_WAITING_MAX) {
      throw new ServiceError(
        'session.overloaded',
        `${SCANS_WAITING_MAX} queries that read much of this tenant are waiting; try again later, or add an index`,
      );
    }
    const job: Job = {scan, flag: new Int32Array(new SharedArrayBuffer(4)), settle};
    this.#waiting.push(job);
    this.#dispatch();
    return () => this.#giveUp(job);
  }

  /** Gives up what is under way and ends the threads. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#waiting.splice(0)) job.settle(closing());
    await Promise.all([...this.#threads].map(thread => thread.end()));
  }

  #giveUp(job: Job): void {
    Atomics.store(job.flag, 0, 1);
    job.settle = () => undefined;
    const at = this.#waiting.indexOf(job);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread();
      if (thread === null) return;
      thread.run(this.#waiting.shift()!);
    }
  }

  #freeThread(): ScanThread | null {
    for (const thread of this.#threads) if (thread.isFree) return thread;
    if (this.#threads.size >= SCAN_THREADS_MAX) return null;
    const thread: ScanThread = new ScanThread(this.#threadFile, this.#databasePath, {
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

  constructor(file: string, databasePath: string, events: ThreadEvents) {
    this.#events = events;
    this.#worker = new Worker(file, {
      workerData: {databasePath} satisfies ScanThreadSettings,
      resourceLimits: {maxOldGenerationSizeMb: SCAN_THREAD_HEAP_MB},
    });
    this.#worker.on('message', (message: FromScanThread) => this.#received(message));
    this.#worker.on('error', error => this.#failed(error));
  }

  get isFree(): boolean {
    return this.#job === null && !this.#isEnding;
  }

  run(job: Job): void {
    assert(this.isFree, 'a thread has one scan at a time');
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    this.#job = job;
    this.#post({type: 'run', scan: job.scan, flag: job.flag});
  }

  /** Gives up the scan under way. Resolves when the thread has ended. */
  async end(): Promise<void> {
    if (this.#job !== null) Atomics.store(this.#job.flag, 0, 1);
    const ended = once(this.#worker, 'exit');
    this.#leave();
    await ended;
  }

  #received(message: FromScanThread): void {
    const job = this.#job;
    assert(job !== null, 'a thread answers what it was asked');
    this.#job = null;
    switch (message.type) {
      case 'answer':
        job.settle(Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength));
        break;
      case 'failed': {
        const {error} = message;
        job.settle(error === null ? closing() : new ServiceError(error.code, error.message, error.detail));
        break;
      }
      default:
        unreachable(message);
    }
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
    job.settle(
      new ServiceError('op.too_large', 'the query takes more memory than it may; read it in pages, or add an index'),
    );
    this.#events.onFree();
  }

  #post(message: ToScanThread): void {
    this.#worker.postMessage(message);
  }
}

function closing(): ServiceError {
  return new ServiceError('session.worker_unavailable', 'the tenant is being closed; try again');
}
