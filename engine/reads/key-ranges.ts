/**
 * The filters on one field, as ranges of encoded values: the positions of matching documents in any index that has this
 * field next.
 *
 * A value v is in a range when lower ≤ encodeKey([v]) < upper, whatever follows it in a key. Bounds are encodings,
 * prefixes of encodings, or either followed by ff, which is above all continuations.
 */
import {Buffer} from 'node:buffer';
import {encodeKey, keySuccessor} from '../../shared/values/key-encoding.ts';
import type {Value} from '../../shared/values/value.ts';
import {type FieldTest, type Filter, isTest} from './filter.ts';

export type KeyRange = {readonly lower: Buffer; readonly upper: Buffer};

export type KeyRanges = {
  /** Ascending, without overlap. Empty: no value passes. */
  readonly ranges: readonly KeyRange[];
  /** Each range is a single value, whose encoding is `lower`. Otherwise there is at most one range. */
  readonly isPoints: boolean;
  /** It excludes missing values and nothing else. */
  readonly isWide: boolean;
  /** The filters that it covers completely. */
  readonly used: readonly FieldTest[];
};

const LOWEST = Buffer.alloc(0);
const HIGHEST = Buffer.from([0xff]);
const MISSING = pointAt(undefined);

/** Null: the filters do not form a range. */
export function keyRangesOf(field: string, filters: readonly Filter[]): KeyRanges | null {
  let ranges: readonly KeyRange[] | null = null;
  let isPoints = false;
  let isWide = true;
  const used: FieldTest[] = [];
  for (const filter of filters) {
    if (!isTest(filter) || filter.field !== field) continue;
    const said = rangesOf(filter);
    if (said === null) continue;
    used.push(filter);
    isPoints ||= filter.op === 'eq' || filter.op === 'in' || (filter.op === 'exists' && filter.value === false);
    isWide &&= filter.op === 'exists' && filter.value === true;
    ranges = ranges === null ? said : overlap(ranges, said);
  }
  return ranges === null ? null : {ranges, isPoints, isWide, used};
}

/** Cached, because lists are long and a filter outside the branches of an `or` is evaluated with each branch. */
const ofLists = new WeakMap<FieldTest, readonly KeyRange[]>();

function listRanges(filter: FieldTest): readonly KeyRange[] {
  let ranges = ofLists.get(filter);
  if (ranges === undefined) {
    ranges = distinct((filter.value as Value[]).map(pointAt));
    ofLists.set(filter, ranges);
  }
  return ranges;
}

/** Null: the filter does not reduce to a few ranges. */
function rangesOf(filter: FieldTest): readonly KeyRange[] | null {
  const {op, value} = filter;
  switch (op) {
    case 'eq':
      return [pointAt(value)];
    case 'in':
      return listRanges(filter);
    case 'gt':
      return [{lower: keySuccessor(encodeKey([value])), upper: HIGHEST}];
    case 'gte':
      return [{lower: encodeKey([value]), upper: HIGHEST}];
    case 'lt':
      return [{lower: LOWEST, upper: encodeKey([value])}];
    case 'lte':
      return [{lower: LOWEST, upper: keySuccessor(encodeKey([value]))}];
    case 'exists':
      return value === true ? [{lower: MISSING.upper, upper: HIGHEST}] : [MISSING];
    case 'prefix': {
      // Without the 00 that ends the text.
      const lower = encodeKey([value]).subarray(0, -1);
      return [{lower, upper: keySuccessor(lower)}];
    }
    case 'neq':
    case 'not_in':
    case 'contains':
      return null;
  }
}

function pointAt(value: Value | undefined): KeyRange {
  const lower = encodeKey([value]);
  return {lower, upper: keySuccessor(lower)};
}

/** @param sorted ascending */
function distinct(sorted: readonly KeyRange[]): KeyRange[] {
  return sorted.filter(({lower}, i) => i === 0 || !lower.equals(sorted[i - 1]!.lower));
}

function overlap(a: readonly KeyRange[], b: readonly KeyRange[]): KeyRange[] {
  const both: KeyRange[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const one = a[i]!;
    const other = b[j]!;
    const lower = Buffer.compare(one.lower, other.lower) >= 0 ? one.lower : other.lower;
    const isFirst = Buffer.compare(one.upper, other.upper) <= 0;
    const upper = isFirst ? one.upper : other.upper;
    if (Buffer.compare(lower, upper) < 0) both.push({lower, upper});
    if (isFirst) i++;
    else j++;
  }
  return both;
}
