/** Queries as the contract words them: arrays sorted and filtered. With random documents and query objects to ask. */
import fc from 'fast-check';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {compareValues} from '../../shared/values/order.ts';
import type {Value} from '../../shared/values/value.ts';
import {nativeValue} from './values.ts';

/** A document as a client sees it. */
export type Doc = Record<string, Value> & {_id: string; _creationTime: number};

/** Paths that `fields` fill. */
export const FIELDS = ['a', 'b', 'c.d'];

function at(document: Doc, field: string): Value | undefined {
  let value: Value | undefined = document;
  for (const step of field.split('.')) {
    const inside: Value | undefined = value;
    value =
      typeof inside === 'object' && inside !== null && !Array.isArray(inside) && Object.hasOwn(inside, step)
        ? inside[step]
        : undefined;
  }
  return value;
}

const HOLDS: Record<string, (order: number) => boolean> = {
  eq: order => order === 0,
  neq: order => order !== 0,
  gt: order => order > 0,
  gte: order => order >= 0,
  lt: order => order < 0,
  lte: order => order <= 0,
};

/** JSON has no -0 to write. */
export function withoutNegativeZero(value: unknown): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

/** What the query answers. The documents are given in creation order. */
export function naiveResult(documents: readonly Doc[], query: QueryObject): Doc[] {
  const found = documents.filter(document =>
    query.filters.every(({field, op, value}) =>
      HOLDS[op]!(compareValues(at(document, field), withoutNegativeZero(value))),
    ),
  );
  const {order} = query;
  if (order !== undefined) {
    const sign = order.direction === 'desc' ? -1 : 1;
    found.sort(
      (x, y) => sign * (compareValues(at(x, order.field), at(y, order.field)) || x._creationTime - y._creationTime),
    );
  }
  return found.slice(0, query.limit);
}

/** Few distinct values, so that filters match, ranges meet and ties happen. */
const fieldValue = fc.oneof(
  {arbitrary: fc.constantFrom<Value>(null, 0, 1, 2, 'x', 'x\0', 'y', true, [1], {}), weight: 5},
  {arbitrary: fc.constantFrom('-0', '[-0]', '{"x":-0}', '-1e-400').map(text => JSON.parse(text) as Value), weight: 1},
  {arbitrary: nativeValue, weight: 1},
);
export const fields = fc.record(
  {a: fieldValue, b: fieldValue, c: fc.oneof(fc.record({d: fieldValue}), fieldValue)},
  {requiredKeys: []},
) as fc.Arbitrary<Record<string, Value>>;
const clause = fc.record({
  field: fc.constantFrom(...FIELDS, 'c', 'missing'),
  op: fc.constantFrom(
    'eq' as const,
    'eq' as const,
    'neq' as const,
    'gt' as const,
    'gte' as const,
    'lt' as const,
    'lte' as const,
  ),
  value: fieldValue as fc.Arbitrary<unknown>,
});
/** A query object without its table. */
export const shape = fc.record(
  {
    filters: fc.array(clause, {maxLength: 3}),
    order: fc.record({
      field: fc.constantFrom(...FIELDS, '_creationTime', '_id', 'missing'),
      direction: fc.constantFrom('asc' as const, 'desc' as const),
    }),
    limit: fc.integer({min: 1, max: 12}),
  },
  {requiredKeys: ['filters']},
);
