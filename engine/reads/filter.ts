/** Filters as predicates, by the total order of all values, so that no filter fails because of a value's type. */
import {invalid, type ServiceError} from '../../shared/errors.ts';
import {FILTERS_MAX} from '../../shared/limits.ts';
import type {ComparisonOperator, FilterClause, FilterOperator} from '../../shared/protocol/queries.ts';
import {checkValue} from '../../shared/values/json.ts';
import {compareValues} from '../../shared/values/order.ts';
import {compilePath, type FieldPath, valueAt} from '../../shared/values/paths.ts';
import type {Value} from '../../shared/values/value.ts';
import {FILTER_VALUES_MAX} from '../limits.ts';

/** A comparison of one field. The value of `in` and `not_in` is a list in the order of values. */
export type FieldTest = {field: string; path: FieldPath; op: FilterOperator; value: Value};
/** Holds if one of its branches holds, with everything in that branch. */
export type Choice = {op: 'or'; branches: Filter[][]};
export type Filter = FieldTest | Choice;
export type Predicate = (document: Readonly<Record<string, Value>>) => boolean;

/** @throws op.invalid_input 400 for an invalid filter */
export function compileFilters(clauses: readonly FilterClause[]): Filter[] {
  const count = {left: FILTERS_MAX};
  return clauses.map((clause, i) => compile(clause, () => `filters[${i}]`, count));
}

/** @param name of the clause, for the error: this runs for every query, and nearly none is refused */
function compile(clause: FilterClause, name: () => string, count: {left: number}): Filter {
  if (count.left-- === 0) throw refused('filters', `are ${FILTERS_MAX} at most, those inside of or counted`);
  if ('or' in clause) {
    if ('field' in clause || 'op' in clause || 'value' in clause) {
      throw refused(name(), 'has either or, or field, op and value');
    }
    const branches = clause.or.map((branch, i) => {
      const inside = () => `${name()}.or[${i}]`;
      return Array.isArray(branch)
        ? branch.map((one, j) => compile(one, () => `${inside()}[${j}]`, count))
        : [compile(branch, inside, count)];
    });
    return {op: 'or', branches};
  }
  const {field, op, value} = clause;
  if (!isPlain(value)) checkValue(value, `${name()}.value`);
  const compiled = value === undefined ? null : positiveZero(value as Value);
  return {field, path: compilePath(field), op, value: operand(op, compiled, name)};
}

/** The form of most filter values, which is always valid. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  return typeof value === 'boolean' || Number.isFinite(value);
}

/** Native documents contain no -0, so a filter's -0 means 0. */
function positiveZero(value: Value): Value {
  return value === 0 ? 0 : value;
}

function operand(op: FilterOperator, value: Value, name: () => string): Value {
  switch (op) {
    case 'in':
    case 'not_in':
      if (!Array.isArray(value)) throw refused(`${name()}.value`, `of ${op} must be a list of values`);
      if (value.length > FILTER_VALUES_MAX)
        throw refused(`${name()}.value`, `of ${op} has ${FILTER_VALUES_MAX} values at most`);
      return value.map(positiveZero).sort(compareValues);
    case 'prefix':
      if (typeof value !== 'string') throw refused(`${name()}.value`, 'of prefix must be a string');
      return value;
    case 'exists':
      if (typeof value !== 'boolean') throw refused(`${name()}.value`, 'of exists must be true or false');
      return value;
    default:
      return value;
  }
}

function refused(name: string, what: string): ServiceError {
  return invalid(`${name} ${what}`);
}

/** Tests the result of `compareValues` for two values. */
export const COMPARISONS: Readonly<Record<ComparisonOperator, (order: number) => boolean>> = {
  eq: order => order === 0,
  neq: order => order !== 0,
  gt: order => order > 0,
  gte: order => order >= 0,
  lt: order => order < 0,
  lte: order => order <= 0,
};

export function isTest(filter: Filter): filter is FieldTest {
  return filter.op !== 'or';
}

export function isComparison(filter: Filter): filter is FieldTest & {op: ComparisonOperator} {
  return Object.hasOwn(COMPARISONS, filter.op);
}

/** True for documents that pass every filter. */
export function matches(filters: readonly Filter[]): Predicate {
  const tests = filters.map(predicate);
  const [only] = tests;
  if (only !== undefined && tests.length === 1) return only;
  return document => {
    for (const test of tests) if (!test(document)) return false;
    return true;
  };
}

function predicate(filter: Filter): Predicate {
  if (!isTest(filter)) {
    const branches = filter.branches.map(matches);
    return document => branches.some(branch => branch(document));
  }
  const {path, value} = filter;
  if (isComparison(filter)) {
    const holds = COMPARISONS[filter.op];
    return document => holds(compareValues(valueAt(document, path), value));
  }
  const holds = holdsOf(filter);
  return document => holds(valueAt(document, path));
}

function holdsOf({op, value}: FieldTest): (found: Value | undefined) => boolean {
  switch (op) {
    case 'in':
      return found => isAmong(value as Value[], found);
    case 'not_in':
      return found => !isAmong(value as Value[], found);
    case 'prefix':
      return found => typeof found === 'string' && found.startsWith(value as string);
    case 'exists':
      return found => (found !== undefined) === value;
    default:
      return found => contains(found, value);
  }
}

/** @param sorted in the order of values */
function isAmong(sorted: readonly Value[], found: Value | undefined): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compareValues(sorted[middle], found);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** An array that has the value among its elements, or a string that contains the text. */
function contains(found: Value | undefined, value: Value): boolean {
  if (Array.isArray(found)) return found.some(element => compareValues(element, value) === 0);
  return typeof found === 'string' && typeof value === 'string' && found.includes(value);
}
