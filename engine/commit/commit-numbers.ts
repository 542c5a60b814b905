/**
 * Numbers the commits of the one writer (`storage/commit-number.ts`). The records of a group get its number as they are
 * appended; a commit without records stores its number as its last change. So a commit writes no page for its number
 * that it would not write anyway, unless it has no records.
 */
import {COMMIT_NUMBER, storedCommitNumber} from '../storage/commit-number.ts';
import type {Connection} from '../storage/connection.ts';
import type {Statements} from '../storage/statements.ts';

export class CommitNumbers {
  readonly #db: Connection;
  readonly #statements: Statements;
  #newest: number;

  constructor(db: Connection, statements: Statements) {
    this.#db = db;
    this.#statements = statements;
    this.#newest = storedCommitNumber(db);
  }

  /** Of the newest commit, which may not be durable yet. */
  get newest(): number {
    return this.#newest;
  }

  get next(): number {
    return this.#newest + 1;
  }

  /** Call it last before COMMIT, if anything was written. */
  store(hasRecords: boolean): void {
    if (!hasRecords) this.#statements.setMeta.run(COMMIT_NUMBER, this.next);
  }

  /** Call it after the COMMIT of what was written. */
  committed(): void {
    this.#newest++;
  }

  /** Makes a commit outside of groups, if `change` changes anything. */
  alone(change: () => void): void {
    const {totalChanges} = this.#statements;
    const make = this.#db.transaction(() => {
      const before = totalChanges.get();
      change();
      const isWritten = totalChanges.get() !== before;
      if (isWritten) this.store(false);
      return isWritten;
    });
    if (make.immediate()) this.committed();
  }
}
