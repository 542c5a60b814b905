/** The times of journal records. They never go back, so a time becomes a sequence by binary search. */
import type Database from 'better-sqlite3';
import type {Connection} from '../storage/connection.ts';
import {reading, storageDamaged} from '../storage/damage.ts';
import type {JournalReader} from './read-page.ts';

export class JournalTimes {
  readonly #journal: Pick<JournalReader, 'floor' | 'head'>;
  readonly #start: Database.Statement<[number], string>;

  constructor(db: Connection, journal: Pick<JournalReader, 'floor' | 'head'>) {
    this.#journal = journal;
    this.#start = db.prepare<[number], string>('SELECT substr(record, 1, 100) FROM journal WHERE sequence = ?').pluck();
  }

  /** The first sequence whose record is of this time or later; above the newest if there is none. */
  firstAt(ms: number): number {
    let low = this.#journal.floor();
    let high = this.#journal.head() + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.of(middle) < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @throws op.storage_damaged 503 */
  of(sequence: number): number {
    const start = reading(() => this.#start.get(sequence));
    const [, timestamp] = /"timestamp":([\d.]+)/.exec(String(start)) ?? [];
    if (timestamp === undefined) throw storageDamaged({check: 'chain', sequence});
    return Number(timestamp);
  }
}
