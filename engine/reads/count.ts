/**
 * Counts or enumerates the documents that match a query. It uses index entries alone if the plan covers all filters, a
 * table's count for a whole table, and reads documents otherwise.
 */

import {assert} from '../../shared/assert.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {COUNT_ENTRIES_AT_ONCE, COUNT_ENTRIES_OF_A_DOCUMENT} from '../limits.ts';
import {checkTableName} from '../storage/document.ts';
import type {EntryPlace, QueryReader} from '../storage/rows.ts';
import {compileFilters} from './filter.ts';
import {openScans} from './find.ts';
import {type Order, orderOf} from './order.ts';
import {type Plan, type PlannedPath, planQuery} from './plan.ts';
import {NO_KEY} from './position.ts';
import type {RangeScan} from './range-scans.ts';
import type {ReadBudget} from './read-budget.ts';
import {Spent} from './scan.ts';

export type Counted = {
  readonly count: number;
  readonly plan: Plan;
  /** Documents read for the count. */
  readonly read: number;
};

/** The order does not matter. */
const CREATION: Order = {fields: [], reverse: false};

/** Counts up to the query's limit. @throws op.invalid_input 400, op.too_large 413, the errors of the read budget */
export function countMatches(reader: QueryReader, query: QueryObject, readBudget: ReadBudget): Counted {
  const plan = planOf(reader, query);
  const limit = query.limit ?? Number.POSITIVE_INFINITY;
  const spent = new Spent();
  let count = 0;
  for (const planned of plan.paths) {
    if (count >= limit) break;
    count += countPath(reader, planned, limit - count, readBudget, spent);
  }
  assert(count <= limit, `${count} documents are counted of ${limit}`);
  return {count, plan, read: spent.documents};
}

/**
 * Calls `each` with the number of each matching document; a number can come more than once. The query's limit is
 * ignored. Documents are read only if a filter has to be evaluated on them. @throws as above
 */
export function eachMatch(
  reader: QueryReader,
  query: QueryObject,
  readBudget: ReadBudget,
  each: (doc: number) => void,
): void {
  const spent = new Spent();
  for (const planned of planOf(reader, query).paths) {
    const {rangeScans} = planned.path;
    if (planned.passes === null && rangeScans.every(isNumbered)) {
      for (const rangeScan of rangeScans) eachNumber(reader, rangeScan, readBudget, each);
      continue;
    }
    for (const {candidates} of openScans(reader, [planned], {readBudget, spent})) {
      for (let row = candidates.next(Infinity); row !== null; row = candidates.next(Infinity)) each(row.doc);
    }
  }
}

type Numbered = RangeScan & {kind: 'table' | 'index'};

function isNumbered(rangeScan: RangeScan): rangeScan is Numbered {
  return rangeScan.kind === 'table' || isOfIndex(rangeScan);
}

function eachNumber(
  reader: QueryReader,
  rangeScan: Numbered,
  readBudget: ReadBudget,
  each: (doc: number) => void,
): void {
  let after: EntryPlace | null = null;
  let docs: number[];
  do {
    if (rangeScan.kind === 'table') {
      const from: number = after === null ? rangeScan.low : after.doc + 1;
      docs = reader.documentNumbers(from, rangeScan.high, COUNT_ENTRIES_AT_ONCE);
      after = docs.length < COUNT_ENTRIES_AT_ONCE ? null : {key: NO_KEY, doc: docs.at(-1)!};
    } else {
      const {index, lower, upper} = rangeScan;
      ({docs, last: after} = reader.entryNumbers(index.number, lower, upper, after, COUNT_ENTRIES_AT_ONCE));
    }
    for (const doc of docs) each(doc);
    readBudget.hasRead(Math.ceil(docs.length / COUNT_ENTRIES_OF_A_DOCUMENT), 0);
  } while (after !== null);
}

function planOf(reader: QueryReader, query: QueryObject): Plan {
  checkTableName(query.table);
  const filters = compileFilters(query.filters);
  orderOf(query, filters); // an invalid order is refused here as well
  return planQuery(reader, query.table, filters, CREATION);
}

function countPath(
  reader: QueryReader,
  planned: PlannedPath,
  most: number,
  readBudget: ReadBudget,
  spent: Spent,
): number {
  const {path, passes} = planned;
  const {table, rangeScans} = path;
  if (table === null) return 0;
  if (passes === null) {
    const [rangeScan] = rangeScans;
    if (rangeScan?.kind === 'table' && rangeScan.low === table.lowDoc && rangeScan.high === table.highDoc) {
      const known = reader.documentCount(table);
      if (known !== null) return Math.min(known, most);
    }
    if (rangeScans.every(isOfIndex)) return countEntries(reader, rangeScans, most, readBudget);
  }
  let count = 0;
  for (const {candidates} of openScans(reader, [planned], {readBudget, spent})) {
    while (count < most && candidates.next(most - count) !== null) count++;
  }
  return count;
}

function isOfIndex(rangeScan: RangeScan): rangeScan is RangeScan & {kind: 'index'} {
  return rangeScan.kind === 'index' && rangeScan.low === null && rangeScan.high === null;
}

function countEntries(
  reader: QueryReader,
  rangeScans: readonly (RangeScan & {kind: 'index'})[],
  most: number,
  readBudget: ReadBudget,
): number {
  let count = 0;
  for (const {index, lower, upper} of rangeScans) {
    let after: EntryPlace | null = null;
    do {
      const wanted = Math.min(COUNT_ENTRIES_AT_ONCE, most - count);
      if (wanted === 0) return count;
      const found = reader.countEntries(index.number, lower, upper, after, wanted);
      count += found.count;
      after = found.last;
      readBudget.hasRead(Math.ceil(found.count / COUNT_ENTRIES_OF_A_DOCUMENT), 0);
    } while (after !== null);
  }
  return count;
}
