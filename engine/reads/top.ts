/**
 * The first k of the offered documents, in an order by key, then document number. A binary heap whose root is the last
 * document kept, so memory is bounded by k, not by the number offered. Rows are kept with their positions while they
 * are few bytes; beyond that the caller reads the selected ones again.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {type ServiceError, tooLarge} from '../../shared/errors.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import {ORDER_KEYS_BYTES_MAX} from '../limits.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Position} from './position.ts';

/** A document's position in the order of a query object; ids do not matter to it. */
type EntryKey = Pick<Position, 'key' | 'doc'>;
/** `row` null: it was too large to keep. */
export type TopEntry = EntryKey & {row: DocumentRow | null};

export class FirstInOrder {
  readonly #most: number;
  readonly #sign: number;
  readonly #after: EntryKey | null;
  readonly #heap: TopEntry[] = [];
  #keyBytes = 0;
  #rowChars = 0;

  /** @param most k, or Infinity to keep all, @param after only positions strictly beyond this one are kept */
  constructor(most: number, reverse: boolean, after: EntryKey | null) {
    this.#most = most;
    this.#sign = reverse ? -1 : 1;
    this.#after = after;
  }

  /**
   * True when the document is among the first k so far. @throws op.too_large 413 when their keys are too large for
   * memory
   */
  offer(key: Buffer, row: DocumentRow): boolean {
    const entry: TopEntry = {key, doc: row.doc, row};
    if (this.#after !== null && this.#compare(entry, this.#after) <= 0) return false;
    const full = this.#heap.length >= this.#most;
    if (full && this.#compare(entry, this.#heap[0]!) >= 0) return false;
    if (full) this.#count(this.#heap[0]!, -1);
    if (this.#rowChars + row.body.length > RESULT_BYTES_MAX) entry.row = null;
    this.#count(entry, 1);
    if (this.#keyBytes > ORDER_KEYS_BYTES_MAX) throw keysTooLarge();
    if (full) {
      this.#heap[0] = entry;
      this.#sink();
    } else {
      this.#heap.push(entry);
      if (Number.isFinite(this.#most)) this.#rise(this.#heap.length - 1);
    }
    return true;
  }

  inOrder(): TopEntry[] {
    assert(this.#heap.length <= this.#most, `${this.#heap.length} documents are held of ${this.#most}`);
    return this.#heap.sort((a, b) => this.#compare(a, b));
  }

  #count({key, row}: TopEntry, sign: 1 | -1): void {
    this.#keyBytes += sign * key.length;
    if (row !== null) this.#rowChars += sign * row.body.length;
    assert(this.#keyBytes >= 0 && this.#rowChars >= 0, 'what is kept is counted once');
  }

  #compare(a: EntryKey, b: EntryKey): number {
    return this.#sign * (Buffer.compare(a.key, b.key) || a.doc - b.doc);
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#compare(this.#heap[at]!, this.#heap[parent]!) <= 0) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      let largest = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && this.#compare(this.#heap[child]!, this.#heap[largest]!) > 0) largest = child;
      }
      if (largest === at) return;
      this.#swap(at, largest);
      at = largest;
    }
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b]!, this.#heap[a]!];
  }
}

function keysTooLarge(): ServiceError {
  return tooLarge(
    `the values to order by take more than ${ORDER_KEYS_BYTES_MAX} bytes; ask for smaller pages, or order by a shorter field`,
  );
}
