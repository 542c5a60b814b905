/**
 * Where the documents stand that a query object may show: the values that `eq` filters fix, and bounds on one field more. What is
 * written elsewhere cannot concern its result. The filters that this does not say are looked at when something was written here.
 *
 *   eq fields, sorted │ one more: the order's if it is bounded, else another that is, else the order's if there is a limit
 *
 * A result that is cut at its limit ends with its last entry, and so does the stretch where its last field is that of the
 * order: pages of one list do not hear of each other's documents.
 */
import {Buffer} from 'node:buffer';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey, keySuccessor} from '../../shared/values/key-encoding.ts';
import type {Filter} from '../reads/filter.ts';
import {orderOf} from '../reads/plan.ts';
import {type Bound, rangeOf} from '../reads/range.ts';
import {oneByte} from '../reads/read-set.ts';
import type {Stretch} from './live-index.ts';

const CREATION = '_creationTime';

export class QueryStretch {
  /** What the last entry of a cut result is asked for; null: nothing, the stretch does not end with it. */
  readonly endsBy: 'creation' | 'order' | null;
  readonly #fields: readonly string[];
  readonly #prefix: Buffer;
  readonly #lower: Buffer;
  readonly #upper: Buffer;
  readonly #reverse: boolean;

  constructor(query: QueryObject, filters: readonly Filter[]) {
    const order = orderOf(query);
    const fixed = [...new Set(filters.filter(({op}) => op === 'eq').map(({field}) => field))].sort();
    // A field that is the same everywhere orders nothing: what is left is the order of creation.
    const ordering = order.by === null || fixed.includes(order.by) ? CREATION : order.by;
    const further = furtherField(filters, fixed, ordering, query.limit !== undefined);
    this.#fields = further === null ? fixed : [...fixed, further];
    this.endsBy = further !== ordering ? null : ordering === CREATION ? 'creation' : 'order';
    this.#reverse = order.reverse;
    const {range} = rangeOf(this.#fields, filters);
    const prefix = encodeKey(range.fixed);
    this.#prefix = prefix;
    this.#lower = range.lower === null ? prefix : edge(prefix, range.lower, !range.lower.inclusive);
    this.#upper = range.upper === null ? keySuccessor(prefix) : edge(prefix, range.upper, range.upper.inclusive);
    // One value, one place.
    if (further === null) this.#upper = Buffer.concat([prefix, Buffer.alloc(1)]);
  }

  /** @param last the encoded value of the last entry in what `endsBy` says; null: all of it. @returns null when it is empty */
  upTo(last: Buffer | null): Stretch | null {
    let lower = this.#lower;
    let upper = this.#upper;
    if (last !== null) {
      const at = Buffer.concat([this.#prefix, last]);
      if (this.#reverse) lower = Buffer.compare(at, lower) > 0 ? at : lower;
      else upper = Buffer.compare(keySuccessor(at), upper) < 0 ? keySuccessor(at) : upper;
    }
    if (Buffer.compare(lower, upper) >= 0) return null;
    return {fields: this.#fields, lower: oneByte(lower), upper: oneByte(upper)};
  }
}

function furtherField(
  filters: readonly Filter[],
  fixed: readonly string[],
  ordering: string,
  isLimited: boolean,
): string | null {
  const bounded = filters.filter(({op, field}) => op !== 'eq' && op !== 'neq' && !fixed.includes(field));
  if (bounded.some(({field}) => field === ordering)) return ordering;
  if (bounded.length > 0) return bounded[0]!.field;
  return isLimited && !fixed.includes(ordering) ? ordering : null;
}

/** Before or behind everything that has the bound's value. */
function edge(prefix: Buffer, {value}: Bound, isBehind: boolean): Buffer {
  const at = Buffer.concat([prefix, encodeKey([value])]);
  return isBehind ? keySuccessor(at) : at;
}
