/**
 * The versions of one document in the journal. Records are in order of time, so the one that wrote the current version
 * is found by bisection, and records are read backwards from there, a bounded number at a time.
 */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {call} from '../../api/client.ts';
import {HISTORY_PAGE_RECORDS, HISTORY_PAGES} from './limits.ts';
import type {Doc} from './row-order.ts';

type JournalRecord = AnswerOf<'journal.page'>['records'][number];

/** A record is written a moment after the update time of its document was chosen. */
const COMMIT_MS = 1_000;

export type Version = {
  readonly sequence: number;
  readonly at: number;
  readonly op: 'insert' | 'update' | 'delete';
  /** Null: the record deleted it. */
  readonly doc: Doc | null;
};
type Versions = {readonly versions: readonly Version[]; readonly next: number | null};

/** @param before read records with smaller sequences; null: begin at the document's current version */
export async function versionsBefore(
  tenant: string,
  table: string,
  doc: Doc,
  before: number | null,
  signal: AbortSignal,
): Promise<Versions> {
  const page = (after: number, limit: number) => call('journal.page', {tenant, query: {after, limit}}, {signal});
  const {cursor_floor: floor, latest_sequence: latest} = await page(0, 1).catch(() => page(Number.MAX_SAFE_INTEGER, 1));
  let until = before ?? (await lastBefore(doc._updateTime + COMMIT_MS, floor, latest, at => page(at - 1, 1)));
  const versions: Version[] = [];
  for (let pages = 0; pages < HISTORY_PAGES && until > floor; pages++) {
    const after = Math.max(floor - 1, until - 1 - HISTORY_PAGE_RECORDS);
    const records = await recordsBetween(after, until, page);
    for (const {sequence, timestamp, writes} of records.toReversed()) {
      const write = writes.findLast(one => one.table === table && one.id === doc._id);
      if (write !== undefined)
        versions.push({sequence, at: timestamp, op: write.op, doc: write.document as unknown as Doc | null});
    }
    until = after + 1;
    const isBorn = versions.at(-1)?.op === 'insert' || (records[0]?.timestamp ?? 0) < doc._creationTime;
    if (isBorn) return {versions, next: null};
  }
  return {versions, next: until > floor ? until : null};
}

type Page = {readonly records: readonly JournalRecord[]; readonly next_cursor: number};

/** A page also ends before 8 MiB, so a range of large records takes several. */
async function recordsBetween(
  after: number,
  until: number,
  page: (after: number, limit: number) => Promise<Page>,
): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (let cursor = after; cursor < until - 1; ) {
    const {records: some, next_cursor: next} = await page(cursor, until - 1 - cursor);
    if (some.length === 0) break;
    records.push(...some);
    cursor = next;
  }
  return records;
}

/** The first sequence whose record is later than a time. */
async function lastBefore(
  time: number,
  floor: number,
  latest: number,
  read: (sequence: number) => Promise<{records: readonly {timestamp: number}[]}>,
): Promise<number> {
  let [low, high] = [floor, latest + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const {records} = await read(middle);
    if ((records[0]?.timestamp ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return high;
}
