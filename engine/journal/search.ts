/**
 * Records of the journal that concern a document, a table, a kind of change or a time, as a page in either order.
 *
 * Blocks of records that cannot match are passed over by their summaries (`blocks.ts`). In the others, SQLite looks for
 * the filter's texts, some records at a time, and only what it finds is parsed. A page ends when it is full or its time
 * is up, so it can be empty while there is more: its cursor goes on from there.
 */
import {Buffer} from 'node:buffer';
import {performance} from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import {invalid} from '../../shared/errors.ts';
import {JOURNAL_KINDS, type JournalKind} from '../../shared/journal-kinds.ts';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import {
  JOURNAL_BLOCK_RECORDS,
  JOURNAL_PAGE_BYTES_MAX,
  JOURNAL_PAGE_RECORDS_MAX,
  JOURNAL_SEARCH_MS,
  JOURNAL_SEARCH_RECORDS,
} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading} from '../storage/damage.ts';
import {type BlockFilter, blockOf} from './block-summary.ts';
import type {JournalBlocks} from './blocks.ts';
import {causeIds, concernedBy} from './concerned.ts';
import {type JournalReader, type JournalRequest, type JournalRow, wholeNumber} from './read-page.ts';
import type {JournalTimes} from './times.ts';

/** A member that is null lets every record pass. `requestId`: of the request, job or cron that its cause names. */
export type JournalFilter = BlockFilter & {
  /** Range of its timestamp, epoch milliseconds, both ends included. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly isDescending: boolean;
  /** Only records before this sequence. */
  readonly before: number | null;
};

type Bounds = [low: number, high: number, ...texts: FilterTexts];
type FilterTexts = [table: string, document: string, kind: string, request: string];

export class JournalSearch {
  readonly #journal: JournalReader;
  readonly #forward: Database.Statement<Bounds, JournalRow>;
  readonly #backward: Database.Statement<Bounds, JournalRow>;
  readonly #times: JournalTimes;
  readonly #blocks: JournalBlocks;

  constructor(db: Connection, journal: JournalReader, times: JournalTimes, blocks: JournalBlocks) {
    this.#journal = journal;
    this.#times = times;
    this.#blocks = blocks;
    const found = `SELECT sequence, record, digest FROM journal WHERE sequence BETWEEN ? AND ?
      AND instr(record, ?) > 0 AND instr(record, ?) > 0 AND instr(record, ?) > 0 AND instr(record, ?) > 0 ORDER BY sequence`;
    this.#forward = db.prepare(found);
    this.#backward = db.prepare(`${found} DESC`);
  }

  /** @throws as `JournalReader.page` */
  page(request: JournalRequest, filter: JournalFilter): string {
    const journal = this.#journal;
    const begin = journal.begin(request.after, request.timeline);
    const head = journal.head();
    const {fromMs, toMs, before, isDescending} = filter;
    const low = Math.max(begin + 1, fromMs === null ? 0 : this.#times.firstAt(fromMs));
    const high = Math.min(head, (before ?? head + 1) - 1, toMs === null ? head : this.#times.firstAt(toMs + 1) - 1);
    const {records, scanned} = this.#scan(low, high, filter, Math.min(request.limit, JOURNAL_PAGE_RECORDS_MAX));
    const hasMore = low <= high && scanned !== (isDescending ? low : high);
    return (
      `{"records":[${records.join(',')}],"next_cursor":${low <= high ? scanned : (before ?? begin)},` +
      `"latest_sequence":${head},"cursor_floor":${journal.floor()},"has_more":${hasMore},` +
      `"timeline":"${journal.timeline}"}`
    );
  }

  /** @returns matching records, and the last sequence that was looked at */
  #scan(low: number, high: number, filter: JournalFilter, limit: number): {records: string[]; scanned: number} {
    const {isDescending} = filter;
    const endsMs = performance.now() + JOURNAL_SEARCH_MS;
    const statement = isDescending ? this.#backward : this.#forward;
    const texts = textsOf(filter);
    const records: string[] = [];
    let bytes = 0;
    let scanned = isDescending ? high + 1 : low - 1;
    do {
      const next = isDescending ? scanned - 1 : scanned + 1;
      if (next < low || next > high) break;
      const first = blockOf(next);
      const last = first + JOURNAL_BLOCK_RECORDS - 1;
      if (!this.#blocks.mayPass(first, filter)) {
        scanned = isDescending ? Math.max(low, first) : Math.min(high, last);
        continue;
      }
      const from = isDescending ? Math.max(low, first, next - JOURNAL_SEARCH_RECORDS + 1) : next;
      const to = isDescending ? next : Math.min(high, last, next + JOURNAL_SEARCH_RECORDS - 1);
      for (const row of reading(() => statement.all(from, to, ...texts))) {
        const record = this.#journal.sealed(row);
        if (!concerns(row.record, filter)) continue;
        bytes += Buffer.byteLength(record);
        if (records.length === limit || (records.length > 0 && bytes > JOURNAL_PAGE_BYTES_MAX)) {
          return {records, scanned: isDescending ? row.sequence + 1 : row.sequence - 1};
        }
        records.push(record);
      }
      scanned = isDescending ? from : to;
    } while (performance.now() < endsMs);
    return {records, scanned};
  }
}

const WRITES: readonly JournalKind[] = ['insert', 'update', 'delete'];

/** Texts that a record has if it passes the filter. */
function textsOf({table, document, kind, requestId}: JournalFilter): FilterTexts {
  const ofKind = kind === null ? '' : WRITES.includes(kind) ? `"op":"${kind}"` : `"type":"${kind}.`;
  return [quoted(table), quoted(document), ofKind, quoted(requestId)];
}

function quoted(text: string | null): string {
  return text === null ? '' : JSON.stringify(text);
}

/** @param text of a sound record */
function concerns(text: string, {table, document, kind, requestId}: JournalFilter): boolean {
  const isOfAny = table === null && document === null && kind === null;
  if (isOfAny && requestId === null) return true;
  const record = JSON.parse(text) as JournalRecord;
  if (requestId !== null && !causeIds(record).includes(requestId)) return false;
  return (
    isOfAny ||
    concernedBy(record).some(
      one =>
        (table === null || one.tables.includes(table)) &&
        (document === null || one.document === document) &&
        (kind === null || one.kind === kind),
    )
  );
}

/** Null: the request has no filter and no other order. @throws op.invalid_input 400 */
export function parseJournalFilter(query: string): JournalFilter | null {
  const parameters = new URLSearchParams(query);
  const order = parameters.get('order') ?? 'asc';
  if (order !== 'asc' && order !== 'desc') throw invalid('order must be asc or desc');
  const kind = parameters.get('kind') as JournalKind | null;
  if (kind !== null && !JOURNAL_KINDS.includes(kind)) throw invalid(`kind must be one of ${JOURNAL_KINDS.join(', ')}`);
  const filter = {
    table: parameters.get('table'),
    document: parameters.get('document'),
    kind,
    requestId: parameters.get('request_id'),
    fromMs: wholeNumber(parameters, 'from', 0),
    toMs: wholeNumber(parameters, 'to', 0),
    before: wholeNumber(parameters, 'before', 1),
  };
  const isDescending = order === 'desc';
  return isDescending || Object.values(filter).some(value => value !== null) ? {...filter, isDescending} : null;
}
