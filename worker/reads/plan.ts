/**
 * How a query object is read. The answer is the same whichever way is chosen (a property test holds every plan against a naive
 * model); a plan only decides how many documents are looked at, and whether they arrive in the order asked for.
 *
 *   1. `_id` eq           one look-up
 *   2. an index           its first fields fixed by eq, the next one bounded by a range or giving the order
 *   3. the table          in creation order, bounded by ranges on _creationTime
 */
import {Buffer} from 'node:buffer';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import type {IndexInfo, QueryReader, TableInfo} from '../storage/rows.ts';
import type {Filter} from './filter.ts';
import type {Position} from './position.ts';
import {rangeOf, WHOLE} from './range.ts';
import type {ReadPath} from './read-path.ts';
import {idSegments, indexSegments, tableSegments} from './segments.ts';

export type Plan = {
  path: ReadPath;
  /** Rows arrive in the order asked for. */
  ordered: boolean;
  /** What the path does not say. */
  residual: Filter[];
  /** Where an ordered path goes on behind a position of the query's order. */
  resume: (after: Position) => Position;
};

/** The order of a query; `by` null: creation order, for which the document number stands. */
export type Order = {by: string | null; reverse: boolean};

export function orderOf(query: QueryObject): Order {
  if (query.order === undefined) return {by: null, reverse: false};
  const {field, direction} = query.order;
  return {by: field === '_creationTime' ? null : field, reverse: direction === 'desc'};
}

const asItIs = (after: Position) => after;

export function planQuery(reader: QueryReader, name: string, filters: Filter[], order: Order): Plan {
  const table = reader.table(name);
  if (table === undefined) {
    const path: ReadPath = {name, table: null, segments: [], reverse: order.reverse};
    return {path, ordered: true, residual: [], resume: asItIs};
  }
  const byId = filters.find(filter => filter.field === '_id' && filter.op === 'eq' && typeof filter.value === 'string');
  if (byId !== undefined) {
    const segments = idSegments(table, {...WHOLE, fixed: [byId.value]});
    const residual = filters.filter(filter => filter !== byId);
    return {path: {name, table, segments, reverse: false}, ordered: false, residual, resume: asItIs};
  }
  const best = bestIndex(table, filters, order);
  return best === null ? planTable(reader, name, table, filters, order) : planIndex(reader, name, table, best, order);
}

/** An index and what it says of the query. */
type IndexUse = ReturnType<typeof rangeOf> & {index: IndexInfo; ordered: boolean; residual: Filter[]};

/** The index of most use; null: none is of any. */
function bestIndex(table: TableInfo, filters: Filter[], order: Order): IndexUse | null {
  let best: IndexUse | null = null;
  let bestScore = 0;
  for (const index of table.indexes) {
    const {range, used} = rangeOf(index.fields, filters);
    const ordered = givesOrder(index.fields, range.fixed.length, order);
    const score = scoreOf(range.fixed.length, used.length > range.fixed.length, ordered, order);
    if (score <= bestScore) continue;
    best = {index, range, used, ordered, residual: filters.filter(filter => !used.includes(filter))};
    bestScore = score;
  }
  return best;
}

/** 0: the index is of no use. More eq fields win, then a range, then the order. */
function scoreOf(fixed: number, ranged: boolean, ordered: boolean, order: Order): number {
  const useful = fixed > 0 || ranged || (ordered && order.by !== null);
  return useful ? 1 + fixed * 4 + (ranged ? 2 : 0) + (ordered ? 1 : 0) : 0;
}

/**
 * Ties break by document number, so an index gives the order only when nothing but the number comes after the order field.
 * An order field that eq fixes is the same everywhere: what is left is creation order.
 */
function givesOrder(fields: readonly string[], fixed: number, order: Order): boolean {
  const rest = fields.slice(fixed);
  const constant = order.by === null || fields.slice(0, fixed).includes(order.by);
  return constant ? rest.length === 0 : rest.length === 1 && rest[0] === order.by;
}

function planIndex(
  reader: QueryReader,
  name: string,
  table: TableInfo,
  {index, range, ordered, residual}: IndexUse,
  {reverse}: Order,
): Plan {
  const segments = indexSegments(reader, table, index, range);
  const prefix = encodeKey(range.fixed);
  // An index whose fields are all fixed holds the order field among them: its entries differ in the number alone.
  const isFixed = range.fixed.length === index.fields.length;
  return {
    path: {name, table, segments, reverse},
    ordered,
    residual,
    resume: after => ({...after, key: isFixed ? prefix : Buffer.concat([prefix, after.key])}),
  };
}

function planTable(reader: QueryReader, name: string, table: TableInfo, filters: Filter[], order: Order): Plan {
  const {range, used} = rangeOf(['_creationTime'], filters);
  const segments = tableSegments(reader, table, range);
  return {
    path: {name, table, segments, reverse: order.reverse},
    ordered: order.by === null,
    residual: filters.filter(filter => !used.includes(filter)),
    resume: asItIs,
  };
}
