/** Queries as the contract words them: arrays sorted and filtered. With random documents and query objects to ask. */
import fc from 'fast-check';
import type {FilterClause, LiveQueryObject, QueryObject} from '../../shared/protocol/queries.ts';
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

const COMPARES: Record<string, (order: number) => boolean> = {
  eq: order => order === 0,
  neq: order => order !== 0,
  gt: order => order > 0,
  gte: order => order >= 0,
  lt: order => order < 0,
  lte: order => order <= 0,
};

const isEqual = (a: Value | undefined, b: Value | undefined) => compareValues(a, b) === 0;

function holds(document: Doc, clause: FilterClause): boolean {
  if ('or' in clause) {
    return clause.or.some(branch => [branch].flat().every(one => holds(document, one)));
  }
  const found = at(document, clause.field);
  const value = withoutNegativeZero(clause.value);
  switch (clause.op) {
    case 'in':
      return (value as Value[]).some(one => isEqual(found, one));
    case 'not_in':
      return !(value as Value[]).some(one => isEqual(found, one));
    case 'prefix':
      return typeof found === 'string' && found.slice(0, (value as string).length) === value;
    case 'contains':
      if (Array.isArray(found)) return found.some(one => isEqual(one, value));
      return typeof found === 'string' && typeof value === 'string' && found.indexOf(value) >= 0;
    case 'exists':
      return value ? found !== undefined : found === undefined;
    default:
      return COMPARES[clause.op]!(compareValues(found, value));
  }
}

/** JSON has no -0 to write. */
export function withoutNegativeZero(value: unknown): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

/** What the query answers. The documents are given in creation order. */
export function naiveResult(documents: readonly Doc[], query: Omit<QueryObject, 'explain'>): Doc[] {
  const found = documents.filter(document => query.filters.every(clause => holds(document, clause)));
  const order = [query.order ?? []].flat();
  const sign = (direction: string | undefined) => (direction === 'desc' ? -1 : 1);
  found.sort((x, y) => {
    for (const {field, direction} of order) {
      const difference = compareValues(at(x, field), at(y, field));
      if (difference !== 0) return sign(direction) * difference;
    }
    return sign(order.at(-1)?.direction) * (x._creationTime - y._creationTime);
  });
  return found.slice(0, query.limit).map(document => naiveSelected(document, query.select));
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
const field = fc.constantFrom(...FIELDS, 'c', 'missing');
const text = fc.constantFrom('', 'x', 'x\0', 'xy', 'y');
const comparison = fc.record({
  field,
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
const membership = fc.record({
  field,
  op: fc.constantFrom('in' as const, 'in' as const, 'not_in' as const),
  value: fc.array(fieldValue, {maxLength: 4}) as fc.Arbitrary<unknown>,
});
const test = fc.oneof(
  {arbitrary: comparison, weight: 6},
  {arbitrary: membership, weight: 3},
  fc.record({field, op: fc.constant('prefix' as const), value: text as fc.Arbitrary<unknown>}),
  fc.record({field, op: fc.constant('contains' as const), value: fc.oneof(text, fieldValue) as fc.Arbitrary<unknown>}),
  fc.record({field, op: fc.constant('exists' as const), value: fc.boolean() as fc.Arbitrary<unknown>}),
) satisfies fc.Arbitrary<FilterClause>;
const branchesOf = (inner: fc.Arbitrary<FilterClause>) =>
  fc.record({
    or: fc.array(fc.oneof(inner, fc.array(inner, {minLength: 1, maxLength: 2})), {minLength: 1, maxLength: 3}),
  });
const choice = branchesOf(fc.oneof({arbitrary: test as fc.Arbitrary<FilterClause>, weight: 6}, branchesOf(test)));
const clause: fc.Arbitrary<FilterClause> = fc.oneof(
  {arbitrary: test as fc.Arbitrary<FilterClause>, weight: 4},
  {arbitrary: choice, weight: 1},
);
const orderField = fc.record({
  field: fc.constantFrom(...FIELDS, '_creationTime', '_id', 'missing'),
  direction: fc.constantFrom('asc' as const, 'desc' as const),
});
/** A query object without its table. */
export const shape = fc.record(
  {
    filters: fc.array(clause, {maxLength: 3}),
    order: fc.oneof(
      {arbitrary: orderField, weight: 2},
      {
        arbitrary: fc.uniqueArray(orderField, {minLength: 1, maxLength: 3, selector: ({field}) => field}),
        weight: 1,
      },
    ),
    limit: fc.integer({min: 1, max: 12}),
    select: fc.array(fc.constantFrom(...FIELDS, 'c', '_creationTime', 'missing'), {maxLength: 3}),
  },
  {requiredKeys: ['filters']},
);

/** What a live query shows. */
export function naiveLive(documents: readonly Doc[], query: LiveQueryObject): Doc[] | {count: number} {
  const found = naiveResult(documents, query);
  return query.count === true ? {count: found.length} : found;
}

/** A document as `select` shows it. */
export function naiveSelected(document: Doc, select: readonly string[] | undefined): Doc {
  if (select === undefined) return document;
  const shown: Record<string, Value> = {};
  const put = (into: Record<string, Value>, [step, ...rest]: string[], value: Value): void => {
    if (rest.length === 0) into[step!] = value;
    else {
      into[step!] ??= {};
      put(into[step!] as Record<string, Value>, rest, value);
    }
  };
  const isBelowAnother = (field: string) => select.some(other => field.startsWith(`${other}.`));
  const system = ['_creationTime', '_updateTime'].filter(field => select.includes(field));
  const own = select.filter(field => !field.startsWith('_')).sort();
  for (const field of ['_id', ...system, ...own]) {
    const value = at(document, field);
    if (value !== undefined && !isBelowAnother(field)) put(shown, field.split('.'), value);
  }
  return shown as Doc;
}

/** A live query without its table. */
export const liveShape = fc
  .tuple(shape, fc.integer({min: 0, max: 3}))
  .map(([query, pick]) => (pick === 0 ? {...query, count: true} : query));
