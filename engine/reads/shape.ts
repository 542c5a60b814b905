/** What makes two queries the same: equal shapes have equal texts, however fields were ordered and whatever else they carried. */
import type {FilterClause, LiveQueryObject, QueryObject, QueryOrder} from '../../shared/protocol/queries.ts';
import {storedText} from '../../shared/values/json.ts';

/** Cursors are bound to it: what was one query stays one. */
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
  const all = (Array.isArray(order) ? order : [order]).map(fieldShape);
  const [only] = all;
  return all.length === 1 ? only! : all;
}

function fieldShape({field, direction}: QueryOrder): object {
  return {field, direction};
}
