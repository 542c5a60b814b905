/**
 * Decides how a query object is read. Every plan returns the same result (a property test compares each plan with a
 * naive model); a plan only determines how many documents are read, and whether they arrive in the requested order.
 *
 *   1. `_id` eq or in     look-ups
 *   2. an index           its first fields fixed by filters, the next one bounded by a range or giving the order (`index-use.ts`)
 *   3. the branches of an `or`, each by look-ups or an index, where that reads less than 2
 *   4. the table          in creation order, bounded by ranges on _creationTime
 *
 * 2 and 3 may have to read many documents to sort them; `walk.ts` then tries to read in order first.
 *
 * Paths in the order of the query are merged. A document that matches several branches is returned by the first of
 * them.
 */

import {compareUtf8} from '../../shared/values/order.ts';
import type {Value} from '../../shared/values/value.ts';
import {MERGED_PATHS_MAX, QUERY_RANGES_MAX} from '../limits.ts';
import type {IndexInfo, QueryReader, TableInfo} from '../storage/rows.ts';
import {type Choice, type FieldTest, type Filter, isTest, matches, type Predicate} from './filter.ts';
import {bestIndex, type IndexUse, type Resume, rangesOf} from './index-use.ts';
import type {Order} from './order.ts';
import {rangeOf, WHOLE} from './range.ts';
import {idScans, type RangeScan, tableScans} from './range-scans.ts';
import type {ReadPath} from './read-path.ts';

export type PlannedPath = {
  readonly path: ReadPath;
  /** Filters that the path does not cover; null: there are none. */
  readonly passes: Predicate | null;
  /** Where an ordered path continues after a position of the query's order. */
  readonly resume: Resume;
  /** Null: the table or its ids. */
  readonly index: IndexInfo | null;
  /** Filters that the path covers completely. */
  readonly used: readonly Filter[];
};

export type Plan = {
  readonly paths: readonly PlannedPath[];
  /** The rows of each path arrive in the requested order. */
  readonly ordered: boolean;
};

/** The part of the query that narrows the reads. Null: nothing does. */
type Source = {readonly kind: 'ids'; readonly filter: FieldTest} | {readonly kind: 'index'; readonly use: IndexUse};

const asItIs: Resume = after => after;

export function planQuery(reader: QueryReader, name: string, filters: readonly Filter[], order: Order): Plan {
  const {reverse} = order;
  const table = reader.table(name);
  if (table === undefined) {
    return {
      paths: [
        {path: {name, table: null, rangeScans: [], reverse}, passes: null, resume: asItIs, index: null, used: []},
      ],
      ordered: true,
    };
  }
  const source = sourceOf(table, filters, order);
  const branches = branchesOf(table, filters, order, narrowingOf(source));
  if (branches !== null) return planBranches(name, table, branches, order);
  if (source !== null) {
    const ordered = isOrdered(source);
    return {paths: pathsOf(name, table, source, filters, order, ordered), ordered};
  }
  return planTable(reader, name, table, filters, order);
}

/** Reads in the order of the query, however much the filters drop; null: nothing is stored in that order. */
export function planInOrder(reader: QueryReader, name: string, filters: readonly Filter[], order: Order): Plan | null {
  const table = reader.table(name);
  if (table === undefined) return null;
  const use = bestIndex(table, filters, order, QUERY_RANGES_MAX, 'in order');
  if (use !== null) return {paths: pathsOf(name, table, {kind: 'index', use}, filters, order, true), ordered: true};
  return order.fields.length === 0 ? planTable(reader, name, table, filters, order) : null;
}

function planTable(
  reader: QueryReader,
  name: string,
  table: TableInfo,
  filters: readonly Filter[],
  order: Order,
): Plan {
  const {range, used} = rangeOf('_creationTime', filters);
  const rangeScans = tableScans(reader, table, range);
  const path: ReadPath = {name, table, rangeScans, reverse: order.reverse};
  return {
    paths: [{path, passes: passesOf(filters, used), resume: asItIs, index: null, used}],
    ordered: order.fields.length === 0,
  };
}

/* ── what narrows the reading ── */

/** @param most number of look-ups, or of ranges of an index */
function sourceOf(table: TableInfo, filters: readonly Filter[], order: Order, most = QUERY_RANGES_MAX): Source | null {
  const byId = filters.find(isById);
  if (byId !== undefined && lookUpsOf(byId) <= most) return {kind: 'ids', filter: byId};
  const use = bestIndex(table, filters, order, most);
  return use === null ? null : {kind: 'index', use};
}

function isById(filter: Filter): filter is FieldTest {
  if (!isTest(filter) || filter.field !== '_id') return false;
  return filter.op === 'in' || (filter.op === 'eq' && typeof filter.value === 'string');
}

function lookUpsOf({op, value}: FieldTest): number {
  return op === 'in' ? (value as Value[]).length : 1;
}

function rangesIn(source: Source): number {
  return source.kind === 'ids' ? lookUpsOf(source.filter) : source.use.ranges;
}

function narrowingOf(source: Source | null): number {
  if (source === null) return 0;
  return source.kind === 'ids' ? Number.POSITIVE_INFINITY : source.use.narrowing;
}

function isOrdered(source: Source): boolean {
  return source.kind === 'index' && source.use.ordering !== 'none';
}

function pathsOf(
  name: string,
  table: TableInfo,
  source: Source,
  filters: readonly Filter[],
  order: Order,
  ordered: boolean,
): PlannedPath[] {
  const {reverse} = order;
  if (source.kind === 'ids') {
    const {filter} = source;
    const path: ReadPath = {name, table, rangeScans: lookUps(table, filter), reverse: false};
    return [{path, passes: passesOf(filters, [filter]), resume: asItIs, index: null, used: [filter]}];
  }
  const {use} = source;
  const passes = passesOf(filters, use.used);
  return rangesOf(use, order, ordered && use.ordering === 'merge').map(({rangeScans, resume}) => {
    return {path: {name, table, rangeScans, reverse}, passes, resume, index: use.index, used: use.used};
  });
}

function lookUps(table: TableInfo, {op, value}: FieldTest): RangeScan[] {
  if (op === 'eq') return idScans(table, {...WHOLE, fixed: [value]});
  const ids = (value as Value[]).filter(id => typeof id === 'string');
  const distinct = [...new Set(ids)].sort(compareUtf8);
  return distinct.flatMap(id => idScans(table, {...WHOLE, fixed: [id]}));
}

function passesOf(filters: readonly Filter[], used: readonly Filter[]): Predicate | null {
  if (filters.length === used.length) return null;
  const residual = filters.filter(filter => !used.includes(filter));
  return residual.length === 0 ? null : matches(residual);
}

/* ── the branches of an `or` ── */

type Branch = {
  readonly source: Source;
  /** The branch together with the filters outside the `or`. */
  readonly filters: readonly Filter[];
  readonly isInBranch: Predicate;
};

/** The branches of the `or` that narrows most, and more than `least`; null: there is none. */
function branchesOf(table: TableInfo, filters: readonly Filter[], order: Order, least: number): Branch[] | null {
  let best: Branch[] | null = null;
  let bestNarrowing = least;
  for (const choice of filters) {
    if (isTest(choice)) continue;
    const branches = narrowed(table, choice, filters, order);
    if (branches === null) continue;
    const narrowing = Math.min(...branches.map(({source}) => narrowingOf(source)));
    if (narrowing <= bestNarrowing) continue;
    best = branches;
    bestNarrowing = narrowing;
  }
  return best;
}

function narrowed(table: TableInfo, choice: Choice, filters: readonly Filter[], order: Order): Branch[] | null {
  const beside = filters.filter(filter => filter !== choice);
  const branches: Branch[] = [];
  // Each remaining branch has at least one.
  let most = QUERY_RANGES_MAX - choice.branches.length;
  for (const branch of choice.branches) {
    const all = [...branch, ...beside];
    const source = sourceOf(table, all, order, most + 1);
    if (source === null || narrowingOf(source) === 0) return null;
    most -= Math.max(rangesIn(source) - 1, 0);
    branches.push({source, filters: all, isInBranch: matches(branch)});
  }
  return branches;
}

function planBranches(name: string, table: TableInfo, branches: readonly Branch[], order: Order): Plan {
  const merged = branches.every(({source}) => isOrdered(source))
    ? pathsOfBranches(name, table, branches, order, true)
    : null;
  if (merged !== null && merged.length <= MERGED_PATHS_MAX) return {paths: merged, ordered: true};
  return {paths: pathsOfBranches(name, table, branches, order, false), ordered: false};
}

function pathsOfBranches(
  name: string,
  table: TableInfo,
  branches: readonly Branch[],
  order: Order,
  ordered: boolean,
): PlannedPath[] {
  const before: Predicate[] = [];
  return branches.flatMap(({source, filters, isInBranch}) => {
    const earlier = [...before];
    before.push(isInBranch);
    return pathsOf(name, table, source, filters, order, ordered).map(planned => {
      const {passes} = planned;
      if (earlier.length === 0) return planned;
      const isFirst: Predicate = document =>
        (passes === null || passes(document)) && !earlier.some(isInEarlier => isInEarlier(document));
      return {...planned, passes: isFirst};
    });
  });
}
