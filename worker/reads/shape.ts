/** What makes two queries the same: equal shapes have equal texts, however fields were ordered and whatever else they carried. */
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {storedText} from '../../shared/values/json.ts';

export function shapeText({table, filters, order, limit}: QueryObject): string {
  const clauses = filters.map(({field, op, value}) => ({field, op, value}));
  const by = order === undefined ? null : {field: order.field, direction: order.direction};
  return storedText({table, filters: clauses, order: by, limit: limit ?? null});
}
