/**
 * The identity of a query: equal queries have equal shape texts, independent of the order of fields and of unknown
 * members.
 */
import type {FilterClause, LiveQueryObject, QueryObject} from '../../shared/protocol/queries.ts';
import {storedText} from '../../shared/values/json.ts';

/** Cursors are bound to this text, so it must not change between versions. */
export function shapeText({table, filters, order, limit, select, count}: LiveQueryObject): string {
  return storedText({
    table,
    filters: filters.map(clauseShape),
    order: orderShape(order),
    limit: limit ?? null,
    ...(select === undefined ? {} : {select}),
    ...(count === true ? {count} : {}),
  });
}

function clauseShape(clause: FilterClause): object {
  if (!('or' in clause)) return {field: clause.field, op: clause.op, value: clause.value};
  return {or: clause.or.map(branch => (Array.isArray(branch) ? branch.map(clauseShape) : [clauseShape(branch)]))};
}

function orderShape(order: QueryObject['order']): object | null {
  if (order === undefined) return null;
  const all = (Array.isArray(order) ? order : [order]).map(({field, direction}) => ({field, direction}));
  const [only] = all;
  return all.length === 1 ? only! : all;
}
