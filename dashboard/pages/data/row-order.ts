/**
 * The order of a table's rows and the queries that continue it from a row, in both directions. A query starts after a
 * row's key (its value and creation time), never at an offset, so it stays correct when rows come and go.
 */
import type {FilterClause, QueryObject, QueryOrder} from '../../../shared/protocol/queries.ts';
import {compareUtf8, compareValues} from '../../../shared/values/order.ts';
import {valueAt} from '../../../shared/values/paths.ts';
import type {Value} from '../../../shared/values/value.ts';

export type Doc = Readonly<Record<string, Value>> & {
  readonly _id: string;
  readonly _creationTime: number;
  readonly _updateTime: number;
};

export type RowOrder = QueryOrder;

/** The position of a document in an order. */
export type RowKey = {readonly value: Value | undefined; readonly created: number; readonly id: string};

export type TableQuery = {
  readonly table: string;
  readonly filters: readonly FilterClause[];
  readonly order: RowOrder;
};

export const BY_CREATION = '_creationTime';

export function keyOf(doc: Doc, {field}: RowOrder): RowKey {
  return {value: valueAt(doc, field.split('.')), created: doc._creationTime, id: doc._id};
}

/** As the server orders documents: `desc` is the exact reverse of `asc`, ties included. */
export function compareKeys(a: RowKey, b: RowKey, {direction}: RowOrder): number {
  const ascending = compareValues(a.value, b.value) || a.created - b.created || compareUtf8(a.id, b.id);
  return direction === 'asc' ? ascending : -ascending;
}

/**
 * The query for at most `limit` rows from a key on, the row with that key included.
 * @param from null: the first row, or the last one if `isBackward`
 * @param isBackward read the rows before the key, the nearest one first
 */
export function queryFrom(
  {table, filters, order}: TableQuery,
  from: RowKey | null,
  limit: number,
  isBackward = false,
): QueryObject {
  const isAscending = (order.direction === 'asc') !== isBackward;
  const direction = isAscending ? 'asc' : 'desc';
  const rest = from === null ? [] : fromKey(order.field, from, isAscending);
  return {table, filters: [...filters, ...rest], order: {field: order.field, direction}, limit};
}

function fromKey(field: string, {value, created, id}: RowKey, isAscending: boolean): FilterClause[] {
  const strict = isAscending ? 'gt' : 'lt';
  const op = isAscending ? 'gte' : 'lte';
  if (field === BY_CREATION) return [{field, op, value: created}];
  if (field === '_id') return [{field, op, value: id}];
  const same: FilterClause = value === undefined ? {field, op: 'exists', value: false} : {field, op: 'eq', value};
  const tie: FilterClause[] = [same, {field: BY_CREATION, op, value: created}];
  if (value !== undefined) return [{or: [{field, op: strict, value}, tie]}];
  // Missing is the least of all values.
  return isAscending ? [{or: [{field, op: 'exists', value: true}, tie]}] : tie;
}
