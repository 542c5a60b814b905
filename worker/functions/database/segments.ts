/**
 * Where the rows of a query lie: one or two stretches of an index or of the table, in ascending order (`neq` makes two).
 *
 * Every index goes on with the creation time and the id. Creation times rise with document numbers, and entries of equal
 * values are in number order, so a bound on the creation time is a bound on the number, found by bisection.
 */
import {Buffer} from 'node:buffer';
import {encodeKey, keySuccessor} from '../../../shared/values/key-encoding.ts';
import {compareValues} from '../../../shared/values/order.ts';
import type {Value} from '../../../shared/values/value.ts';
import type {DocumentRow, IndexInfo, QueryReader, TableInfo} from '../../queries/reader.ts';
import type {IndexRange} from './index-range.ts';

export type Segment =
  /** Documents by number, both ends included. */
  | {kind: 'table'; low: number; high: number}
  /** Entries with lower ≤ key < upper; `low` and `high` bound the number of those with that one key. */
  | {kind: 'index'; index: IndexInfo; lower: Buffer; upper: Buffer; low: number | null; high: number | null}
  /** Rows that were collected, in order. */
  | {kind: 'rows'; rows: DocumentRow[]};

/** The whole table, or a range of its creation times. */
export function tableSegments(reader: QueryReader, table: TableInfo, range: IndexRange): Segment[] {
  return numberRanges(reader, table, range, 0).map(([low, high]) => ({kind: 'table', low, high}));
}

export function indexSegments(reader: QueryReader, table: TableInfo, index: IndexInfo, range: IndexRange): Segment[] {
  const declared = index.fields.length;
  const {fixed} = range;
  const prefix = encodeKey(fixed.slice(0, declared));
  if (fixed.length >= declared) {
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

/** The table's rows by their ids, which are in no order of the storage: they are collected and sorted. */
export function idSegments(
  reader: QueryReader,
  table: TableInfo,
  range: IndexRange,
  isIn: (id: string) => boolean,
): Segment[] {
  const [id] = range.fixed;
  const rows: DocumentRow[] = [];
  if (range.fixed.length > 0) {
    const row = typeof id === 'string' ? reader.documentById(id) : undefined;
    if (row !== undefined && row.doc >= table.lowDoc && row.doc <= table.highDoc) rows.push(row);
  } else {
    let from = table.lowDoc;
    for (;;) {
      const piece = reader.documents(from, table.highDoc, false, ROWS_AT_ONCE);
      for (const row of piece) if (isIn(row.id)) rows.push(row);
      if (piece.length < ROWS_AT_ONCE) break;
      from = piece.at(-1)!.doc + 1;
    }
    rows.sort((a, b) => compareValues(a.id, b.id));
  }
  return [{kind: 'rows', rows}];
}

const ROWS_AT_ONCE = 256;

/** Key intervals of the field behind the prefix. */
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

function earlier(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) <= 0 ? a : b;
}
function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) >= 0 ? a : b;
}

/** Intervals of document numbers, where bounds are on the creation time. @param declared fields before it */
function numberRanges(reader: QueryReader, table: TableInfo, range: IndexRange, declared: number): [number, number][] {
  const {fixed, lower, upper, except} = range;
  const first = (value: Value | undefined, above: boolean) => firstCreated(reader, table, value, above);
  if (fixed.length > declared) {
    const time = fixed[declared];
    const low = first(time, false);
    const high = first(time, true) - 1;
    const id = fixed[declared + 1];
    if (fixed.length === declared + 1 && lower === null && upper === null && except === null) return [[low, high]];
    // Creation times are unique in a table: at most one row is left to compare.
    const row = reader.documents(low, high, false, 1)[0];
    return row !== undefined && (fixed.length <= declared + 1 || row.id === id) ? [[low, high]] : [];
  }
  const low = lower === null ? table.lowDoc : first(lower.value, !lower.inclusive);
  const high = upper === null ? table.highDoc : first(upper.value, upper.inclusive) - 1;
  if (except === null) return [[low, high]];
  return [
    [low, Math.min(high, first(except.value, false) - 1)],
    [Math.max(low, first(except.value, true)), high],
  ];
}

/** The lowest number whose creation time is not below `value` (or, with `above`, is above it); one past the table if none. */
function firstCreated(reader: QueryReader, table: TableInfo, value: Value | undefined, above: boolean): number {
  const isFrom = (row: DocumentRow) => {
    const order = compareValues(row.created, value);
    return order > 0 || (order === 0 && !above);
  };
  const last = reader.documents(table.lowDoc, table.highDoc, true, 1)[0];
  if (last === undefined || !isFrom(last)) return table.highDoc + 1;
  let low = table.lowDoc;
  let high = last.doc;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = reader.documents(middle, high, false, 1)[0];
    if (row === undefined || isFrom(row)) high = middle;
    else low = row.doc + 1;
  }
  return high;
}
