/** What a query with `withIndex` answers, the slow way: filter all documents, then sort them. */
import fc from 'fast-check';
import {compareValues} from '../../../shared/values/order.ts';
import {valueAt} from '../../../shared/values/paths.ts';
import type {Value} from '../../../shared/values/value.ts';
import {anyValue} from '../../harness/values.ts';
import type {Doc, Range} from './tenant-database.ts';

export type Operator = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte';
export type Condition = {op: Operator; field: string; value: Value | undefined};
export type IndexQuery = {index: string; conditions: Condition[]; order: 'asc' | 'desc'};

const HOLDS: Record<Operator, (order: number) => boolean> = {
  eq: order => order === 0,
  neq: order => order !== 0,
  gt: order => order > 0,
  gte: order => order >= 0,
  lt: order => order < 0,
  lte: order => order <= 0,
};

const FIELDS_OF: Record<string, string[]> = {
  by_creation_time: ['_creationTime', '_id'],
  by_id: ['_id'],
  a: ['a', '_creationTime', '_id'],
  a_b: ['a', 'b', '_creationTime', '_id'],
  'c.d': ['c.d', '_creationTime', '_id'],
};
/** The declared ones. */
export const INDEXES = [['a'], ['a', 'b'], ['c.d']];

function at(document: Doc, field: string): Value | undefined {
  return valueAt(document, field.split('.'));
}

export function naiveRows(documents: readonly Doc[], {index, conditions, order}: IndexQuery): Doc[] {
  const fields = FIELDS_OF[index]!;
  const found = documents.filter(document =>
    conditions.every(({op, field, value}) => HOLDS[op](compareValues(at(document, field), value))),
  );
  const byFields = (x: Doc, y: Doc) => {
    for (const field of fields) {
      const difference = compareValues(at(x, field), at(y, field));
      if (difference !== 0) return difference;
    }
    return 0;
  };
  return found.sort((x, y) => (order === 'desc' ? -byFields(x, y) : byFields(x, y)));
}

export function rangeOf(conditions: readonly Condition[]): Range {
  return q => {
    let range = q;
    for (const {op, field, value} of conditions) range = range[op](field, value);
    return range;
  };
}

/** Few distinct values, so that ranges meet and ties happen. */
const fieldValue = fc.oneof(
  {arbitrary: fc.constantFrom<Value>(null, -0, 0, 1, 2, Number.NaN, 'x', 'x\0', 'y', true, [1], [-0], {}), weight: 6},
  {arbitrary: anyValue as fc.Arbitrary<Value>, weight: 1},
);
export const fields: fc.Arbitrary<Record<string, Value>> = fc
  .record({a: fieldValue, b: fieldValue, c: fc.oneof(fc.record({d: fieldValue}), fieldValue)}, {requiredKeys: []})
  .map(record => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)));

/** A query of which some values are those of documents: `pick` says which, where it is not null. */
type Draft = {
  index: string;
  fixed: number;
  bounds: Operator[];
  values: (Value | undefined)[];
  picks: (number | null)[];
  order: 'asc' | 'desc';
};
export const draft: fc.Arbitrary<Draft> = fc.record({
  index: fc.constantFrom(...Object.keys(FIELDS_OF)),
  fixed: fc.nat({max: 4}),
  bounds: fc.constantFrom<Operator[]>(
    [],
    ['gt'],
    ['gte'],
    ['lt'],
    ['lte'],
    ['gt', 'lte'],
    ['gte', 'lt'],
    ['neq'],
    ['neq', 'gte', 'lte'],
  ),
  values: fc.array(fc.option(fieldValue, {nil: undefined}), {minLength: 8, maxLength: 8}),
  picks: fc.array(fc.option(fc.nat(), {freq: 4}), {minLength: 8, maxLength: 8}),
  order: fc.constantFrom('asc' as const, 'desc' as const),
});

export function queryOf({index, fixed, bounds, values, picks, order}: Draft, documents: readonly Doc[]): IndexQuery {
  const names = FIELDS_OF[index]!;
  let drawn = 0;
  const value = (field: string): Value | undefined => {
    const i = drawn++;
    const pick = picks[i] ?? null;
    return pick === null || documents.length === 0 ? values[i] : at(documents[pick % documents.length]!, field);
  };
  const equal = names.slice(0, fixed);
  const conditions: Condition[] = equal.map(field => ({op: 'eq', field, value: value(field)}));
  const next = names[equal.length];
  if (next !== undefined) for (const op of bounds) conditions.push({op, field: next, value: value(next)});
  return {index, conditions, order};
}
