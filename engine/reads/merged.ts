/** Merges the rows of several scans, each in the order of the query, into one sequence in that order. */
import {Buffer} from 'node:buffer';
import type {DocumentRow} from '../storage/rows.ts';
import type {Candidates} from './candidates.ts';
import {type Order, orderKey} from './order.ts';
import {NO_KEY} from './position.ts';

type Head = {readonly candidates: Candidates; readonly key: Buffer; readonly row: DocumentRow};

export class Merged {
  readonly #order: Order;
  readonly #sign: number;
  /** The next row of each scan that has one; null: not begun. They are few, so a linear search is as fast as a heap. */
  #heads: Head[] | null = null;
  readonly #candidates: readonly Candidates[];
  /** The scan of the last returned row: its next row is read when another is requested. */
  #taken: Candidates | null = null;

  constructor(candidates: readonly Candidates[], order: Order) {
    this.#candidates = candidates;
    this.#order = order;
    this.#sign = order.reverse ? -1 : 1;
  }

  /** @param wanted how many more rows the caller takes at most */
  next(wanted: number): DocumentRow | null {
    const share = Math.max(2, Math.ceil((2 * wanted) / this.#candidates.length));
    if (this.#heads === null) this.#heads = this.#candidates.flatMap(candidates => this.#headOf(candidates, share));
    else if (this.#taken !== null) this.#heads.push(...this.#headOf(this.#taken, share));
    let first = -1;
    for (const [i, head] of this.#heads.entries()) {
      if (first === -1 || this.#compare(head, this.#heads[first]!) < 0) first = i;
    }
    const [head] = first === -1 ? [] : this.#heads.splice(first, 1);
    this.#taken = head?.candidates ?? null;
    return head?.row ?? null;
  }

  #headOf(candidates: Candidates, wanted: number): Head[] {
    const row = candidates.next(wanted);
    if (row === null) return [];
    const key = this.#order.fields.length === 0 ? NO_KEY : orderKey(this.#order, candidates.parsed(row));
    return [{candidates, row, key}];
  }

  #compare(a: Head, b: Head): number {
    return this.#sign * (Buffer.compare(a.key, b.key) || a.row.doc - b.row.doc);
  }
}
