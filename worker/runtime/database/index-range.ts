/**
 * Index ranges (`withIndex(name, q => …)`). They are checked by the reference's rules, which have a different error for
 * each mistake. The result is the fixed values of the leading fields, and bounds on the next one.
 */

import type {IndexRange} from '../../../engine/reads/range.ts';
import type {Value} from '../../../shared/values/value.ts';
import type {QueryRangeOp} from '../guest/host-call.ts';
import {DatabaseFault} from './database-fault.ts';
import {operand} from './wire-operand.ts';

const SYMBOLS = {gt: '>', gte: '>=', lt: '<', lte: '<='} as const;

/**
 * @param index `table.name`
 * @param fields the declared ones, @param implicit the fields that end every index
 * @throws DatabaseFault
 */
export function indexRange(
  index: string,
  fields: readonly string[],
  implicit: readonly string[],
  operations: readonly QueryRangeOp[],
): IndexRange {
  const all = [...fields, ...implicit];
  const equal = new Map<string, Value | undefined>();
  const range: IndexRange = {fixed: [], lower: null, upper: null, except: null};
  let bounded: string | null = null;
  for (const {op, field, value: wire} of operations) {
    if (!all.includes(field)) {
      throw new DatabaseFault(
        `The index range included a comparison with "${field}", but ${index} with fields ${JSON.stringify(fields)} doesn't index this field.`,
      );
    }
    const value = operand(wire);
    if (op === 'eq') {
      if (equal.has(field)) throw new DatabaseFault('Already defined equality bound in index range.');
      if (bounded === field) throw new DatabaseFault('Already defined inequality bound in index range.');
      equal.set(field, value);
      continue;
    }
    if (equal.has(field)) throw new DatabaseFault('Already defined inequality bound in index range.');
    if (bounded !== null && bounded !== field) {
      throw new DatabaseFault('Upper and lower bounds in range can only be applied to a single index field.');
    }
    bounded = field;
    addBound(range, op, field, value);
  }
  range.fixed = fixedValues(index, all, equal, bounded);
  return range;
}

function addBound(
  range: IndexRange,
  op: Exclude<QueryRangeOp['op'], 'eq'>,
  field: string,
  value: Value | undefined,
): void {
  if (op === 'neq') {
    if (range.except !== null) throw new DatabaseFault('Already defined inequality bound in index range.');
    range.except = {value};
    return;
  }
  const side = op === 'gt' || op === 'gte' ? 'lower' : 'upper';
  if (range[side] !== null) {
    const shown = JSON.stringify(value) ?? 'undefined';
    throw new DatabaseFault(
      `Already defined ${side} bound in index range. Can't add "${field}" ${SYMBOLS[op]} ${shown.slice(0, 100)}.`,
    );
  }
  range[side] = {value, inclusive: op === 'gte' || op === 'lte'};
}

/** The fixed fields must come first, and the bounded field next. */
function fixedValues(
  index: string,
  all: readonly string[],
  equal: ReadonlyMap<string, Value | undefined>,
  bounded: string | null,
): (Value | undefined)[] {
  const fixed = all.slice(0, equal.size).map(field => {
    if (!equal.has(field)) throw outOfOrder(index);
    return equal.get(field);
  });
  if (bounded !== null && all[equal.size] !== bounded) throw outOfOrder(index);
  return fixed;
}

function outOfOrder(index: string): DatabaseFault {
  return new DatabaseFault(`Tried to query index ${index} but the query didn't use the index fields in order.`);
}
