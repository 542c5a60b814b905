/**
 * Group commit: the only write path. All writes of one event-loop turn run in one SQLite transaction, each in a savepoint of
 * its own, with one fsync for all; then the stages are handed the commit, and all replies go out. While a commit waits for the
 * disk, the next group's requests gather in the socket, so the group grows with the load and a single write still commits at
 * once.
 *
 *   submit ──▶ queue ──end of turn──▶ BEGIN ─▶ (SAVEPOINT ─▶ run ─▶ RELEASE)… ─▶ COMMIT ──▶ stages ──▶ settle all
 *                                                  │ a write fails alone: ROLLBACK TO, its caller learns why
 *                                                  └ no space: all of the group fails with 507
 *
 * Any other storage error ends the process: after a failed fsync only a recovery from disk tells what is there. So does a
 * failed assertion: the writer would go on with a state that has just been disproved.
 */
import {performance} from 'node:perf_hooks';
import {AssertionError, assert} from '../../shared/assert.ts';
import {asServiceError, ServiceError} from '../../shared/errors.ts';
import {
  CHECKPOINT_WAL_PAGES,
  GROUP_WORK_MS_MAX,
  GROUP_WRITES_MAX,
  WAL_PAGES_MAX,
  WRITE_QUEUE_MAX,
} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../metrics.ts';
import {storageDamaged} from '../storage/damage.ts';
import {storageFailure, storageFullError} from '../storage/database.ts';
import type {Stage} from './commit.ts';
import type {StorageQuota} from './storage-quota.ts';
import type {Writer} from './writer.ts';

export type Write<T> = {
  /** Makes the change. A throw takes back this write alone. Runs synchronously, inside the group's transaction. */
  run(writer: Writer): T;
  /** Called once: with what `run` returned after the commit is on disk, or with the error. */
  settle(outcome: T | ServiceError): void;
};

/** What holds snapshots for long, one after the other. */
export interface Pausable {
  /** No other begins until those under way have ended and `whenNoneRuns` has returned. */
  pause(whenNoneRuns: () => void): void;
}

export type GroupParts = {
  writer: Writer;
  metrics: WorkerMetrics;
  log: Logger;
  /** What each commit is handed to, in this order, before its writes are settled. */
  stages: readonly Stage[];
  /** The last thing inside each transaction. */
  beforeCommit?: (writer: Writer) => void;
  quota?: StorageQuota;
  scans?: Pausable;
};

const PAGE_BYTES = 4096;

export class CommitGroups {
  readonly #parts: GroupParts;
  readonly #writer: Writer;
  #queue: Write<unknown>[] = [];
  #scheduled = false;
  #walPages = 0;
  #closed = false;
  #onIdle: (() => void)[] = [];

  constructor(parts: GroupParts) {
    this.#parts = parts;
    this.#writer = parts.writer;
  }

  /** Takes a write into the current turn's group. */
  submit<T>(write: Write<T>): void {
    if (this.#closed) {
      write.settle(new ServiceError('session.worker_unavailable', 'the tenant is being closed; try again'));
      return;
    }
    if (this.#queue.length >= WRITE_QUEUE_MAX) {
      write.settle(new ServiceError('session.overloaded', 'too many writes are waiting; try again shortly'));
      return;
    }
    this.#queue.push(write as Write<unknown>);
    this.#schedule();
  }

  /** Runs a change of our own (back-fill, clean-up) in a group; resolves when it is on disk. */
  perform<T>(change: (writer: Writer) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.submit<T>({
        run: change,
        settle: outcome => (outcome instanceof ServiceError ? reject(outcome) : resolve(outcome)),
      });
    });
  }

  /** Takes no more writes; resolves when every submitted one is settled. */
  close(): Promise<void> {
    this.#closed = true;
    return this.idle();
  }

  /** Resolves when every submitted write is settled. */
  idle(): Promise<void> {
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise(resolve => this.#onIdle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#commitGroup();
      if (this.#queue.length > 0) this.#schedule();
      else for (const resolve of this.#onIdle.splice(0)) resolve();
    });
  }

  #commitGroup(): void {
    const {metrics, log, quota, beforeCommit, stages} = this.#parts;
    const {statements} = this.#writer;
    const start = this.#writer.mark();
    const started = performance.now();
    const done: Write<unknown>[] = [];
    const outcomes: unknown[] = [];
    try {
      statements.begin.run();
      quota?.beginGroup();
      while (done.length < this.#queue.length && done.length < GROUP_WRITES_MAX) {
        const write = this.#queue[done.length]!;
        done.push(write);
        outcomes.push(this.#runAlone(write));
        if (performance.now() - started >= GROUP_WORK_MS_MAX) break;
      }
      beforeCommit?.(this.#writer);
      this.#writer.writeCounters();
      const records = this.#writer.head.sequence - start.head.sequence;
      assert(records >= 0 && records <= done.length, `${done.length} writes made ${records} records`);
      const beforeCommitMs = performance.now();
      statements.commit.run();
      metrics.committed(done.length, performance.now() - beforeCommitMs, performance.now() - started);
    } catch (caught) {
      const failure = storageFailure(caught);
      if (failure !== 'full') throw caught;
      this.#rollBackGroup(start);
      log.error('the disk is full; a group of writes failed', {writes: done.length});
      outcomes.length = 0;
      for (const _ of done) outcomes.push(storageFullError());
    }
    assert(outcomes.length === done.length, 'every write of a group has an outcome');
    const bytes = this.#writer.bytesWritten;
    const commit = this.#writer.commit();
    assert(commit.firstSequence === start.head.sequence + 1, 'a commit continues from the one before');
    this.#writer.endGroup();
    this.#queue.splice(0, done.length);
    for (const stage of stages) stage.committed(commit);
    for (const [i, write] of done.entries()) write.settle(outcomes[i]!);
    this.#checkpointWhenLong(4 + 2 * done.length + Math.ceil((2 * bytes) / PAGE_BYTES));
  }

  #runAlone(write: Write<unknown>): unknown {
    const {quota, log} = this.#parts;
    const {statements, db} = this.#writer;
    const mark = this.#writer.mark();
    statements.savepoint.run();
    try {
      const result = write.run(this.#writer);
      this.#writer.appendRecord();
      quota?.check(this.#writer, mark);
      statements.release.run();
      return result;
    } catch (caught) {
      if (caught instanceof AssertionError) throw caught;
      // A storage error may have ended the transaction, with all that came before in it. A broken structure has not: the
      // write that met it is taken back alone.
      const failure = storageFailure(caught);
      if ((failure !== null && failure !== 'damaged') || !db.inTransaction) throw caught;
      statements.rollbackTo.run();
      statements.release.run();
      this.#writer.returnTo(mark);
      const error = asServiceError(failure === 'damaged' ? storageDamaged({check: 'engine'}) : caught);
      if (error.cause !== undefined) log.error('a write failed', {error: error.cause});
      return error;
    }
  }

  #rollBackGroup(start: ReturnType<Writer['mark']>): void {
    if (this.#writer.db.inTransaction) this.#writer.statements.rollback.run();
    this.#writer.returnTo(start);
  }

  /**
   * Moves the WAL into the file once it has grown long, between groups. Pages are estimated from what was written: asking
   * SQLite costs a checkpoint. PASSIVE never waits for readers. The next write then begins the WAL anew, if nobody reads it:
   * when it is far too long, because scans have overlapped all the time, they are made to leave it a moment.
   */
  #checkpointWhenLong(pages: number): void {
    this.#walPages += pages;
    if (this.#walPages < CHECKPOINT_WAL_PAGES) return;
    this.#walPages = 0;
    if (this.#checkpoint() > WAL_PAGES_MAX) this.#parts.scans?.pause(() => this.#checkpoint());
  }

  /** @returns pages of the WAL */
  #checkpoint(): number {
    const started = performance.now();
    try {
      const [found] = this.#writer.db.pragma('wal_checkpoint(PASSIVE)') as {log: number}[];
      this.#parts.metrics.checkpointed(performance.now() - started);
      return found!.log;
    } catch (caught) {
      // Without space the WAL stays as it is, complete and durable; the next checkpoint tries again.
      if (storageFailure(caught) !== 'full') throw caught;
      this.#parts.log.error('the disk is full; a checkpoint was put off');
      return 0;
    }
  }
}
