/** The rows of a scan that pass a filter. */

import type {Value} from '../../shared/values/value.ts';
import {SCAN_ROWS_BETWEEN_CHECKS} from '../limits.ts';
import {parseDocument} from '../storage/document.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Predicate} from './filter.ts';
import type {ReadBudget} from './read-budget.ts';
import type {Scan} from './scan.ts';

export class Candidates {
  readonly #scan: Scan;
  readonly #passes: Predicate | null;
  readonly #readBudget: ReadBudget;
  #looked = 0;
  /** The last returned row, if a filter had to parse it. */
  #parsed: Record<string, Value> | null = null;

  /** @param passes null: all rows pass */
  constructor(scan: Scan, passes: Predicate | null, readBudget: ReadBudget) {
    this.#scan = scan;
    this.#passes = passes;
    this.#readBudget = readBudget;
  }

  /** @param wanted how many more rows the caller takes at most */
  next(wanted: number): DocumentRow | null {
    for (;;) {
      const row = this.#scan.next(wanted);
      if (row === null || this.#passes === null) return row;
      if (++this.#looked % SCAN_ROWS_BETWEEN_CHECKS === 0) this.#readBudget.hasRead(0, 0);
      this.#parsed = parseDocument(row);
      if (this.#passes(this.#parsed)) return row;
    }
  }

  /** The last row that `next` returned, parsed. */
  parsed(row: DocumentRow): Record<string, Value> {
    return this.#parsed ?? parseDocument(row);
  }
}
