/**
 * One page of the tenant's journal, oldest first, as JSON text: stored records are passed on without a parse. A follower
 * polls with the last `next_cursor`, so an empty page returns the cursor it was given (0 would replay everything). A gap is
 * corruption: stop, never skip a record.
 *
 * GET /api/tenants/{tenant_id}/journal
 * @source spec, "Journal"; caps and the expired cursor are ours (design, section 4)
 */
import type Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {JOURNAL_PAGE_BYTES_MAX, JOURNAL_PAGE_RECORDS_DEFAULT, JOURNAL_PAGE_RECORDS_MAX} from '../../shared/limits.ts';
import type {Connection} from '../storage/database.ts';

type Row = {sequence: number; record: string; digest: string};

export class JournalReader {
  readonly #after: Database.Statement<[number, number], Row>;
  readonly #head: Database.Statement<[], number | null>;
  readonly #floor: Database.Statement<[], number>;

  constructor(db: Connection) {
    this.#after = db.prepare(
      'SELECT sequence, record, digest FROM journal WHERE sequence > ? ORDER BY sequence LIMIT ?',
    );
    this.#head = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck();
    this.#floor = db.prepare<[], number>("SELECT value FROM meta WHERE key = 'journal_floor'").pluck();
  }

  /** The highest durable sequence; 0 before the first record. */
  head(): number {
    return this.#head.get() ?? 0;
  }

  /** The lowest retained sequence; 1 before the first record. */
  floor(): number {
    return this.#floor.get()!;
  }

  /**
   * @param after records beyond this sequence; null: from the floor on
   * @param limit records at most, 1 or more
   * @throws journal.cursor_expired 410 when records after `after` are gone
   */
  page(after: number | null, limit: number): string {
    const floor = this.floor();
    const from = after ?? floor - 1;
    // `after = floor - 1` misses nothing; only an older cursor has lost records to retention.
    if (from + 1 < floor) {
      throw new ServiceError('journal.cursor_expired', `records after ${from} are gone; the oldest kept is ${floor}`, {
        cursor_floor: floor,
      });
    }
    const asked = Math.min(limit, JOURNAL_PAGE_RECORDS_MAX);
    const rows = this.#after.all(from, asked + 1); // one extra row answers has_more
    const records: string[] = [];
    let bytes = 0;
    for (const row of rows.slice(0, asked)) {
      assert(row.sequence === from + records.length + 1, `gap in the journal before ${row.sequence}`);
      bytes += row.record.length;
      if (records.length > 0 && bytes > JOURNAL_PAGE_BYTES_MAX) break;
      records.push(recordText(row));
    }
    return (
      `{"records":[${records.join(',')}],"next_cursor":${from + records.length},"latest_sequence":${this.head()},` +
      `"cursor_floor":${floor},"has_more":${rows.length > records.length}}`
    );
  }
}

/** A record as clients see it: the stored JSON with its digest as the last field. */
function recordText(row: Row): string {
  return `${row.record.slice(0, -1)},"integrity_sha256":"${row.digest}"}`;
}

/** The query string's parameters. Unknown ones are ignored. @throws op.invalid_input 400 */
export function parseJournalParameters(query: string): {after: number | null; limit: number} {
  const parameters = new URLSearchParams(query);
  return {
    after: wholeNumber(parameters, 'after', 0),
    limit: wholeNumber(parameters, 'limit', 1) ?? JOURNAL_PAGE_RECORDS_DEFAULT,
  };
}

function wholeNumber(parameters: URLSearchParams, name: string, least: number): number | null {
  const text = parameters.get(name);
  if (text === null) return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new ServiceError('op.invalid_input', `${name} must be a whole number, ${least} or more`);
}
