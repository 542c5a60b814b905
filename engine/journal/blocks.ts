/**
 * The summaries of the journal's blocks, and the counts over time that come from them. They are made when someone
 * searches or counts, from the newest block to the oldest, in slices between requests; writes know nothing of them.
 *
 * They are in memory only: nothing of them can be damaged or outdated on disk. Records never change, so a summary stays
 * true until retention removes its block. A block without a summary is read.
 */
import {performance} from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {JournalCounts} from '../../shared/protocol/journal-counts.ts';
import {
  JOURNAL_BLOCK_RECORDS,
  JOURNAL_BLOCKS_BEGUN_MAX,
  JOURNAL_SEARCH_MS,
  JOURNAL_SUMMARY_BYTES_MAX,
  JOURNAL_SUMMARY_MS,
  JOURNAL_SUMMARY_PAUSE_MS,
} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading} from '../storage/damage.ts';
import {type BlockFilter, BlockSummary, blockOf, kindsIn} from './block-summary.ts';
import type {JournalReader} from './read-page.ts';
import type {JournalTimes} from './times.ts';

type Row = {sequence: number; record: string};
export type CountRequest = {readonly from: number | null; readonly to: number | null; readonly buckets: number};

export class JournalBlocks {
  readonly #journal: Pick<JournalReader, 'floor' | 'head'>;
  readonly #times: JournalTimes;
  readonly #inSnapshot: () => void;
  readonly #rows: Database.Statement<[number, number], Row>;
  /** Complete ones, by their first sequence. */
  readonly #complete = new Map<number, BlockSummary>();
  #bytes = 0;
  /** There is no memory for summaries of blocks before it. */
  #oldest = 0;
  /** The newest block, and those that are being made. */
  readonly #begun = new Map<number, BlockSummary>();
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** @param inSnapshot called before reads of a slice */
  constructor(
    db: Connection,
    journal: Pick<JournalReader, 'floor' | 'head'>,
    times: JournalTimes,
    inSnapshot: () => void,
  ) {
    this.#journal = journal;
    this.#times = times;
    this.#inSnapshot = inSnapshot;
    this.#rows = db.prepare('SELECT sequence, record FROM journal WHERE sequence BETWEEN ? AND ? ORDER BY sequence');
  }

  /** False: no record of this block passes. A block without a summary gets one later. @param first of a block */
  mayPass(first: number, filter: BlockFilter): boolean {
    const summary = this.#complete.get(first);
    if (summary !== undefined) return summary.mayPass(filter);
    if (first >= this.#oldest && first + JOURNAL_BLOCK_RECORDS - 1 <= this.#journal.head()) this.#later();
    return true;
  }

  /**
   * Counts records by time and kind, from the newest block on. When its time is up, the rest is counted by later
   * requests, for which the summaries are made meanwhile.
   */
  count({from, to, buckets: most}: CountRequest): JournalCounts {
    const floor = this.#journal.floor();
    const head = this.#journal.head();
    const none = (ms: number) => ({
      from: ms,
      to: to ?? ms,
      bucket_ms: 1,
      buckets: [],
      counted_from: ms,
      complete: true,
    });
    if (head < floor) return none(from ?? 0);
    const fromMs = from ?? Math.floor(this.#times.of(floor));
    if (to !== null && to < fromMs) return none(to);
    const toMs = Math.max(fromMs, to ?? Math.ceil(this.#times.of(head)));
    const low = Math.max(floor, this.#times.firstAt(fromMs));
    const high = this.#times.firstAt(toMs + 1) - 1;
    const bucketMs = Math.ceil((toMs - fromMs + 1) / most);
    const counts = new Map<number, Map<number, number>>();
    const bucketOf = (ms: number) => (ms > toMs ? null : Math.max(0, Math.floor((ms - fromMs) / bucketMs)));
    const count = (bucket: number, kinds: number, records: number): void => {
      const ofBucket = counts.get(bucket) ?? new Map<number, number>();
      if (ofBucket.size === 0) counts.set(bucket, ofBucket);
      ofBucket.set(kinds, (ofBucket.get(kinds) ?? 0) + records);
    };
    const endsMs = performance.now() + JOURNAL_SEARCH_MS;
    let countedFrom = high + 1;
    while (countedFrom > low) {
      const summary = this.#read(blockOf(countedFrom - 1), endsMs);
      if (summary === null) break;
      summary.count(low, bucketOf, count);
      countedFrom = Math.max(low, summary.first);
    }
    const isComplete = countedFrom <= low;
    if (!isComplete) this.#later();
    return {
      ...{from: fromMs, to: toMs, bucket_ms: bucketMs},
      buckets: [...counts]
        .sort(([one], [other]) => one - other)
        .map(([bucket, ofBucket]) => ({at: fromMs + bucket * bucketMs, ...shown(ofBucket)})),
      counted_from: isComplete ? fromMs : countedFrom > head ? toMs : Math.floor(this.#times.of(countedFrom)),
      complete: isComplete,
    };
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** The summary of a block up to the newest record; null: its time is up. */
  #read(first: number, endsMs: number): BlockSummary | null {
    const known = this.#complete.get(first);
    if (known !== undefined) return known;
    const summary = this.#begun.get(first) ?? new BlockSummary(first, Math.max(first, this.#journal.floor()));
    const last = Math.min(first + JOURNAL_BLOCK_RECORDS - 1, this.#journal.head());
    this.#begun.set(first, summary);
    if (this.#begun.size > JOURNAL_BLOCKS_BEGUN_MAX) this.#begun.delete(Math.min(...this.#begun.keys()));
    reading(() => {
      if (summary.next > last || performance.now() >= endsMs) return;
      for (const {sequence, record} of this.#rows.iterate(summary.next, last)) {
        while (summary.next < sequence) summary.add(null);
        summary.add(record);
        if (performance.now() >= endsMs) break;
      }
    });
    // The last records can be missing; if there was no time for them, they are not.
    while (summary.next <= last && performance.now() < endsMs) summary.add(null);
    if (summary.isComplete) this.#keep(summary);
    return summary.next > last ? summary : null;
  }

  #keep(summary: BlockSummary): void {
    this.#begun.delete(summary.first);
    assert(!this.#complete.has(summary.first), 'a block is summarized once');
    this.#complete.set(summary.first, summary);
    this.#bytes += summary.bytes;
    while (this.#bytes > JOURNAL_SUMMARY_BYTES_MAX) {
      const first = Math.min(...this.#complete.keys());
      this.#forget(first);
      this.#oldest = first + JOURNAL_BLOCK_RECORDS;
    }
  }

  #forget(first: number): void {
    this.#bytes -= this.#complete.get(first)?.bytes ?? 0;
    this.#complete.delete(first);
    this.#begun.delete(first);
  }

  #later(): void {
    if (this.#timer !== null || this.#isStopped) return;
    this.#timer = setTimeout(() => this.#slice(), JOURNAL_SUMMARY_PAUSE_MS).unref();
  }

  #slice(): void {
    this.#timer = null;
    try {
      this.#inSnapshot();
      const floor = reading(() => this.#journal.floor());
      for (const first of [...this.#complete.keys(), ...this.#begun.keys()]) {
        if (first + JOURNAL_BLOCK_RECORDS <= floor) this.#forget(first);
      }
      this.#makeSome(floor);
    } catch (caught) {
      // A damaged page: requests that read it get the error, and the block has no summary.
      if (!(caught instanceof ServiceError)) throw caught;
    }
  }

  #makeSome(floor: number): void {
    const endsMs = performance.now() + JOURNAL_SUMMARY_MS;
    const newest = blockOf(this.#journal.head() + 1) - JOURNAL_BLOCK_RECORDS;
    const oldest = Math.max(blockOf(floor), this.#oldest);
    for (let first = newest; first >= oldest; first -= JOURNAL_BLOCK_RECORDS) {
      if (this.#complete.has(first)) continue;
      if (this.#read(first, endsMs) === null) {
        this.#later();
        return;
      }
    }
  }
}

/** @param counts by the bits of the kinds */
function shown(counts: ReadonlyMap<number, number>): Pick<JournalCounts['buckets'][number], 'records' | 'kinds'> {
  let records = 0;
  const kinds: Record<string, number> = {};
  for (const [bits, count] of counts) {
    records += count;
    for (const kind of kindsIn(bits)) kinds[kind] = (kinds[kind] ?? 0) + count;
  }
  return {records, kinds};
}
