/**
 * Moves the WAL into the database file once it has grown long. A checkpoint runs between groups, when all of the WAL is
 * durable and no transaction is open, so that the next write can start the WAL from its beginning. PASSIVE never waits
 * for readers. When overlapping scans have let the WAL grow far too long, they must release it for a moment.
 *
 * A checkpoint waits for the capture of copies, which reads the WAL (decision 0078):
 *
 *   growing ── now and then ──▶ requested ── due, and taken within a moment ──▶ moved ──▶ growing
 *                              └── not taken: put off ── far too long ──▶ copies are given up ──▶ moved
 *
 * Copies that were given up begin again behind a checkpoint.
 *
 * With --ack local it waits for the log of the cluster as well: what is in the file can be neither appended nor cut off.
 *
 * SQLite syncs the WAL before it copies a page, and the file before it resets the WAL, so the file never contains
 * anything that a crash could take back.
 */
import {performance} from 'node:perf_hooks';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {TenantCopies} from '../copies/tenant-copies.ts';
import {
  CAPTURE_PAGES_MAX,
  CAPTURE_REQUEST_PAGES,
  CAPTURE_RETRY_PAGES,
  CAPTURE_WAIT_MS,
  CAPTURE_WAIT_MS_MAX,
  CHECKPOINT_WAL_PAGES,
  LOCAL_WAL_PAGES_MAX,
  WAL_PAGES_MAX,
} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {storageFailure} from '../storage/database.ts';
import type {FileGuard} from '../storage/file-guard.ts';
import type {Durability} from './durability.ts';

/** A user of long-lived snapshots, which run one after the other. */
export interface Pausable {
  /** No new snapshot begins until the current ones have ended and the promise of `whenNoneRuns` has resolved. */
  pause(whenNoneRuns: () => Promise<void>): void;
}

/** The part of the capture that a checkpoint needs. */
export type Captured = Pick<TenantCopies, 'request' | 'isTaken' | 'giveUp' | 'whenDue' | 'begin'>;

const PAGE_BYTES = 4096;

export type CheckpointParts = {
  db: Connection;
  metrics: WorkerMetrics;
  log: Logger;
  scans?: Pausable | undefined;
  /** Undefined: nothing but readers uses the WAL. */
  copies?: Captured | undefined;
  durability?: Pick<Durability, 'lag' | 'beforeCheckpoint'> | undefined;
  files?: Pick<FileGuard, 'check'> | undefined;
  /** Scans have released the WAL for a checkpoint. */
  onDue: () => void;
};

/** An estimate of what a group adds to the WAL. @param bytes of its documents and records */
export function pagesOfGroup(writes: number, bytes: number): number {
  return 4 + 2 * writes + Math.ceil((2 * bytes) / PAGE_BYTES);
}

export class Checkpoints {
  readonly #parts: CheckpointParts;
  /** An estimate from the writes: reading it from SQLite would cost a checkpoint. */
  #pages = 0;
  /** More than usual after a checkpoint was put off. */
  #pagesDue = CHECKPOINT_WAL_PAGES;
  /** The capture is requested to take the log once it has this many. */
  #pagesRequested = CAPTURE_REQUEST_PAGES;
  #resume: (() => void) | null = null;
  /** Copies were given up, and can begin again. */
  #areCopiesDue = false;

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
    parts.copies?.whenDue(() => {
      this.#areCopiesDue = true;
      parts.onDue();
    });
  }

  get isDue(): boolean {
    if (this.#pages >= this.#pagesDue || this.#resume !== null) return true;
    return this.#areCopiesDue && this.#parts.durability?.lag?.isPending !== true;
  }

  /** The WAL is so long that writes wait for a checkpoint. It is made when the log of the cluster has all commits. */
  get isUrgent(): boolean {
    return this.#pages >= LOCAL_WAL_PAGES_MAX;
  }

  /** A group of so many pages is in the WAL. */
  wrote(pages: number): void {
    this.#pages += pages;
    const {copies} = this.#parts;
    if (copies === undefined || this.#pages < this.#pagesRequested) return;
    this.#pagesRequested = this.#pages + CAPTURE_REQUEST_PAGES;
    copies.request();
  }

  /** Call it when the WAL is durable and no transaction is open. */
  make(): void {
    const resume = this.#resume;
    this.#resume = null;
    if (!this.#isTaken()) {
      this.#pagesDue = this.#pages + CAPTURE_RETRY_PAGES;
      resume?.();
      return;
    }
    this.#pages = 0;
    this.#pagesDue = CHECKPOINT_WAL_PAGES;
    this.#pagesRequested = CAPTURE_REQUEST_PAGES;
    const pages = this.#checkpoint();
    if (this.#areCopiesDue) {
      this.#areCopiesDue = false;
      this.#parts.copies?.begin();
    }
    resume?.();
    if (resume === null && pages > WAL_PAGES_MAX) this.#parts.scans?.pause(() => this.#whileNoneRuns());
  }

  #isTaken(): boolean {
    const {copies, durability} = this.#parts;
    if (durability?.lag?.isPending === true) return false;
    // Writes that are faster than the capture, as those of an import, are slowed down before the log is too long.
    const waitMs = Math.min(CAPTURE_WAIT_MS_MAX, (CAPTURE_WAIT_MS * this.#pages) / CHECKPOINT_WAL_PAGES);
    if (copies === undefined || copies.isTaken(waitMs)) return true;
    if (this.#pages < CAPTURE_PAGES_MAX) return false;
    copies.giveUp();
    return true;
  }

  #whileNoneRuns(): Promise<void> {
    return new Promise(resolve => {
      this.#resume = resolve;
      this.#parts.onDue();
    });
  }

  /** @returns pages of the WAL */
  #checkpoint(): number {
    const {db, metrics, durability, files} = this.#parts;
    const started = performance.now();
    if (durability?.beforeCheckpoint() === false) return this.#putOff();
    files?.check();
    try {
      const [found] = db.pragma('wal_checkpoint(PASSIVE)') as {log: number}[];
      metrics.observe('svc_checkpoint_seconds', (performance.now() - started) / 1000);
      return found!.log;
    } catch (caught) {
      // Without space the WAL stays as it is, complete and durable; the next checkpoint retries.
      if (storageFailure(caught) !== 'full') throw caught;
      return this.#putOff();
    }
  }

  #putOff(): 0 {
    this.#parts.log.error('the disk is full; a checkpoint was put off');
    return 0;
  }
}
