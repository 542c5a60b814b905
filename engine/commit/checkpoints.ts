/**
 * Moves the WAL into the database file once it has grown long. A checkpoint runs between groups, when all of the WAL is
 * durable and no transaction is open, so that the next write can start the WAL from its beginning. PASSIVE never waits
 * for readers. When overlapping scans have let the WAL grow far too long, they must release it for a moment.
 *
 * SQLite syncs the WAL before it copies a page, and the file before it resets the WAL, so the file never contains
 * anything that a crash could take back.
 */
import {performance} from 'node:perf_hooks';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {CHECKPOINT_WAL_PAGES, WAL_PAGES_MAX} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {storageFailure} from '../storage/database.ts';

/** A user of long-lived snapshots, which run one after the other. */
export interface Pausable {
  /** No new snapshot begins until the current ones have ended and the promise of `whenNoneRuns` has resolved. */
  pause(whenNoneRuns: () => Promise<void>): void;
}

const PAGE_BYTES = 4096;

export class Checkpoints {
  readonly #db: Connection;
  readonly #metrics: WorkerMetrics;
  readonly #log: Logger;
  readonly #scans: Pausable | null;
  readonly #onDue: () => void;
  /** An estimate from the writes: reading it from SQLite would cost a checkpoint. */
  #pages = 0;
  #resume: (() => void) | null = null;

  /** @param onDue scans have released the WAL for a checkpoint */
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

  /** A group is in the WAL. Parameters: its number of writes, and the bytes of their documents and records. */
  wrote(writes: number, bytes: number): void {
    this.#pages += 4 + 2 * writes + Math.ceil((2 * bytes) / PAGE_BYTES);
  }

  /** Call it when the WAL is durable and no transaction is open. */
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

  /** @returns pages of the WAL */
  #checkpoint(): number {
    const started = performance.now();
    try {
      const [found] = this.#db.pragma('wal_checkpoint(PASSIVE)') as {log: number}[];
      this.#metrics.observe('svc_checkpoint_seconds', (performance.now() - started) / 1000);
      return found!.log;
    } catch (caught) {
      // Without space the WAL stays as it is, complete and durable; the next checkpoint retries.
      if (storageFailure(caught) !== 'full') throw caught;
      this.#log.error('the disk is full; a checkpoint was put off');
      return 0;
    }
  }
}
