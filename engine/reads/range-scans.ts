/**
 * The range scans of a query: one or two ranges of an index, of the table or of its ids, in ascending order (`neq` makes
 * two).
 *
 * After its declared fields, every index continues with the creation time and the id. Creation times rise with document
 * numbers, and entries with equal values are in number order. So a bound on the creation time is a bound on the number,
 * which bisection finds.
 */
import {Buffer} from 'node:buffer';
import {encodeKey, keySuccessor} from '../../shared/values/key-encoding.ts';
import {compareUtf8, compareValues} from '../../shared/values/order.ts';
import type {Value} from '../../shared/values/value.ts';
import type {DocumentRow, IndexInfo, QueryReader, TableInfo} from '../storage/rows.ts';
import {type Bound, type IndexRange, isWithin} from './range.ts';

export type RangeScan =
  /** Documents by number, both ends included. */
  | {kind: 'table'; low: number; high: number}
  /** Entries with lower ≤ key < upper; `low` and `high` bound the document number if all of them have one key. */
  | {kind: 'index'; index: IndexInfo; lower: Buffer; upper: Buffer; low: number | null; high: number | null}
  /** The document of this id, if its number is the table's. */
  | {kind: 'id'; id: string; low: number; high: number}
  /** Documents of the table with these numbers in the order of their ids, from ≤ id < to. */
  | {kind: 'ids'; from: string; to: string; low: number; high: number};

/** Above every id: ids contain no unassigned character. */
const AFTER_IDS = '\u{10ffff}';

/** The whole table, or a range of its creation times. */
export function tableScans(reader: QueryReader, table: TableInfo, range: IndexRange): RangeScan[] {
  return numberRanges(reader, table, range, 0).map(([low, high]) => ({kind: 'table', low, high}));
}

export function indexScans(reader: QueryReader, table: TableInfo, index: IndexInfo, range: IndexRange): RangeScan[] {
  const declared = index.fields.length;
  const {fixed} = range;
  const prefix = encodeKey(fixed.slice(0, declared));
  if (fixed.length > declared || (fixed.length === declared && isBounded(range))) {
    const upper = keySuccessor(prefix);
    return numberRanges(reader, table, range, declared).map(([low, high]) => {
      return {kind: 'index', index, lower: prefix, upper, low, high};
    });
  }
  return keyRanges(prefix, range).map(([lower, upper]) => ({
    kind: 'index',
    index,
    lower,
    upper,
    low: null,
    high: null,
  }));
}

function isBounded({lower, upper, except}: IndexRange): boolean {
  return lower !== null || upper !== null || except !== null;
}

/** Documents by their ids. The range has no field but `_id`. */
export function idScans({lowDoc: low, highDoc: high}: TableInfo, range: IndexRange): RangeScan[] {
  const [id] = range.fixed;
  if (range.fixed.length > 0) return typeof id === 'string' ? [{kind: 'id', id, low, high}] : [];
  return idRanges(range).map(([from, to]) => ({kind: 'ids', from, to, low, high}));
}

function idRanges({lower, upper, except}: IndexRange): [string, string][] {
  const from = lower === null ? '' : idBound(lower, !lower.inclusive);
  const to = upper === null ? AFTER_IDS : idBound(upper, upper.inclusive);
  if (typeof except?.value !== 'string') return [[from, to]];
  const hole = except.value;
  const above = afterId(hole);
  return [
    [from, compareUtf8(to, hole) < 0 ? to : hole],
    [compareUtf8(from, above) > 0 ? from : above, to],
  ];
}

/** The value as a bound among texts: values of other types are below or above all texts. */
function idBound({value}: Bound, isBehind: boolean): string {
  if (typeof value === 'string') return isBehind ? afterId(value) : value;
  return compareValues(value, '') < 0 ? '' : AFTER_IDS;
}

/** The smallest text above this one. */
export function afterId(id: string): string {
  return `${id}\0`;
}

/** Key intervals of the field after the prefix. */
function keyRanges(prefix: Buffer, {lower, upper, except}: IndexRange): [Buffer, Buffer][] {
  const keyOf = (value: Value | undefined) => Buffer.concat([prefix, encodeKey([value])]);
  const from = lower === null ? prefix : lower.inclusive ? keyOf(lower.value) : keySuccessor(keyOf(lower.value));
  const to =
    upper === null ? keySuccessor(prefix) : upper.inclusive ? keySuccessor(keyOf(upper.value)) : keyOf(upper.value);
  if (except === null) return [[from, to]];
  const hole = keyOf(except.value);
  return [
    [from, earlier(to, hole)],
    [later(from, keySuccessor(hole)), to],
  ];
}

export function earlier(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) <= 0 ? a : b;
}
export function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) >= 0 ? a : b;
}

/**
 * Intervals of document numbers, for bounds on the creation time. A bound later than all documents includes numbers
 * that do not exist yet, because a later insert there changes the result.
 *
 * @param declared fields before the creation time
 */
function numberRanges(reader: QueryReader, table: TableInfo, range: IndexRange, declared: number): [number, number][] {
  const {fixed, lower, upper, except} = range;
  const from = (value: Value | undefined, inclusive: boolean) =>
    firstCreated(reader, table, value, inclusive) ?? afterLast(reader, table);
  const to = (value: Value | undefined, inclusive: boolean) =>
    (firstCreated(reader, table, value, !inclusive) ?? table.highDoc + 1) - 1;
  if (fixed.length > declared) {
    const time = fixed[declared];
    const low = from(time, true);
    const high = to(time, true);
    // Creation times are unique in a table, so a comparison of the id concerns one row.
    const row = low > high ? undefined : reader.documents(low, high, false, 1)[0];
    if (row === undefined) return [[low, high]];
    const isMeant = fixed.length > declared + 1 ? row.id === fixed[declared + 1] : isWithin(range, row.id);
    return isMeant ? [[row.doc, row.doc]] : [];
  }
  const low = lower === null ? table.lowDoc : from(lower.value, lower.inclusive);
  const high = upper === null ? table.highDoc : to(upper.value, upper.inclusive);
  if (except === null) return [[low, high]];
  return [
    [low, Math.min(high, to(except.value, false))],
    [Math.max(low, from(except.value, false)), high],
  ];
}

/**
 * The lowest number whose creation time is above `value`, or, if `inclusive`, not below it; null: there is none yet.
 */
function firstCreated(
  reader: QueryReader,
  table: TableInfo,
  value: Value | undefined,
  inclusive: boolean,
): number | null {
  const isFrom = (row: DocumentRow) => {
    const order = compareValues(row.created, value);
    return order > 0 || (order === 0 && inclusive);
  };
  const last = reader.documents(table.lowDoc, table.highDoc, true, 1)[0];
  if (last === undefined || !isFrom(last)) return null;
  let low = table.lowDoc;
  let high = last.doc;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2); // low + high can exceed 2^53
    const row = reader.documents(middle, high, false, 1)[0];
    if (row === undefined || isFrom(row)) high = middle;
    else low = row.doc + 1;
  }
  return high;
}

function afterLast(reader: QueryReader, table: TableInfo): number {
  const last = reader.documents(table.lowDoc, table.highDoc, true, 1)[0];
  return last === undefined ? table.lowDoc : last.doc + 1;
}
