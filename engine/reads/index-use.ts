/**
 * How an index serves a query: the values that its leading fields are fixed to, a range of the next field, and whether
 * its entries come in the requested order.
 *
 *   fixed to one value each │ to one of several values │ a range of the next field │ the other fields
 *
 * Fields fixed to several values make as many key ranges of the index. The ranges are read one after another if that is
 * the order of the query. If only each range by itself is in that order, they are merged.
 */
import {Buffer} from 'node:buffer';
import {keySuccessor} from '../../shared/values/key-encoding.ts';
import {MERGED_PATHS_MAX, QUERY_RANGES_MAX} from '../limits.ts';
import type {IndexInfo, TableInfo} from '../storage/rows.ts';
import type {FieldTest, Filter} from './filter.ts';
import {type KeyRange, type KeyRanges, keyRangesOf} from './key-ranges.ts';
import {keyPart, type Order} from './order.ts';
import type {Position} from './position.ts';
import type {RangeScan} from './range-scans.ts';

/** `follow`: the key ranges are read one after another. `merge`: they are merged. `none`: the rows must be sorted. */
type Ordering = 'follow' | 'merge' | 'none';

export type IndexUse = {
  readonly index: IndexInfo;
  readonly fixed: readonly KeyRanges[];
  readonly range: KeyRanges | null;
  readonly ordering: Ordering;
  /** Number of key ranges of the index. */
  readonly ranges: number;
  /** Selectivity score; 0: the index does not narrow the query. */
  readonly narrowing: number;
  readonly used: readonly Filter[];
};

/** Where a scan starts to continue after a position of the query's order; null: at its beginning, 'over': nowhere. */
export type Resume = (after: Position) => Position | null | 'over';

/** Some key ranges of an index in the order of its entries, and how they continue after a position. */
export type IndexRanges = {readonly rangeScans: RangeScan[]; readonly resume: Resume};

const ONE_VALUE = 8;
const SEVERAL_VALUES = 6;
const RANGE = 4;
const IN_ORDER = 2;
const NOT_MISSING = 1;

/** The most selective index, the first of equal ones; null: no index helps. @param most number of key ranges */
export function bestIndex(
  table: TableInfo,
  filters: readonly Filter[],
  order: Order,
  most = QUERY_RANGES_MAX,
  which: 'any' | 'in order' = 'any',
): IndexUse | null {
  const sets = new Map<string, KeyRanges | null>();
  const setOf = (field: string) => {
    let set = sets.get(field);
    if (set === undefined) {
      set = keyRangesOf(field, filters);
      sets.set(field, set);
    }
    return set;
  };
  let best: IndexUse | null = null;
  let bestScore = 0;
  for (const index of table.indexes) {
    const use = serviceOf(index, setOf, order, most);
    if (which === 'in order' && use.ordering === 'none') continue;
    const isUseful = use.narrowing > 0 || (use.ordering !== 'none' && order.fields.length > 0);
    const score = isUseful ? use.narrowing + (use.ordering === 'none' ? 0 : IN_ORDER) : 0;
    if (score <= bestScore) continue;
    best = use;
    bestScore = score;
  }
  return best;
}

function serviceOf(index: IndexInfo, setOf: (field: string) => KeyRanges | null, order: Order, most: number): IndexUse {
  const fixed: KeyRanges[] = [];
  const used: FieldTest[] = [];
  let range: KeyRanges | null = null;
  let ranges = 1;
  let narrowing = 0;
  for (const field of index.fields) {
    const set = setOf(field);
    if (set === null || ranges * set.ranges.length > most) break;
    used.push(...set.used);
    if (!set.isPoints) {
      range = set;
      narrowing += set.isWide ? NOT_MISSING : RANGE;
      break;
    }
    fixed.push(set);
    ranges *= set.ranges.length;
    narrowing += set.ranges.length > 1 ? SEVERAL_VALUES : ONE_VALUE;
  }
  const ordering = orderingOf(index.fields, fixed, ranges, order);
  return {index, fixed, range, ordering, ranges: ranges * (range?.ranges.length ?? 1), narrowing, used};
}

/**
 * Ties break by document number, so an index returns an order only if nothing but the number comes after the fields of
 * the order. Fixed fields are constant in a range, so they can come first in the order, but nowhere else.
 */
function orderingOf(names: readonly string[], fixed: readonly KeyRanges[], ranges: number, {fields}: Order): Ordering {
  if (isAsIndex(names, leadingSingles(fixed), fields, 0)) return 'follow';
  if (!isAsIndex(names, fixed.length, fields, leadingConstants(names, fixed.length, fields))) return 'none';
  if (ranges <= 1) return 'follow';
  return ranges <= MERGED_PATHS_MAX ? 'merge' : 'none';
}

/** Whether the next fields of the index are exactly the remaining fields of the order. */
function isAsIndex(names: readonly string[], from: number, fields: Order['fields'], at: number): boolean {
  if (fields.length - at !== names.length - from) return false;
  for (let i = at; i < fields.length; i++) {
    const {field, isInverted} = fields[i]!;
    if (isInverted || field !== names[from + i - at]) return false;
  }
  return true;
}

/** Number of leading fields fixed to one value. */
function leadingSingles(fixed: readonly KeyRanges[]): number {
  const several = fixed.findIndex(({ranges}) => ranges.length > 1);
  return several === -1 ? fixed.length : several;
}

/** Number of the order's first fields that are among the fixed ones, and lead the index. */
function leadingConstants(names: readonly string[], fixed: number, fields: Order['fields']): number {
  let count = 0;
  while (count < fields.length) {
    const at = names.indexOf(fields[count]!.field);
    if (at === -1 || at >= fixed) break;
    count++;
  }
  return count;
}

/** The parts of the index to read: one with all ranges, or one per range if they are merged. */
export function rangesOf(use: IndexUse, order: Order, isMerged: boolean): IndexRanges[] {
  const {fixed, index, range} = use;
  const [only] = fixed;
  if (fixed.length === 1 && range === null && hasOne(only!)) {
    const [{lower, upper}] = only!.ranges as [KeyRange];
    const rangeScans: RangeScan[] = [{kind: 'index', index, low: null, high: null, lower, upper}];
    return [{rangeScans, resume: resumeIn(use, order, [lower], lower)}];
  }
  if (fixed.every(hasOne)) {
    const values = fixed.map(({ranges}) => ranges[0]!.lower);
    const prefix = Buffer.concat(values);
    return [{rangeScans: rangeScansOf(index, prefix, range), resume: resumeIn(use, order, values, prefix)}];
  }
  const all = fixed.reduce<Buffer[][]>(
    (combined, {ranges}) => combined.flatMap(values => ranges.map(({lower}) => [...values, lower])),
    [[]],
  );
  const rangeScans = all.flatMap(values => rangeScansOf(index, Buffer.concat(values), range));
  if (isMerged && rangeScans.length > 1)
    return rangeScans.map((rangeScan, i) => ({
      rangeScans: [rangeScan],
      resume: resumeIn(use, order, all[i]!, Buffer.concat(all[i]!)),
    }));
  if (order.reverse) rangeScans.reverse();
  // Before the fields with several values the key is constant; from there on a position's key contains the values.
  const single = leadingSingles(fixed);
  const [first = []] = all;
  const resume =
    rangeScans.length === 1
      ? resumeIn(use, order, first, Buffer.concat(first))
      : resumeBehind(Buffer.concat(first.slice(0, single)));
  return [{rangeScans, resume}];
}

function rangeScansOf(index: IndexInfo, prefix: Buffer, range: KeyRanges | null): (RangeScan & {kind: 'index'})[] {
  const entire = {kind: 'index', index, low: null, high: null} as const;
  if (range === null) return [{...entire, lower: prefix, upper: keySuccessor(prefix)}];
  return range.ranges.map(({lower, upper}) => ({
    ...entire,
    lower: Buffer.concat([prefix, lower]),
    upper: Buffer.concat([prefix, upper]),
  }));
}

function hasOne({ranges}: KeyRanges): boolean {
  return ranges.length === 1;
}

function resumeBehind(prefix: Buffer): Resume {
  return after => ({...after, key: Buffer.concat([prefix, after.key])});
}

/** For the range with these values: a position with other leading values is before or after the whole range. */
function resumeIn(
  {index, fixed}: IndexUse,
  {fields, reverse}: Order,
  values: readonly Buffer[],
  prefix: Buffer,
): Resume {
  const constants = leadingConstants(index.fields, fixed.length, fields);
  if (constants === 0) return resumeBehind(prefix);
  const parts = fields.slice(0, constants).map(field => keyPart(field, values[index.fields.indexOf(field.field)]!));
  const here = Buffer.concat(parts);
  return after => {
    const order = Buffer.compare(after.key.subarray(0, here.length), here);
    if (order === 0) return {...after, key: Buffer.concat([prefix, after.key.subarray(here.length)])};
    return order < 0 === reverse ? 'over' : null;
  };
}
