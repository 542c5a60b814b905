/** A query that hands its rows over in pieces: `collect`, `take` and the like, and `for await`. */
import {QUERY_PIECE_CHARS} from '../../../shared/limits.ts';
import {storedDocumentText} from '../../documents/document.ts';
import type {Budget} from './budget.ts';
import type {QueryPlan} from './query-plan.ts';
import type {ReadRange} from './read-set.ts';
import type {Scan} from './scan.ts';

export class OpenQuery {
  readonly #plan: QueryPlan;
  readonly #scan: Scan;
  readonly #budget: Budget;
  readonly #range: ReadRange;

  constructor(plan: QueryPlan, budget: Budget, range: ReadRange, wanted: number) {
    this.#plan = plan;
    this.#scan = plan.scan(null, wanted);
    this.#budget = budget;
    this.#range = range;
  }

  /** The next matching documents as a JSON array, at most `wanted`. @throws DatabaseFault */
  read(wanted: number): {text: string; isDone: boolean} {
    const texts: string[] = [];
    let chars = 0;
    while (texts.length < wanted && chars < QUERY_PIECE_CHARS) {
      const row = this.#scan.next();
      this.#range.readTo(this.#scan, row);
      if (row === null) return {text: `[${texts.join(',')}]`, isDone: true};
      this.#budget.scanned(row.body.length);
      if (!this.#plan.passes(row)) continue;
      const text = storedDocumentText(row);
      chars += text.length;
      texts.push(text);
    }
    return {text: `[${texts.join(',')}]`, isDone: false};
  }
}
