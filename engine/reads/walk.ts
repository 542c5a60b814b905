/**
 * Tries to find the first documents of a query in its order before an index range is sorted. If no index has both the
 * filters and the order, there are two ways: read what a range of an index has and sort it, or walk in the order and
 * drop what the filters refuse. The range wins if few documents match, the walk if many do, and no statistics say how
 * many.
 *
 * So a query that would sort many entries walks first. The walk is short compared with the range, and it ends as soon as it
 * has enough: a broad filter costs no more than a page, and a narrow one a quarter more than without the walk.
 */
import {MERGED_PATHS_MAX, SCAN_INLINE_CHARS, WALK_DOCUMENTS_MAX, WALK_ENTRIES_MIN} from '../limits.ts';
import type {QueryReader, TableInfo} from '../storage/rows.ts';
import type {Filter} from './filter.ts';
import type {Order} from './order.ts';
import {type Plan, planInOrder} from './plan.ts';
import type {ReadBudget} from './read-budget.ts';

/** The plan of a walk that is worth an attempt instead of `plan`; null: there is none. @param most documents wanted */
export function walkInsteadOf(
  plan: Plan,
  reader: QueryReader,
  name: string,
  filters: readonly Filter[],
  order: Order,
  most: number,
): Plan | null {
  if (plan.ordered || most > WALK_DOCUMENTS_MAX || !readsMany(plan, reader)) return null;
  return planInOrder(reader, name, filters, order);
}

/** Counting many ranges would cost as much as reading them, and each of them is rather narrow. */
function readsMany({paths}: Plan, reader: QueryReader): boolean {
  const rangeScans = paths.flatMap(({path}) => path.rangeScans);
  if (rangeScans.length > MERGED_PATHS_MAX) return false;
  let left = WALK_ENTRIES_MIN;
  for (const rangeScan of rangeScans) {
    if (rangeScan.kind !== 'index') continue;
    const {index, lower, upper} = rangeScan;
    left -= reader.countEntries(index.number, lower, upper, null, left).count;
    if (left === 0) return true;
  }
  return false;
}

/** Thrown by a WalkBudget: the walk has read as much as it is worth. Not an Error, because nothing is wrong. */
export const WALK_ENDED = Symbol('walk ended');

/** Ends a walk, or the query, if that has read enough. */
export class WalkBudget implements ReadBudget {
  readonly #ofQuery: ReadBudget;
  #documents = 0;
  #chars = 0;

  constructor(ofQuery: ReadBudget) {
    this.#ofQuery = ofQuery;
  }

  willReadAll(table: TableInfo): void {
    this.#ofQuery.willReadAll(table);
  }

  hasRead(documents: number, chars: number): void {
    this.#ofQuery.hasRead(documents, chars);
    this.#documents += documents;
    this.#chars += chars;
    if (this.#documents > WALK_DOCUMENTS_MAX || this.#chars > SCAN_INLINE_CHARS) throw WALK_ENDED;
  }
}
