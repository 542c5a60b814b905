/**
 * Moves the log into the file once it has grown long, between groups: when all of it is durable and no transaction is open, so
 * that the next write can begin the log anew. PASSIVE never waits for readers. When the log is far too long, because scans have
 * overlapped all the time, they are made to leave it a moment.
 *
 * SQLite syncs the log before it copies a page, and the file before it forgets the log: nothing comes into the file that a
 * crash could take back.
 */
import {performance} from 'node:perf_hooks';
import type {Logger} from '../../shared/log.ts';
import {CHECKPOINT_WAL_PAGES, WAL_PAGES_MAX} from '../limits.ts';
import type {WorkerMetrics} from '../metrics.ts';
import type {Connection} from '../storage/connection.ts';
import {storageFailure} from '../storage/database.ts';

/** What holds snapshots for long, one after the other. */
export interface Pausable {
  /** No other begins until those under way have ended and what `whenNoneRuns` returns has resolved. */
  pause(whenNoneRuns: () => Promise<void>): void;
}

const PAGE_BYTES = 4096;

export class Checkpoints {
  readonly #db: Connection;
  readonly #metrics: WorkerMetrics;
  readonly #log: Logger;
  readonly #scans: Pausable | null;
  readonly #onDue: () => void;
  /** Estimated from what was written: asking SQLite costs a checkpoint. */
  #pages = 0;
  #resume: (() => void) | null = null;

  /** @param onDue scans have left the log for a checkpoint */
  constructor(db: Connection, metrics: WorkerMetrics, log: Logger, scans: Pausable | null, onDue: () => void) {
    this.#db = db;
    this.#metrics = metrics;
    this.#log = log;
    this.#scans = scans;
    this.#onDue = onDue;
  }

  get isDue(): boolean {
    return this.#pages >= CHECKPOINT_WAL_PAGES || this.#resume !== null;
  }

  /** A group is in the log: so many writes, with so many bytes of documents and records. */
  wrote(writes: number, bytes: number): void {
    this.#pages += 4 + 2 * writes + Math.ceil((2 * bytes) / PAGE_BYTES);
  }

  /** When the log is durable, and no transaction is open. */
  make(): void {
    this.#pages = 0;
    const pages = this.#checkpoint();
    const resume = this.#resume;
    this.#resume = null;
    resume?.();
    if (resume === null && pages > WAL_PAGES_MAX) this.#scans?.pause(() => this.#whileNoneRuns());
  }

  #whileNoneRuns(): Promise<void> {
    return new Promise(resolve => {
      this.#resume = resolve;
      this.#onDue();
    });
  }

  /** @returns pages of the log */
  #checkpoint(): number {
    const started = performance.now();
    try {
      const [found] = this.#db.pragma('wal_checkpoint(PASSIVE)') as {log: number}[];
      this.#metrics.checkpointed(performance.now() - started);
      return found!.log;
    } catch (caught) {
      // Without space the log stays as it is, complete and durable; the next checkpoint tries again.
      if (storageFailure(caught) !== 'full') throw caught;
      this.#log.error('the disk is full; a checkpoint was put off');
      return 0;
    }
  }
}
