/**
 * How a query is read. The answer is the same whichever way is chosen (a property test holds every plan against a naive
 * model); a plan only decides how many documents are looked at, and whether they arrive in the order asked for.
 *
 *   1. `_id` eq           one look-up
 *   2. an index           its first fields fixed by eq, the next one bounded by a range or giving the order
 *   3. the table          in creation order, bounded by ranges on _creationTime
 */
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey, keySuccessor} from '../../shared/values/key-encoding.ts';
import type {IndexInfo, QueryReader, TableInfo} from '../storage/rows.ts';
import type {Filter} from './filter.ts';

export type IndexPlan = {
  kind: 'index';
  index: IndexInfo;
  /** How many of its first fields eq filters fix, and their encoded values. */
  fixedFields: number;
  prefix: Buffer;
  lower: Buffer;
  upper: Buffer;
  reverse: boolean;
  /** Entries arrive in the order asked for. */
  ordered: boolean;
  residual: Filter[];
};

export type Plan =
  | {kind: 'id'; id: string; residual: Filter[]}
  | IndexPlan
  | {kind: 'table'; low: number; high: number; reverse: boolean; ordered: boolean; residual: Filter[]};

/** The order of a query; `by` null: creation order, for which the document number stands. */
export type Order = {by: string | null; reverse: boolean};

export function orderOf(query: QueryObject): Order {
  if (query.order === undefined) return {by: null, reverse: false};
  const {field, direction} = query.order;
  return {by: field === '_creationTime' ? null : field, reverse: direction === 'desc'};
}

export function planQuery(reader: QueryReader, table: TableInfo, filters: Filter[], order: Order): Plan {
  const byId = filters.find(filter => filter.field === '_id' && filter.op === 'eq' && typeof filter.value === 'string');
  if (byId !== undefined) {
    return {kind: 'id', id: byId.value as string, residual: filters.filter(filter => filter !== byId)};
  }
  let best: IndexPlan | null = null;
  let bestScore = 0;
  for (const index of table.indexes) {
    const candidate = planIndex(index, filters, order);
    if (candidate.score <= bestScore) continue;
    best = candidate.plan;
    bestScore = candidate.score;
  }
  return best ?? planTable(reader, table, filters, order);
}

/** A score of 0 means that the index is of no use: more eq fields win, then a range, then the order. */
function planIndex(index: IndexInfo, filters: Filter[], order: Order): {plan: IndexPlan; score: number} {
  const used = new Set<Filter>();
  const fixed: Filter[] = [];
  for (const field of index.fields) {
    const eq = filters.find(filter => filter.field === field && filter.op === 'eq');
    if (eq === undefined) break;
    fixed.push(eq);
    used.add(eq);
  }
  const prefix = encodeKey(fixed.map(filter => filter.value));
  let lower = prefix;
  let upper = keySuccessor(prefix);
  const next = index.fields[fixed.length];
  let ranged = 0;
  for (const filter of filters) {
    if (filter.field !== next || filter.op === 'eq' || filter.op === 'neq') continue;
    const at = Buffer.concat([prefix, encodeKey([filter.value])]);
    const bound = filter.op === 'gt' || filter.op === 'lte' ? keySuccessor(at) : at;
    if (filter.op === 'gt' || filter.op === 'gte') lower = Buffer.compare(bound, lower) > 0 ? bound : lower;
    else upper = Buffer.compare(bound, upper) < 0 ? bound : upper;
    used.add(filter);
    ranged = 1;
  }
  const ordered = givesOrder(index, fixed, order);
  const residual = filters.filter(filter => !used.has(filter));
  const fixedFields = fixed.length;
  const {reverse} = order;
  const plan: IndexPlan = {kind: 'index', index, fixedFields, prefix, lower, upper, reverse, ordered, residual};
  const useful = fixed.length > 0 || ranged > 0 || (ordered && order.by !== null);
  return {plan, score: useful ? 1 + fixed.length * 4 + ranged * 2 + (ordered ? 1 : 0) : 0};
}

/**
 * Ties break by document number, so an index gives the order only when nothing but the number comes after the order field.
 * An order field that eq fixes is the same everywhere: what is left is creation order.
 */
function givesOrder(index: IndexInfo, fixed: Filter[], order: Order): boolean {
  const rest = index.fields.slice(fixed.length);
  const constant = order.by === null || fixed.some(filter => filter.field === order.by);
  return constant ? rest.length === 0 : rest.length === 1 && rest[0] === order.by;
}

function planTable(reader: QueryReader, table: TableInfo, filters: Filter[], order: Order): Plan {
  let {lowDoc: low, highDoc: high} = table;
  const residual: Filter[] = [];
  for (const filter of filters) {
    const {op, value} = filter;
    if (filter.field !== '_creationTime' || typeof value !== 'number' || op === 'neq') {
      residual.push(filter);
      continue;
    }
    if (op === 'gt' || op === 'gte' || op === 'eq') low = Math.max(low, firstFrom(reader, table, value, op === 'gt'));
    if (op === 'lt' || op === 'lte' || op === 'eq')
      high = Math.min(high, firstFrom(reader, table, value, op !== 'lt') - 1);
  }
  return {kind: 'table', low, high, reverse: order.reverse, ordered: order.by === null, residual};
}

/** The lowest document number from which on every document was created at `time` or later (`beyond`: later). */
function firstFrom(reader: QueryReader, table: TableInfo, time: number, beyond: boolean): number {
  const [newest] = reader.documents(table.lowDoc, table.highDoc, true, 1);
  let low = table.lowDoc;
  let high = newest === undefined ? low : newest.doc + 1;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2); // low + high may be beyond 2^53
    const [row] = reader.documents(middle, high, false, 1);
    if (row === undefined || (beyond ? row.created > time : row.created >= time)) high = middle;
    else low = row.doc + 1;
  }
  return low;
}
