/**
 * What one invocation has read: ids (also of documents that are not there) and stretches of tables and indexes, each as far as
 * it was really read, rows that a filter left out included. A result needs to be computed again only when a commit touches
 * one of them.
 */
import {compareUtf8} from '../../../shared/values/order.ts';
import type {DocumentRow} from '../../storage/rows.ts';
import {comparePositions, NO_KEY, type Position} from './position.ts';
import type {QueryPlan} from './query-plan.ts';
import {afterId, type Segment} from './segments.ts';

/** In an index: before the entries of this key from this document number on. */
export type Place = {key: Buffer; doc: number};

/** Half open. Of a table, keys are empty and `index` is null; a document's position there is its number. */
export type ReadInterval = {table: string} & (
  | {kind: 'entries'; index: number | null; lower: Place; upper: Place}
  | {kind: 'ids'; from: string; to: string}
);

export class ReadRange {
  readonly #plan: QueryPlan;
  /** Rows up to here were left out by a cursor. */
  readonly #start: Position | null;
  /** The last row that was looked at; `whole`: the scan ran off the end; null: nothing was read. */
  #end: DocumentRow | Position | 'whole' | null = null;

  constructor(plan: QueryPlan, start: Position | null) {
    this.#plan = plan;
    this.#start = start;
  }

  /** @param last the last row that was looked at; null: the scan ran off the end */
  readTo(last: DocumentRow | null): void {
    this.#end = last ?? 'whole';
  }

  /** A page that is computed again covers all of its interval, whatever rows it still has. */
  readUntil(end: Position): void {
    this.#end = end;
  }

  /** Worked out only when they are asked for. */
  intervals(): ReadInterval[] {
    const {table, segments, reverse} = this.#plan;
    const end = this.#end;
    if (end === null) return [];
    // A table that was never written: whatever is inserted first.
    if (segments === null) return [entries(table, null, 0, Number.POSITIVE_INFINITY)];
    const position = end === 'whole' ? null : 'key' in end ? end : this.#plan.position(end);
    const [above, below] = reverse ? [position, this.#start] : [this.#start, position];
    return segments.map(segment => clipped(intervalOf(table, segment), above, below, reverse)).filter(isNotEmpty);
  }
}

export class ReadSet {
  readonly ids = new Set<string>();
  readonly ranges: ReadRange[] = [];
}

function entries(table: string, index: number | null, low: number, end: number): ReadInterval {
  return {table, kind: 'entries', index, lower: {key: NO_KEY, doc: low}, upper: {key: NO_KEY, doc: end}};
}

function intervalOf(table: string, segment: Segment): ReadInterval {
  switch (segment.kind) {
    case 'table':
      return entries(table, null, segment.low, segment.high + 1);
    case 'ids':
      return {table, kind: 'ids', from: segment.from, to: segment.to};
    case 'index': {
      const {index, low, high} = segment;
      const lower = {key: segment.lower, doc: low ?? 0};
      const upper = high === null ? {key: segment.upper, doc: 0} : {key: segment.lower, doc: high + 1};
      return {table, kind: 'entries', index: index.number, lower, upper};
    }
  }
}

/** The part between two positions. The row read last belongs to it; the one a cursor stands on does not. */
function clipped(
  interval: ReadInterval,
  above: Position | null,
  below: Position | null,
  reverse: boolean,
): ReadInterval {
  const extra = reverse ? 0 : 1;
  if (interval.kind === 'ids') {
    const from = above === null ? interval.from : reverse ? above.id : afterId(above.id);
    const to = below === null ? interval.to : reverse ? below.id : afterId(below.id);
    return {
      ...interval,
      from: compareUtf8(from, interval.from) > 0 ? from : interval.from,
      to: compareUtf8(to, interval.to) < 0 ? to : interval.to,
    };
  }
  const from = above === null ? interval.lower : {key: above.key, doc: above.doc + extra};
  const to = below === null ? interval.upper : {key: below.key, doc: below.doc + extra};
  return {
    ...interval,
    lower: comparePlaces(from, interval.lower) > 0 ? from : interval.lower,
    upper: comparePlaces(to, interval.upper) < 0 ? to : interval.upper,
  };
}

function isNotEmpty(interval: ReadInterval): boolean {
  if (interval.kind === 'ids') return compareUtf8(interval.from, interval.to) < 0;
  return comparePlaces(interval.lower, interval.upper) < 0;
}

function comparePlaces(a: Place, b: Place): number {
  return comparePositions({...a, id: ''}, {...b, id: ''}, false);
}
