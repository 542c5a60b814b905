/**
 * The key ranges of the documents that a query object can show: the values that filters fix, and bounds on one further
 * field. Writes elsewhere cannot affect its result. The remaining filters are evaluated for writes inside the ranges.
 *
 *   fixed fields, sorted │ one more: the order's if it is bounded, else another that is, else the order's if there is a limit
 *
 * A field with several possible values, or an `or`, makes several ranges, as long as they are few.
 *
 * A result that is cut at its limit ends with its last entry, and so does a range whose last field is that of the
 * order. So a write to one page of a list does not touch the other pages.
 */
import {Buffer} from 'node:buffer';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {keySuccessor} from '../../shared/values/key-encoding.ts';
import {LIVE_RANGES_MAX} from '../limits.ts';
import {type Filter, isTest} from '../reads/filter.ts';
import {type KeyRanges, keyRangesOf} from '../reads/key-ranges.ts';
import type {Order} from '../reads/order.ts';
import {oneByte} from '../reads/read-set.ts';
import type {FieldRange} from './live-index.ts';

const CREATION = '_creationTime';

export type QueryRange = {
  /** The value of the last entry that ends the range of a cut result; null: the range does not end with it. */
  readonly endsBy: 'creation' | 'order' | null;
  /**
   * @param last the encoded value of `endsBy` in the last entry; null: no end. @returns null when the range is empty
   */
  upTo(last: Buffer | null): FieldRange | null;
};

/** The ranges of a query; together they contain every document that it can show. */
export function rangesOf(query: QueryObject, filters: readonly Filter[], order: Order): QueryRange[] {
  const whole = rangesOfAll(query, filters, order);
  let best = whole;
  for (const choice of filters) {
    if (isTest(choice)) continue;
    const beside = filters.filter(filter => filter !== choice);
    const branches = choice.branches.map(branch => rangesOfAll(query, [...branch, ...beside], order));
    const isNarrower = branches.every(({narrowing}) => narrowing > best.narrowing);
    const ranges = branches.flatMap(branch => branch.ranges);
    if (!isNarrower || ranges.length > LIVE_RANGES_MAX) continue;
    best = {ranges, narrowing: Math.min(...branches.map(({narrowing}) => narrowing))};
  }
  return best.ranges;
}

type Ranges = {ranges: QueryRange[]; narrowing: number};

function rangesOfAll(query: QueryObject, filters: readonly Filter[], order: Order): Ranges {
  const sets = setsOf(filters);
  // No document can match. Otherwise any number of other values would be combined with an empty set.
  for (const {ranges} of sets.values()) {
    if (ranges.length === 0) return {ranges: [], narrowing: Number.POSITIVE_INFINITY};
  }
  const fixed: string[] = [];
  let count = 1;
  for (const [field, {isPoints, ranges}] of sets) {
    if (!isPoints || count * ranges.length > LIVE_RANGES_MAX) continue;
    count *= ranges.length;
    fixed.push(field);
  }
  fixed.sort();
  const ordering = orderingField(order, fixed);
  const bounded = [...sets.keys()].filter(field => !fixed.includes(field) && !sets.get(field)!.isPoints);
  const further = furtherField(bounded, fixed, ordering, query.limit !== undefined);
  const fields = further === null ? fixed : [...fixed, further];
  const endsBy = further === null || further !== ordering ? null : ordering === CREATION ? 'creation' : 'order';
  // Too many values of the order's field to fix them, so they do not bound a range either.
  const range = further !== null && bounded.includes(further) ? sets.get(further) : undefined;
  const prefixes = fixed.reduce<Buffer[]>(
    (all, field) => all.flatMap(prefix => sets.get(field)!.ranges.map(({lower}) => Buffer.concat([prefix, lower]))),
    [Buffer.alloc(0)],
  );
  const ranges = prefixes.flatMap(prefix => {
    if (range === undefined) {
      // One value, one position.
      const upper = further === null ? Buffer.concat([prefix, Buffer.alloc(1)]) : keySuccessor(prefix);
      return [rangeOf({fields, endsBy, prefix, lower: prefix, upper, reverse: order.reverse})];
    }
    return range.ranges.map(({lower, upper}) => {
      const bounds = {lower: Buffer.concat([prefix, lower]), upper: Buffer.concat([prefix, upper])};
      return rangeOf({fields, endsBy, prefix, ...bounds, reverse: order.reverse});
    });
  });
  return {ranges, narrowing: 2 * fixed.length + (range === undefined ? 0 : 1)};
}

function setsOf(filters: readonly Filter[]): Map<string, KeyRanges> {
  const sets = new Map<string, KeyRanges>();
  for (const filter of filters) {
    if (!isTest(filter) || sets.has(filter.field)) continue;
    const set = keyRangesOf(filter.field, filters);
    if (set !== null) sets.set(filter.field, set);
  }
  return sets;
}

/** The one field that ascends in a range and alone cuts the result; null: several fields cut it. */
function orderingField({fields}: Order, fixed: readonly string[]): string | null {
  const [first] = fields;
  if (first === undefined) return CREATION;
  return fields.length > 1 || first.isInverted || fixed.includes(first.field) ? null : first.field;
}

function furtherField(
  bounded: readonly string[],
  fixed: readonly string[],
  ordering: string | null,
  isLimited: boolean,
): string | null {
  if (ordering !== null && bounded.includes(ordering)) return ordering;
  if (bounded.length > 0) return bounded[0]!;
  return isLimited && ordering !== null && !fixed.includes(ordering) ? ordering : null;
}

type Bounds = {
  fields: readonly string[];
  endsBy: QueryRange['endsBy'];
  prefix: Buffer;
  lower: Buffer;
  upper: Buffer;
  reverse: boolean;
};

function rangeOf({fields, endsBy, prefix, lower, upper, reverse}: Bounds): QueryRange {
  return {
    endsBy,
    upTo: last => {
      let [from, to] = [lower, upper];
      if (last !== null) {
        const at = Buffer.concat([prefix, last]);
        if (reverse) from = Buffer.compare(at, from) > 0 ? at : from;
        else to = Buffer.compare(keySuccessor(at), to) < 0 ? keySuccessor(at) : to;
      }
      if (Buffer.compare(from, to) >= 0) return null;
      return {fields, lower: oneByte(from), upper: oneByte(to)};
    },
  };
}
