/**
 * A summary of one block of the journal: BLOCK_RECORDS consecutive records, the same ones for ever. It has the time and
 * the kinds of each record, and a Bloom filter of the tables, documents and causes of all of them. So a search knows
 * without reading them that they cannot match, and changes are counted over time.
 *
 * A summary only ever claims too much: a record that could not be read makes the whole block match.
 */
import {JOURNAL_KINDS, type JournalKind} from '../../shared/journal-kinds.ts';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import {JOURNAL_BLOCK_NAMES_MAX, JOURNAL_BLOCK_RECORDS} from '../limits.ts';
import {type Concerned, causeIds, concernedBy} from './concerned.ts';

/** A member that is null lets every record pass. */
export type BlockFilter = {
  readonly table: string | null;
  readonly document: string | null;
  readonly kind: JournalKind | null;
  readonly requestId: string | null;
};

/** The first sequence of the block that has this one. */
export function blockOf(sequence: number): number {
  return sequence - ((sequence - 1) % JOURNAL_BLOCK_RECORDS);
}

const BIT_OF = Object.fromEntries(JOURNAL_KINDS.map((kind, i) => [kind, 1 << i])) as Record<JournalKind, number>;
const ALL_KINDS = (1 << JOURNAL_KINDS.length) - 1;
const BITS_PER_NAME = 10;
const HASHES = 6;

type Name = 'table' | 'document' | 'cause';
const SEEDS: Readonly<Record<Name, number>> = {table: 0x811c9dc5, document: 0x050c5d1f, cause: 0x2f3c4b1d};

export class BlockSummary {
  readonly first: number;
  /** The next record to add. */
  next: number;
  /** Times of the records, epoch milliseconds. */
  readonly #times = new Float64Array(JOURNAL_BLOCK_RECORDS);
  readonly #kinds = new Uint16Array(JOURNAL_BLOCK_RECORDS);
  #allKinds = 0;
  /** Hashes of the names so far; null: the block is complete, or has too many. */
  #names: Set<number> | null = new Set();
  /** Of a complete block: records by the bits of their kinds. */
  #totals: Map<number, number> | null = null;
  /** Null: every name may be in it. */
  #bloom: Uint32Array | null = null;

  /** @param from the first record that is kept; those before it are not added */
  constructor(first: number, from: number) {
    this.first = first;
    this.next = from;
  }

  get isComplete(): boolean {
    return this.next === this.first + JOURNAL_BLOCK_RECORDS;
  }

  get bytes(): number {
    return 200 + JOURNAL_BLOCK_RECORDS * 10 + (this.#bloom?.byteLength ?? 0);
  }

  /** @param text of the record with the sequence `next`; null: it is missing */
  add(text: string | null): void {
    const at = this.next++ - this.first;
    const read = contentsOf(text);
    if (read === null) this.#mayBeAnything(at);
    else {
      this.#times[at] = read.timestamp;
      let kinds = 0;
      for (const {kind, tables, document} of read.concerned) {
        kinds |= BIT_OF[kind] ?? 0;
        for (const table of tables) this.#name('table', table);
        if (document !== null) this.#name('document', document);
      }
      for (const id of read.causes) this.#name('cause', id);
      this.#kinds[at] = kinds;
      this.#allKinds |= kinds;
    }
    if (this.isComplete) this.#complete();
  }

  #mayBeAnything(at: number): void {
    this.#times[at] = at === 0 ? 0 : this.#times[at - 1]!;
    this.#allKinds = ALL_KINDS;
    this.#names = null;
  }

  #name(name: Name, text: string): void {
    if (this.#names === null) return;
    this.#names.add(hashOf(text, SEEDS[name]));
    if (this.#names.size > JOURNAL_BLOCK_NAMES_MAX) this.#names = null;
  }

  #complete(): void {
    this.#totals = new Map();
    for (const kinds of this.#kinds) this.#totals.set(kinds, (this.#totals.get(kinds) ?? 0) + 1);
    const names = this.#names;
    this.#names = null;
    if (names === null) return;
    const words = 2 ** Math.ceil(Math.log2(Math.max(1, (names.size * BITS_PER_NAME) / 32)));
    this.#bloom = new Uint32Array(words);
    for (const name of names) for (const bit of bitsOf(name, words)) this.#bloom[bit >>> 5]! |= 1 << (bit & 31);
  }

  /** False: no record of the block passes the filter. Only of a complete one. */
  mayPass({table, document, kind, requestId}: BlockFilter): boolean {
    if (kind !== null && (this.#allKinds & BIT_OF[kind]) === 0) return false;
    return this.#mayHave('table', table) && this.#mayHave('document', document) && this.#mayHave('cause', requestId);
  }

  #mayHave(name: Name, text: string | null): boolean {
    const bloom = this.#bloom;
    if (bloom === null || text === null) return true;
    return bitsOf(hashOf(text, SEEDS[name]), bloom.length).every(bit => (bloom[bit >>> 5]! & (1 << (bit & 31))) !== 0);
  }

  /**
   * Counts the records from this sequence on by bucket and kinds.
   * @param bucketOf never goes back as times go on; null: it is not counted
   * @param count called with numbers of records
   */
  count(
    from: number,
    bucketOf: (ms: number) => number | null,
    count: (bucket: number, kinds: number, records: number) => void,
  ): void {
    const end = this.next - this.first;
    const begin = Math.max(0, from - this.first);
    if (begin >= end) return;
    const first = bucketOf(this.#times[begin]!);
    if (this.#totals !== null && begin === 0 && first === bucketOf(this.#times[end - 1]!)) {
      if (first !== null) for (const [kinds, records] of this.#totals) count(first, kinds, records);
      return;
    }
    for (let at = begin; at < end; at++) {
      const bucket = bucketOf(this.#times[at]!);
      if (bucket !== null) count(bucket, this.#kinds[at]!, 1);
    }
  }
}

/** The kinds in the bits of `count`. */
export function kindsIn(bits: number): JournalKind[] {
  return JOURNAL_KINDS.filter(kind => (bits & BIT_OF[kind]) !== 0);
}

type Contents = {timestamp: number; concerned: Concerned[]; causes: string[]};

/** Null: it is damaged. */
function contentsOf(text: string | null): Contents | null {
  if (text === null) return null;
  try {
    const record = JSON.parse(text) as JournalRecord;
    if (!Number.isFinite(record.timestamp)) return null;
    return {timestamp: record.timestamp, concerned: concernedBy(record), causes: causeIds(record)};
  } catch {
    return null;
  }
}

/** FNV-1a. */
function hashOf(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** @param words a power of two */
function bitsOf(hash: number, words: number): number[] {
  const step = (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) | 1;
  return Array.from({length: HASHES}, (_, i) => (hash + Math.imul(i, step)) & (words * 32 - 1));
}
