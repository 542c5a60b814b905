/** A query that returns its rows in batches: for `collect`, `take` and similar methods, and for `await`. */

import type {ReadSet} from '../../../engine/reads/read-set.ts';
import type {Scan} from '../../../engine/reads/scan.ts';
import {storedDocumentText} from '../../../engine/storage/document.ts';
import {QUERY_BATCH_CHARS} from '../limits.ts';
import type {Budget} from './budget.ts';
import type {KnownRows} from './known-rows.ts';
import type {QueryPlan} from './query-plan.ts';

export class OpenQuery {
  readonly #plan: QueryPlan;
  readonly #scan: Scan;
  readonly #budget: Budget;
  /**
   * Documents returned so far, in a mutation. Otherwise a document that the mutation moves forward in the index while
   * it reads would be returned again, and a loop that moves each document would never end. Null: nothing is written.
   */
  readonly #given: Set<number> | null;
  readonly #known: KnownRows | null;

  /** @param known of a mutation; null: nothing is written */
  constructor(plan: QueryPlan, budget: Budget, known: KnownRows | null) {
    this.#plan = plan;
    this.#scan = plan.scan(null);
    this.#budget = budget;
    this.#known = known;
    this.#given = known === null ? null : new Set();
  }

  /** What was read so far. */
  readSet(): ReadSet {
    return this.#scan.readSet();
  }

  /** The next matching documents as a JSON array, at most `wanted`. @throws DatabaseFault */
  read(wanted: number): {text: string; isDone: boolean} {
    const texts: string[] = [];
    let chars = 0;
    while (texts.length < wanted && chars < QUERY_BATCH_CHARS) {
      const row = this.#scan.next(wanted - texts.length);
      if (row === null) return {text: `[${texts.join(',')}]`, isDone: true};
      this.#budget.scanned(row.body);
      if (!this.#plan.passes(row) || this.#given?.has(row.doc) === true) continue;
      this.#given?.add(row.doc);
      this.#known?.set(row);
      const text = storedDocumentText(row);
      chars += text.length;
      texts.push(text);
    }
    // Then later reads see the mutation's writes, and an open query holds no rows.
    this.#scan.release();
    return {text: `[${texts.join(',')}]`, isDone: false};
  }
}
