/**
 * One page of the tenant's journal, oldest first, as JSON text: stored records are sent without parsing them. A
 * follower polls with the last `next_cursor`, so an empty page returns the cursor of its request (0 would replay
 * everything). A cursor that this journal cannot have issued (above the head, or of another timeline) is refused:
 * waiting for its records would lose the records written until then.
 *
 * Every record is checked against its digest and the record before it. A page ends before a damaged or missing record,
 * and the page that begins there is 503 op.storage_damaged. So no record is skipped, and no damaged one is shown.
 *
 * GET /api/tenants/{tenant_id}/journal
 * @source spec, "Journal"; caps and the expired cursor are ours (design, section 4)
 */
import {Buffer} from 'node:buffer';
import type Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {invalid, ServiceError} from '../../shared/errors.ts';
import {FIRST_PREVIOUS_DIGEST} from '../../shared/journal-chain.ts';
import {recordDigest, sealedRecord} from '../commit/record.ts';
import {JOURNAL_PAGE_BYTES_MAX, JOURNAL_PAGE_RECORDS_DEFAULT, JOURNAL_PAGE_RECORDS_MAX} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading, storageDamaged} from '../storage/damage.ts';
import {journalTimeline} from '../storage/journal-timeline.ts';

export type JournalRequest = {after: number | null; limit: number; timeline: string | null};

export type JournalRow = {sequence: number; record: string; digest: string};

export class JournalReader {
  readonly #after: Database.Statement<[number, number], JournalRow>;
  readonly #head: Database.Statement<[], number | null>;
  readonly #floor: Database.Statement<[], number>;
  /** Distinguishes this journal from that of any other tenant, or of a tenant created again under the same id. */
  readonly timeline: string;
  readonly #digest: Database.Statement<[number], string>;
  readonly #floorDigest: Database.Statement<[], string>;

  constructor(db: Connection) {
    this.timeline = journalTimeline(db);
    this.#after = db.prepare(
      'SELECT sequence, record, digest FROM journal WHERE sequence > ? ORDER BY sequence LIMIT ? + 0',
    );
    this.#head = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck();
    this.#floor = db.prepare<[], number>("SELECT value FROM meta WHERE key = 'journal_floor'").pluck();
    this.#digest = db.prepare<[number], string>('SELECT digest FROM journal WHERE sequence = ?').pluck();
    this.#floorDigest = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'floor_previous_digest'").pluck();
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
   * @param after records after this sequence; null: from the lowest retained one on
   * @param limit maximum number of records, 1 or more
   * @param timeline the one that `after` belongs to; null: not given
   * @throws journal.cursor_expired 410 when records after `after` are gone, or `after` belongs to another journal
   */
  page({after, limit, timeline}: JournalRequest): string {
    const from = this.begin(after, timeline);
    const requested = Math.min(limit, JOURNAL_PAGE_RECORDS_MAX);
    const {records, hasMore} = this.#records(from, requested, JOURNAL_PAGE_BYTES_MAX);
    assert(records.length <= requested, 'a page has at most as many records as were asked for');
    return (
      `{"records":[${records.join(',')}],"next_cursor":${from + records.length},"latest_sequence":${this.head()},` +
      `"cursor_floor":${this.floor()},"has_more":${hasMore},"timeline":"${this.timeline}"}`
    );
  }

  /**
   * The cursor from which to continue. @param after as in `page`
   * @throws journal.cursor_expired 410
   */
  begin(after: number | null, timeline: string | null): number {
    const floor = this.floor();
    const head = this.head();
    const from = after ?? floor - 1;
    if (timeline !== null && timeline !== this.timeline) {
      throw this.#expired('the cursor is of another timeline: the tenant was recreated or replaced', head, floor);
    }
    if (from > head) {
      const why = `the journal ends at ${head}, before ${from}: the tenant was recreated, replaced or restored`;
      throw this.#expired(why, head, floor);
    }
    // `after = floor - 1` misses nothing; only an older cursor has lost records to retention.
    if (from + 1 < floor) {
      throw this.#expired(`records after ${from} are gone; the oldest kept is ${floor}`, head, floor);
    }
    return from;
  }

  /**
   * Records after a cursor, in the form of a page, up to this much text; at least one, unless there is none.
   * @throws journal.cursor_expired 410 when they have been trimmed in the meantime
   */
  some(from: number, bytesMax: number): string[] {
    return this.#records(this.begin(from, null), JOURNAL_PAGE_RECORDS_MAX, bytesMax).records;
  }

  #records(from: number, requested: number, bytesMax: number): {records: string[]; hasMore: boolean} {
    const records: string[] = [];
    let previous = from < this.head() ? this.#digestOf(from, this.floor()) : '';
    let hasMore = false;
    let bytes = 0;
    // Read one by one: records can be long, and a page ends when it is full. One extra row answers has_more.
    reading(() => {
      for (const row of this.#after.iterate(from, requested + 1)) {
        const sequence = from + records.length + 1;
        hasMore = records.length === requested;
        if (hasMore) break;
        if (row.sequence !== sequence || !fits(previous, row)) {
          if (records.length === 0) throw storageDamaged({check: 'chain', sequence});
          hasMore = true;
          break;
        }
        bytes += Buffer.byteLength(row.record);
        hasMore = records.length > 0 && bytes > bytesMax;
        if (hasMore) break;
        records.push(sealedRecord(row.record, row.digest));
        previous = row.digest;
      }
    });
    return {records, hasMore};
  }

  #expired(why: string, head: number, floor: number): ServiceError {
    const detail = {latest_sequence: head, cursor_floor: floor, timeline: this.timeline};
    return new ServiceError('journal.cursor_expired', `${why}; load journal/bootstrap and go on from there`, detail);
  }

  /** A record in the form of a page. @throws op.storage_damaged 503 */
  sealed(row: JournalRow): string {
    const {sequence, record, digest} = row;
    if (!fits(this.#digestOf(sequence - 1, this.floor()), row)) throw storageDamaged({check: 'chain', sequence});
    return sealedRecord(record, digest);
  }

  /** The digest that the record after `sequence` is chained to. */
  #digestOf(sequence: number, floor: number): string {
    if (sequence >= floor) {
      const digest = reading(() => this.#digest.get(sequence));
      if (digest === undefined) throw storageDamaged({check: 'chain', sequence});
      return digest;
    }
    assert(sequence === floor - 1, 'records before the floor are not read');
    return this.#floorDigest.get() ?? FIRST_PREVIOUS_DIGEST;
  }
}

/** A value in a damaged row can have another type than its column. */
function fits(previous: string, {record, digest}: JournalRow): boolean {
  return typeof record === 'string' && typeof digest === 'string' && recordDigest(previous, record) === digest;
}

/** Parses the query string. Unknown parameters are ignored. @throws op.invalid_input 400 */
export function parseJournalParameters(query: string): JournalRequest {
  const parameters = new URLSearchParams(query);
  return {
    after: wholeNumber(parameters, 'after', 0),
    limit: wholeNumber(parameters, 'limit', 1) ?? JOURNAL_PAGE_RECORDS_DEFAULT,
    timeline: parameters.get('timeline'),
  };
}

export function wholeNumber(parameters: URLSearchParams, name: string, least: number): number | null {
  const text = parameters.get(name);
  if (text === null) return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw invalid(`${name} must be a whole number, ${least} or more`);
}
