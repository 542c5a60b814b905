/** The ranges that a query reads, in reading order, and the part read so far, as a read set. */
import {Buffer} from 'node:buffer';
import type {DocumentRow, TableInfo} from '../storage/rows.ts';
import {entryKey, NO_KEY, type Position} from './position.ts';
import {afterId, earlier, later, type RangeScan} from './range-scans.ts';
import {BY_CREATION, BY_ID, creationPlace, entryPlace, idPlace, type ReadInterval, type ReadSet} from './read-set.ts';

export type ReadPath = {
  /** The table's name. */
  name: string;
  /** Null: the table was never written, and there are no range scans. */
  table: TableInfo | null;
  /** Ranges of one kind, and of one index. */
  rangeScans: readonly RangeScan[];
  /** Every range scan is read from its end to its beginning. */
  reverse: boolean;
};

/** Position of a row that was read on this path. */
export function positionOn({rangeScans}: ReadPath, row: DocumentRow): Position {
  const [rangeScan] = rangeScans;
  return {key: rangeScan?.kind === 'index' ? entryKey(rangeScan.index, row) : NO_KEY, doc: row.doc, id: row.id};
}

/**
 * The read part of a path, after `from` (null: from its beginning) up to and including `to` ('end': the scan reached
 * the end; null: nothing was read).
 */
export function readOf(path: ReadPath, from: Position | null, to: Position | 'end' | null): ReadSet {
  const {name, table, rangeScans, reverse} = path;
  if (to === null) return {intervals: [], absentTables: []};
  if (table === null) return {intervals: [], absentTables: [name]};
  const end = to === 'end' ? null : to;
  const [above, below] = reverse ? [end, from] : [from, end];
  const intervals: ReadInterval[] = [];
  for (const rangeScan of rangeScans) {
    const {index, lower, upper} = rangeOf(rangeScan);
    const least = above === null ? lower : later(lower, edge(rangeScan, above, reverse));
    const most = below === null ? upper : earlier(upper, edge(rangeScan, below, reverse));
    if (Buffer.compare(least, most) < 0) intervals.push({table: table.number, index, lower: least, upper: most});
  }
  return {intervals, absentTables: []};
}

/** The whole range scan. */
function rangeOf(rangeScan: RangeScan): {index: number; lower: Buffer; upper: Buffer} {
  switch (rangeScan.kind) {
    case 'table':
      return {index: BY_CREATION, lower: creationPlace(rangeScan.low), upper: creationPlace(rangeScan.high + 1)};
    case 'id':
      return {index: BY_ID, lower: idPlace(rangeScan.id), upper: idPlace(afterId(rangeScan.id))};
    case 'ids':
      return {index: BY_ID, lower: idPlace(rangeScan.from), upper: idPlace(rangeScan.to)};
    case 'index': {
      const {index, lower, upper, low, high} = rangeScan;
      return {
        index: index.number,
        lower: low === null ? lower : entryPlace(lower, low),
        upper: high === null ? upper : entryPlace(lower, high + 1),
      };
    }
  }
}

/**
 * The edge at a position: it is after the position's row in reading order, so the row's key is below it in a forward
 * scan, and at or above it in a backward scan.
 */
function edge({kind}: RangeScan, {key, doc, id}: Position, reverse: boolean): Buffer {
  if (kind === 'ids' || kind === 'id') return idPlace(reverse ? id : afterId(id));
  return entryPlace(kind === 'table' ? NO_KEY : key, reverse ? doc : doc + 1);
}
