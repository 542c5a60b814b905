/** What a query reads, in the order in which it does; and how far it came, as a read set. */
import {Buffer} from 'node:buffer';
import type {DocumentRow, TableInfo} from '../storage/rows.ts';
import {entryKey, NO_KEY, type Position} from './position.ts';
import {BY_CREATION, BY_ID, creationPlace, entryPlace, idPlace, type ReadInterval, type ReadSet} from './read-set.ts';
import {afterId, type Segment} from './segments.ts';

export type ReadPath = {
  /** The table's name. */
  name: string;
  /** Null: it was never written, and there are no segments. */
  table: TableInfo | null;
  /** Stretches of one kind, and of one index. */
  segments: readonly Segment[];
  /** Every segment is read from its end to its beginning. */
  reverse: boolean;
};

/** Where a row stands that was read on this path. */
export function positionOn({segments}: ReadPath, row: DocumentRow): Position {
  const [segment] = segments;
  return {key: segment?.kind === 'index' ? entryKey(segment.index, row) : NO_KEY, doc: row.doc, id: row.id};
}

/**
 * What was read of a path, behind `from` (null: from its beginning) up to and with `to` ('end': the scan ran off the end; null:
 * nothing was read).
 */
export function readOf(path: ReadPath, from: Position | null, to: Position | 'end' | null): ReadSet {
  const {name, table, segments, reverse} = path;
  if (to === null) return {intervals: [], absentTables: []};
  if (table === null) return {intervals: [], absentTables: [name]};
  const end = to === 'end' ? null : to;
  const [above, below] = reverse ? [end, from] : [from, end];
  const intervals: ReadInterval[] = [];
  for (const segment of segments) {
    const {index, lower, upper} = stretchOf(segment);
    const least = above === null ? lower : later(lower, edge(segment, above, reverse));
    const most = below === null ? upper : earlier(upper, edge(segment, below, reverse));
    if (Buffer.compare(least, most) < 0) intervals.push({table: table.number, index, lower: least, upper: most});
  }
  return {intervals, absentTables: []};
}

/** All of a segment. */
function stretchOf(segment: Segment): {index: number; lower: Buffer; upper: Buffer} {
  switch (segment.kind) {
    case 'table':
      return {index: BY_CREATION, lower: creationPlace(segment.low), upper: creationPlace(segment.high + 1)};
    case 'id':
      return {index: BY_ID, lower: idPlace(segment.id), upper: idPlace(afterId(segment.id))};
    case 'ids':
      return {index: BY_ID, lower: idPlace(segment.from), upper: idPlace(segment.to)};
    case 'index': {
      const {index, lower, upper, low, high} = segment;
      return {
        index: index.number,
        lower: low === null ? lower : entryPlace(lower, low),
        upper: high === null ? upper : entryPlace(lower, high + 1),
      };
    }
  }
}

/** The edge that a position makes: behind its row in reading order, so that forwards the row is before it, and backwards behind it. */
function edge({kind}: Segment, {key, doc, id}: Position, reverse: boolean): Buffer {
  if (kind === 'ids' || kind === 'id') return idPlace(reverse ? id : afterId(id));
  return entryPlace(kind === 'table' ? NO_KEY : key, reverse ? doc : doc + 1);
}

function earlier(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) <= 0 ? a : b;
}
function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) >= 0 ? a : b;
}
