/**
 * A range of an index: fixed values of its leading fields, and bounds on the next one. Every query becomes such ranges.
 */
import {compareValues} from '../../shared/values/order.ts';
import type {Value} from '../../shared/values/value.ts';
import {type FieldTest, type Filter, isComparison} from './filter.ts';

export type Bound = {value: Value | undefined; inclusive: boolean};

export type IndexRange = {
  /** Values of the leading fields. */
  fixed: (Value | undefined)[];
  lower: Bound | null;
  upper: Bound | null;
  /** A value that the bounded field must not have; `{value}` so that the missing value can be one. */
  except: {value: Value | undefined} | null;
};

export const WHOLE: IndexRange = {fixed: [], lower: null, upper: null, except: null};

/** Whether a value lies within the bounds. */
export function isWithin({lower, upper, except}: IndexRange, value: Value | undefined): boolean {
  if (lower !== null) {
    const order = compareValues(value, lower.value);
    if (order < 0 || (order === 0 && !lower.inclusive)) return false;
  }
  if (upper !== null) {
    const order = compareValues(value, upper.value);
    if (order > 0 || (order === 0 && !upper.inclusive)) return false;
  }
  return except === null || compareValues(value, except.value) !== 0;
}

/** The range that comparisons leave of an order by this field, and the comparisons that it covers completely. */
export function rangeOf(field: string, filters: readonly Filter[]): {range: IndexRange; used: Filter[]} {
  const used: Filter[] = [];
  const range: IndexRange = {...WHOLE};
  const eq = filters.find(filter => filter.op === 'eq' && filter.field === field);
  if (eq !== undefined) return {range: {...WHOLE, fixed: [(eq as FieldTest).value]}, used: [eq]};
  for (const filter of filters) {
    if (!isComparison(filter) || filter.field !== field || filter.op === 'neq') continue;
    const {op, value} = filter;
    used.push(filter);
    const bound = {value, inclusive: op === 'gte' || op === 'lte'};
    if (op === 'gt' || op === 'gte') range.lower = tighter(range.lower, bound, 1);
    else range.upper = tighter(range.upper, bound, -1);
  }
  return {range, used};
}

/** @param sign 1: the higher one is tighter */
function tighter(known: Bound | null, other: Bound, sign: 1 | -1): Bound {
  if (known === null) return other;
  const order = sign * compareValues(other.value, known.value);
  return order > 0 || (order === 0 && !other.inclusive) ? other : known;
}
