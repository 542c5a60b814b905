/**
 * The group whose transaction is open: it runs each write in a savepoint of its own. A write that checks everything
 * before its first change needs none, because what it throws leaves nothing to roll back. A savepoint takes two of the
 * six statements of an insert.
 */
import {AssertionError, assert} from '../../shared/assert.ts';
import {asServiceError, type ServiceError} from '../../shared/errors.ts';
import type {Logger} from '../../shared/log.ts';
import {BACKGROUND_WORK_MS_MAX, BACKGROUND_WRITES_MAX, GROUP_WORK_MS_MAX} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {metEngineDamage} from '../storage/damage.ts';
import {storageFailure} from '../storage/database.ts';
import {SYSTEM} from './cause.ts';
import type {StorageQuota} from './storage-quota.ts';
import type {Write} from './write.ts';
import type {Mark, Writer} from './writer.ts';

/** A write that continues in the next turn. */
type UnderWay = {readonly mark: Mark; readonly slices: Generator<void, unknown, void>};
const UNFINISHED = Symbol('a write goes on in the next turn');

type OpenGroupParts = {readonly writer: Writer; readonly log: Logger; readonly quota?: StorageQuota};

export class OpenGroup {
  readonly #parts: OpenGroupParts;
  readonly start: Mark;
  /** Rows that the connection had changed when the group began. */
  readonly #changesBefore: number;
  workMs = 0;
  writes: Write<unknown>[] = [];
  /** Of the writes so far. */
  outcomes: unknown[] = [];
  /** Called when the group is durable and settled. */
  readonly waiting: (() => void)[] = [];
  /** All its writes collect. */
  #isBackground = true;
  /** How many writes it had when `waitsForMore` was called last. */
  #writesSeen = 0;
  /** The last write of the group, which is not committed before that write has ended. */
  #underWay: UnderWay | null = null;

  /** Begins its transaction. */
  constructor(parts: OpenGroupParts) {
    const {writer, quota} = parts;
    this.#parts = parts;
    writer.statements.begin.run();
    quota?.beginGroup();
    this.#changesBefore = writer.statements.totalChanges.get()!;
    this.start = writer.mark();
  }

  get isUnderWay(): boolean {
    return this.#underWay !== null;
  }

  /**
   * Whether it is left open for more writes, because no client waits for those it has (`collects`).
   * @param isQueued writes will run in the next turn
   */
  waitsForMore(isQueued: boolean): boolean {
    if (!this.#isBackground || this.waiting.length > 0) return false;
    if (this.writes.length >= BACKGROUND_WRITES_MAX || this.workMs >= BACKGROUND_WORK_MS_MAX) return false;
    const hasMore = isQueued || this.writes.length > this.#writesSeen;
    this.#writesSeen = this.writes.length;
    return hasMore;
  }

  /** Whether anything has been written. */
  get isWritten(): boolean {
    return this.#parts.writer.statements.totalChanges.get() !== this.#changesBefore;
  }

  /** @param started start of the turn. @throws a storage error or a failed assertion: the group cannot be committed */
  run(write: Write<unknown>, started: number): void {
    const {writer, quota} = this.#parts;
    this.writes.push(write);
    this.#isBackground &&= write.collects === true;
    const mark = writer.mark();
    writer.cause = write.cause ?? SYSTEM;
    // Over the quota, a write fails after its last change.
    if (write.checksFirst === true && quota?.isNear !== true && 'run' in write) {
      this.outcomes.push(this.#withoutSavepoint(write.run, mark));
      return;
    }
    writer.statements.savepoint.run();
    if ('slices' in write) {
      this.#underWay = {mark, slices: write.slices(writer)};
      this.goOn(started);
      return;
    }
    let outcome: unknown;
    try {
      outcome = this.#made(write.run(writer), mark);
    } catch (caught) {
      outcome = this.#takenBack(caught, mark);
    }
    this.outcomes.push(outcome);
  }

  #withoutSavepoint(run: (writer: Writer) => unknown, mark: Mark): unknown {
    const {writer} = this.#parts;
    let result: unknown;
    try {
      result = run(writer);
    } catch (caught) {
      if (endsGroup(caught, writer.db)) throw caught;
      assert(writer.isUnchangedSince(mark), `a write that checks first failed after a change: ${caught}`);
      writer.returnTo(mark); // what it said of its record
      return this.#refused(caught);
    }
    writer.appendRecord();
    return result;
  }

  /** Continues the write under way until it has ended or its turn is over. @throws as `run` */
  goOn(started: number): void {
    const underWay = this.#underWay!;
    this.#underWay = null;
    const outcome = this.#advance(underWay, started);
    if (outcome !== UNFINISHED) this.outcomes.push(outcome);
    else this.#underWay = underWay;
  }

  #advance({slices, mark}: UnderWay, started: number): unknown {
    try {
      for (let step = slices.next(); ; step = slices.next()) {
        if (step.done === true) return this.#made(step.value, mark);
        if (performance.now() - started >= GROUP_WORK_MS_MAX) return UNFINISHED;
      }
    } catch (caught) {
      return this.#takenBack(caught, mark);
    }
  }

  #made(result: unknown, mark: Mark): unknown {
    const {writer, quota} = this.#parts;
    writer.appendRecord();
    quota?.check(writer, mark);
    writer.statements.release.run();
    return result;
  }

  #takenBack(caught: unknown, mark: Mark): ServiceError {
    const {writer} = this.#parts;
    if (endsGroup(caught, writer.db)) throw caught;
    writer.statements.rollbackTo.run();
    writer.statements.release.run();
    writer.returnTo(mark);
    return this.#refused(caught);
  }

  #refused(caught: unknown): ServiceError {
    const error = asServiceError(caught);
    if (error.cause !== undefined) this.#parts.log.error('a write failed', {error: error.cause});
    return error;
  }
}

/** Whether this cannot be the outcome of one write alone. */
export function endsGroup(caught: unknown, db: Connection): boolean {
  if (caught instanceof AssertionError) return true;
  // A storage error may have ended the transaction, including every earlier write in it. After SQLite meets a broken
  // structure, it refuses further writes and COMMIT in the transaction.
  return storageFailure(caught) !== null || metEngineDamage(caught) || !db.inTransaction;
}
