/**
 * Limits the journal to the configured number of records. Old ones are removed in batches, inside a group's own
 * transaction, so that trimming never blocks the writer for long. The digest before the lowest retained record is kept,
 * so the chain can still be checked.
 */
import {assert} from '../../shared/assert.ts';
import type {Writer} from '../commit/writer.ts';
import {JOURNAL_TRIM_RECORDS} from '../limits.ts';

export class JournalRetention {
  readonly #keepRecords: number;
  #floor: number;
  /** The head's sequence from which on a batch is to be removed. */
  dueSequence: number;

  constructor(writer: Writer, keepRecords: number) {
    assert(keepRecords >= 1, 'the newest record is always kept');
    this.#keepRecords = keepRecords;
    this.#floor = writer.statements.meta.get('journal_floor') as number;
    this.dueSequence = this.#nextDue;
  }

  get #nextDue(): number {
    return this.#floor - 1 + this.#keepRecords + Math.min(JOURNAL_TRIM_RECORDS, this.#keepRecords);
  }

  get floor(): number {
    return this.#floor;
  }

  /** Call it last in a group, once `dueSequence` is reached: removes at most two batches. */
  trim(writer: Writer): void {
    const surplus = writer.head.sequence - this.#floor + 1 - this.#keepRecords;
    assert(writer.head.sequence >= this.dueSequence, 'the journal is trimmed by batches');
    const before = this.#floor;
    const floor = before + Math.min(surplus, 2 * JOURNAL_TRIM_RECORDS);
    const digest = writer.statements.journalDigest.get(floor - 1);
    assert(digest !== undefined, `record ${floor - 1} is missing`);
    writer.statements.trimJournal.run(floor);
    writer.statements.setMeta.run('journal_floor', floor);
    writer.statements.setMeta.run('floor_previous_digest', digest);
    this.#move(floor);
    writer.onRollback(() => this.#move(before));
  }

  #move(floor: number): void {
    this.#floor = floor;
    this.dueSequence = this.#nextDue;
  }
}
