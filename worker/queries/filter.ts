/** Filter clauses as predicates, by the total order of all values: no clause ever fails on a value's type. */
import {unreachable} from '../../shared/assert.ts';
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

/** True for documents that pass every filter. */
export function matches(filters: readonly Filter[]): Predicate {
  return document => {
    for (const {path, op, value} of filters) {
      if (!holds(op, compareValues(valueAt(document, path), value))) return false;
    }
    return true;
  };
}

function holds(op: FilterOperator, order: number): boolean {
  switch (op) {
    case 'eq':
      return order === 0;
    case 'neq':
      return order !== 0;
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
    default:
      return unreachable(op);
  }
}
