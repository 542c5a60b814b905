/**
 * Group commit: the only write path. Each group of writes runs in one SQLite transaction, each write in its own
 * savepoint unless it can fail only before its changes are stored. COMMIT writes the WAL and does not wait for the disk. This thread or the pool syncs the WAL
 * (`sync-place.ts`), one sync at a time; while the pool syncs, the next group takes writes. When the sync has ended the
 * group is durable: readers see it, the stages receive the commit, and its replies leave.
 *
 *   submit ─▶ queue ─end of turn─▶ BEGIN ─▶ (SAVEPOINT ─▶ run ─▶ RELEASE)… ─no sync under way─▶ COMMIT ─▶ sync ─▶ stages ─▶ settle
 *                                    │ one write fails: ROLLBACK TO, its caller gets the error  ▲
 *                                    │ no space: the whole group fails with 507                └ meanwhile the next group opens
 *                                    └ a write meets a broken page: it is refused and the others run again,
 *                                      because SQLite then refuses further writes and COMMIT in this transaction
 *
 * Invariants
 * - A group is committed only when the previous one is durable, or a moment later (`linger.ts`, and `collects` of a
 *   write). So a crash can take
 *   back at most one commit in the WAL. Between two groups the newest commit is durable, which is when readers take
 *   their snapshot. Every commit that another one follows in the WAL was on disk (`storage/wal-log.ts` relies on that).
 * - Nothing is sent about a group before it is durable.
 *
 * A commit can wait for more than the sync: for a second durability (`durability.ts`), and for caches in other
 * processes (`remote-caches.ts`). While it is unknown whether it stays, reads go on and writes are refused.
 *
 * Any other storage error ends the process: after a failed sync, only a recovery from disk shows the true state. A
 * failed assertion ends it too, because the writer would continue with a state that is known to be wrong.
 */
import {performance} from 'node:perf_hooks';
import {assert} from '../../shared/assert.ts';
import {overloaded, readOnlyTenant, ServiceError, tenantClosing} from '../../shared/errors.ts';
import {
  GROUP_AHEAD_WRITES_MAX,
  GROUP_BYTES_MAX,
  GROUP_WORK_MS_MAX,
  GROUP_WRITES_MAX,
  WRITE_QUEUE_MAX,
} from '../limits.ts';
import {metEngineDamage, storageDamaged} from '../storage/damage.ts';
import {storageFailure, storageFullError} from '../storage/database.ts';
import type {Cause} from './cause.ts';
import {Checkpoints, pagesOfGroup} from './checkpoints.ts';
import {type Commit, passThrough} from './commit.ts';
import type {Durability} from './durability.ts';
import type {GroupParts} from './group-parts.ts';
import {OpenGroup} from './open-group.ts';
import type {Write} from './write.ts';
import type {Writer} from './writer.ts';

/** A group in the WAL. */
type Committed = {
  readonly group: OpenGroup;
  readonly commit: Commit;
  readonly isInThread: boolean;
  /** Syncs, other durabilities and caches that have not completed; 0: it is durable, and becomes visible. */
  pending: number;
  /** It is unknown whether it stays. */
  isUndecided: boolean;
};

export class CommitGroups {
  /** Null: writes are accepted. */
  readonly refusal: (() => ServiceError) | null;
  readonly #parts: GroupParts;
  readonly #writer: Writer;
  readonly #checkpoints: Checkpoints;
  #queue: Write<unknown>[] = [];
  /** The group whose transaction is open. */
  #open: OpenGroup | null = null;
  #committed: Committed | null = null;
  #durableSequence: number;
  #scheduled = false;
  #isStepping = false;
  /** Ends a linger. */
  #lingerTimer: NodeJS.Timeout | null = null;
  #closed = false;
  #onIdle: (() => void)[] = [];

  constructor(parts: GroupParts) {
    this.#parts = parts;
    this.refusal = parts.refusal ?? null;
    this.#writer = parts.writer;
    this.#durableSequence = parts.writer.head.sequence;
    const {writer, metrics, log, scans, copies, durability, files} = parts;
    const onDue = () => this.#schedule();
    this.#checkpoints = new Checkpoints({db: writer.db, metrics, log, scans, copies, durability, files, onDue});
    durability?.lag?.whenShorter(onDue);
  }

  /** An operator paused the tenant: nothing runs that could change anything, also outside of it. */
  get isPaused(): boolean {
    return this.refusal === readOnlyTenant;
  }

  /** Sequence of the newest record that a crash cannot take back. */
  get durableSequence(): number {
    return this.#durableSequence;
  }

  /** Whether everything in the WAL now is durable. */
  get isDurable(): boolean {
    return this.#committed === null;
  }

  /** Takes a write into the current turn's group. */
  submit<T>(write: Write<T>): void {
    if (this.#closed) {
      write.settle(tenantClosing());
      return;
    }
    if (this.refusal !== null) {
      write.settle(this.refusal());
      return;
    }
    if (this.#isUndecided) {
      write.settle(undecidedBefore());
      return;
    }
    if (this.#queue.length >= WRITE_QUEUE_MAX) {
      write.settle(overloaded('too many writes are waiting; try again shortly'));
      return;
    }
    this.#queue.push(write as Write<unknown>);
    this.#schedule();
  }

  /** Runs a change in a group; resolves when it is on disk. @param cause absent: svc itself (back-fill, clean-up) */
  perform<T>(change: (writer: Writer) => T, cause?: Cause, checksFirst = false): Promise<T> {
    return new Promise((resolve, reject) => {
      this.submit<T>({
        cause,
        checksFirst,
        run: change,
        settle: outcome => (outcome instanceof ServiceError ? reject(outcome) : resolve(outcome)),
      });
    });
  }

  /**
   * For data read on another connection, which sees a commit before it is durable: calls `then` when everything in the
   * WAL now is durable, which can be immediately.
   */
  whenDurable(then: () => void): void {
    if (this.#committed === null) then();
    else this.#committed.group.waiting.push(then);
  }

  /**
   * Resolves when every write that has run so far is durable or rolled back: then writer and readers have the same
   * state.
   */
  settled(): Promise<void> {
    const last = this.#open ?? this.#committed?.group ?? null;
    if (last === null) return Promise.resolve();
    return new Promise(resolve => last.waiting.push(resolve));
  }

  /** Takes no more writes; resolves when every submitted one is settled. */
  close(): Promise<void> {
    this.#closed = true;
    this.#step(); // no more writers will join
    return this.idle();
  }

  /** Resolves when every submitted write is settled. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise(resolve => this.#onIdle.push(resolve));
  }

  /** It is unknown whether the newest commit stays, so none can follow. */
  get #isUndecided(): boolean {
    return this.#committed?.isUndecided === true;
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#open === null && this.#committed === null;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#isCheckpointDue && !this.#waitsForLog && this.#open === null && this.#committed === null) {
      this.#checkpoints.make();
      this.#parts.snapshot?.advance();
    }
    if (this.#hasWork) this.#execute();
    this.#step();
  }

  /** The close makes one of its own. */
  get #isCheckpointDue(): boolean {
    return this.#checkpoints.isDue && !this.#closed;
  }

  /** No group begins until the log of the cluster has more, or all, of the commits. */
  get #waitsForLog(): boolean {
    const lag = this.#parts.durability?.lag;
    if (lag === undefined || this.#closed) return false;
    return lag.isTooLong || (lag.isPending && this.#checkpoints.isUrgent);
  }

  get #hasWork(): boolean {
    return this.#open?.isUnderWay === true || (this.#queue.length > 0 && this.#takesWrites);
  }

  /** Whether a write may run now. While a checkpoint is due, the group under way is the last before it. */
  get #takesWrites(): boolean {
    if (this.#open === null) return !this.#waitsForLog && !(this.#isCheckpointDue && this.#committed !== null);
    return this.#open.writes.length < GROUP_AHEAD_WRITES_MAX && this.#writer.bytesWritten < GROUP_BYTES_MAX;
  }

  /** Advances the state machine: settles a durable group, and commits an open one when the disk is free. */
  #step(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    for (;;) {
      const durable = this.#committed?.pending === 0 ? this.#committed : null;
      if (durable !== null) {
        this.#committed = null;
        this.#parts.snapshot?.advance();
        this.#parts.copies?.durable(this.#writer.numbers.newest, durable.commit);
        // Writes that arrived while this thread made the sync have not been received yet.
        if (!durable.isInThread) {
          const waiting = this.#queue.length + (this.#open?.writes.length ?? 0);
          this.#parts.linger?.notified(durable.group.writes.length, waiting, performance.now());
        }
      }
      const ready = this.#open?.isUnderWay === false ? this.#open : null;
      // Commit first, so that the disk works while this thread settles the durable group; if this thread makes the
      // sync, which is only the first after those of the pool, the group waits for it.
      if (ready !== null && this.#committed === null && !this.#lingers(ready)) this.#commit(ready, durable !== null);
      else if (ready !== null && this.#isUndecided) this.#rollBack(ready, undecidedBefore);
      else if (durable === null) break;
      if (durable !== null) this.#tell(durable);
    }
    this.#isStepping = false;
    const isCheckpointNext = this.#isCheckpointDue && !this.#waitsForLog;
    if (this.#open?.isUnderWay === true || (isCheckpointNext ? this.#committed === null : this.#hasWork)) {
      this.#schedule();
    }
    if (this.#isIdle) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** Whether the open group lingers although it could be committed; if so, the next turn or a timer calls `#step` again. */
  #lingers(group: OpenGroup): boolean {
    if (this.#closed || this.#isCheckpointDue || !this.#takesWrites) return false;
    if (group.waitsForMore(this.#queue.length > 0)) {
      this.#schedule();
      return true;
    }
    const remainingMs = this.#parts.linger?.remainingMs(performance.now()) ?? 0;
    if (remainingMs === 0) return false;
    this.#lingerTimer ??= setTimeout(() => {
      this.#lingerTimer = null;
      this.#step();
    }, remainingMs);
    return true;
  }

  /** Runs queued writes in the open group, or in a new one. */
  #execute(): void {
    const started = performance.now();
    let taken = 0;
    let again: Write<unknown>[] = [];
    this.#open ??= new OpenGroup(this.#parts);
    const group = this.#open;
    try {
      if (group.isUnderWay) group.goOn(started);
      while (!group.isUnderWay && taken < this.#queue.length && taken < GROUP_WRITES_MAX && this.#takesWrites) {
        this.#parts.linger?.ran();
        group.run(this.#queue[taken++]!, started);
        if (performance.now() - started >= GROUP_WORK_MS_MAX) break;
      }
    } catch (caught) {
      // Only the last write met the damage.
      if (metEngineDamage(caught)) again = group.writes.splice(0, group.writes.length - 1);
      this.#refuse(group, caught);
    }
    group.workMs += performance.now() - started;
    this.#queue.splice(0, taken, ...again);
  }

  /** @param tellsNext the previous group is settled directly after this, with its own snapshot */
  #commit(group: OpenGroup, tellsNext: boolean): void {
    const {metrics, beforeCommit, snapshot, linger, durability, caches, files} = this.#parts;
    const {statements} = this.#writer;
    const started = performance.now();
    let isWritten = true;
    let isInThread = false;
    linger?.committed();
    const refusal = durability !== undefined && group.isWritten ? durability.refusal(this.#pagesOf(group)) : null;
    if (refusal !== null) {
      this.#rollBack(group, () => refusal);
      return;
    }
    try {
      files?.beforeCommit();
      beforeCommit?.(this.#writer);
      this.#writer.counters.write();
      const records = this.#writer.head.sequence - group.start.head.sequence;
      assert(records >= 0 && records <= group.writes.length, `${group.writes.length} writes made ${records} records`);
      isWritten = group.isWritten;
      if (isWritten) this.#writer.numbers.store(records > 0);
      isInThread = this.#isSyncedHere(group);
      // After a sync in this thread, nothing can be read between COMMIT and the end of the sync.
      if (isWritten && (!isInThread || tellsNext || caches?.mayWait === true)) snapshot?.hold();
      statements.commit.run();
    } catch (caught) {
      this.#refuse(group, caught);
      return;
    }
    if (isWritten) this.#writer.numbers.committed();
    this.#open = null;
    const committedMs = performance.now();
    metrics.add('svc_commit_writes_total', group.writes.length);
    metrics.observe('svc_commit_group_writes', group.writes.length);
    metrics.observe('svc_commit_seconds', (committedMs - started) / 1000);
    group.workMs += committedMs - started;
    metrics.observe('svc_commit_group_seconds', group.workMs / 1000);
    const commit = this.#writer.commit();
    assert(commit.firstSequence === group.start.head.sequence + 1, 'a commit continues from the one before');
    if (isWritten) this.#checkpoints.wrote(this.#pagesOf(group));
    this.#writer.endGroup();
    assert(this.#committed === null, 'what was committed before is durable');
    const committed: Committed = {group, commit, isInThread, pending: isWritten ? 1 : 0, isUndecided: false};
    this.#committed = committed;
    if (!isWritten) return;
    if (caches?.committing(commit, () => this.#completedLater(committed, committedMs)) === true) committed.pending++;
    if (durability !== undefined) this.#makeDurable(durability, committed, committedMs);
    if (isInThread) this.#syncInThread(committed, committedMs);
    else this.#syncInPool(committed, committedMs);
  }

  #pagesOf({writes}: OpenGroup): number {
    return pagesOfGroup(writes.length, this.#writer.bytesWritten);
  }

  #isSyncedHere({writes}: OpenGroup): boolean {
    const {inThread, durability} = this.#parts;
    if (durability !== undefined) return false; // it would begin after the sync
    return inThread?.place.isThread(writes.length, this.#writer.bytesWritten) === true;
  }

  #makeDurable(durability: Durability, committed: Committed, committedMs: number): void {
    const {lastSequence: sequence, committedMs: timeMs} = committed.commit;
    committed.pending++;
    durability.begin(
      {commit: this.#writer.numbers.newest, sequence, timeMs},
      {
        done: () => this.#completedLater(committed, committedMs),
        undecided: () => this.#leaveUndecided(committed),
      },
    );
  }

  #syncInThread(committed: Committed, committedMs: number): void {
    const {place, sync} = this.#parts.inThread!;
    try {
      sync();
    } catch (caught) {
      throw syncFailed(caught);
    }
    const syncMs = performance.now() - committedMs;
    place.inThread(syncMs);
    this.#synced(committed, syncMs, 'thread');
  }

  #syncInPool(committed: Committed, committedMs: number): void {
    this.#parts.sync(error => {
      if (error !== null) throw syncFailed(error);
      const syncMs = performance.now() - committedMs;
      this.#parts.inThread?.place.inPool(syncMs);
      this.#synced(committed, syncMs, 'pool');
      this.#step();
    });
  }

  #synced(committed: Committed, syncMs: number, by: 'thread' | 'pool'): void {
    const {metrics} = this.#parts;
    metrics.count('svc_commit_syncs_total', {by});
    metrics.observe('svc_commit_fsync_seconds', syncMs / 1000);
    this.#completed(committed, syncMs);
  }

  #completedLater(committed: Committed, committedMs: number): void {
    this.#completed(committed, performance.now() - committedMs);
    this.#step();
  }

  /** @param ms since the COMMIT */
  #completed(committed: Committed, ms: number): void {
    assert(committed.pending > 0, 'each durability completes once');
    if (--committed.pending > 0) return;
    this.#parts.linger?.synced(ms);
    this.#parts.metrics.observe('svc_commit_durable_seconds', (committed.group.workMs + ms) / 1000);
  }

  /** Clients get an answer, and no write follows until it is known. */
  #leaveUndecided(committed: Committed): void {
    const {group} = committed;
    committed.isUndecided = true;
    this.#parts.log.error('it is unknown whether a commit is in the log', {writes: group.writes.length});
    group.writes = group.writes.map(write => {
      if (write.answersClient !== true) return write;
      write.settle(outcomeUnknown());
      return {...write, settle: () => undefined};
    });
    for (const write of this.#queue.splice(0)) write.settle(undecidedBefore());
    this.#step();
  }

  #tell({group, commit}: Committed): void {
    this.#durableSequence = commit.lastSequence;
    passThrough(this.#parts.stages, commit);
    this.#settle(group);
  }

  /** There is no space, or a write met a broken page: the whole group is rolled back. */
  #refuse(group: OpenGroup, caught: unknown): void {
    const isDamage = metEngineDamage(caught);
    if (!isDamage && storageFailure(caught) !== 'full') throw caught;
    if (!isDamage) this.#parts.log.error('the disk is full; a group of writes failed', {writes: group.writes.length});
    this.#rollBack(group, isDamage ? () => storageDamaged({check: 'engine'}) : storageFullError);
  }

  #rollBack(group: OpenGroup, error: () => ServiceError): void {
    if (this.#writer.db.inTransaction) this.#writer.statements.rollback.run();
    this.#writer.returnTo(group.start);
    this.#writer.endGroup();
    this.#open = null;
    group.outcomes = group.writes.map(error);
    for (const stage of this.#parts.stages) stage.takenBack?.();
    this.#settle(group);
  }

  #settle({writes, outcomes, waiting}: OpenGroup): void {
    assert(outcomes.length === writes.length, 'every write of a group has an outcome');
    for (const [i, write] of writes.entries()) write.settle(outcomes[i]!);
    for (const call of waiting) call();
  }
}

/** The outcome of the writes is unknown: no reply is sent, and the next process recovers from disk. */
function syncFailed(cause: unknown): Error {
  return new Error('the log could not be synced', {cause});
}

function outcomeUnknown(): ServiceError {
  const message = "the cluster's log did not say whether it has the write: it may have been made";
  return new ServiceError('session.outcome_unknown', message);
}

function undecidedBefore(): ServiceError {
  return overloaded("nothing was written: the cluster's log has not decided an earlier write; try again shortly");
}
