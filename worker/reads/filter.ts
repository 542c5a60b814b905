/** Filter clauses as predicates, by the total order of all values: no clause ever fails on a value's type. */
import type {FilterOperator, QueryObject} from '../../shared/protocol/queries.ts';
import {checkValue} from '../../shared/values/json.ts';
import {compareValues} from '../../shared/values/order.ts';
import {compilePath, type FieldPath, valueAt} from '../../shared/values/paths.ts';
import type {Value} from '../../shared/values/value.ts';

export type Filter = {field: string; path: FieldPath; op: FilterOperator; value: Value};
export type Predicate = (document: Readonly<Record<string, Value>>) => boolean;

/** @throws op.invalid_input 400 for a field or value that cannot be */
export function compileFilters(clauses: QueryObject['filters']): Filter[] {
  return clauses.map(({field, op, value}, i) => {
    checkValue(value, `filters[${i}].value`);
    return {field, path: compilePath(field), op, value: value === undefined ? null : positiveZero(value as Value)};
  });
}

/** Documents hold no native -0, so a filter's is meant as 0. */
function positiveZero(value: Value): Value {
  return value === 0 ? 0 : value;
}

/** Of what `compareValues` says of two values. */
export const COMPARISONS: Readonly<Record<FilterOperator, (order: number) => boolean>> = {
  eq: order => order === 0,
  neq: order => order !== 0,
  gt: order => order > 0,
  gte: order => order >= 0,
  lt: order => order < 0,
  lte: order => order <= 0,
};

/** True for documents that pass every filter. */
export function matches(filters: readonly Filter[]): Predicate {
  const tests = filters.map(({path, op, value}) => ({path, value, holds: COMPARISONS[op]}));
  return document => {
    for (const {path, value, holds} of tests) {
      if (!holds(compareValues(valueAt(document, path), value))) return false;
    }
    return true;
  };
}
