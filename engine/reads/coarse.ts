/**
 * A read set of bounded size that whatever touches the given one touches as well: who watches it is told more often than need be, and
 * never too seldom. As many steps as it takes:
 *
 *   as it was read ──▶ one stretch an index, from its first bound to its last ──▶ the whole of each table ──▶ every table there is
 */
import {HELD_READ_INTERVALS_MAX, HELD_READS_BYTES_MAX} from '../limits.ts';
import {ANY_TABLE, BY_CREATION, BY_ID, type PackedReadSet} from './read-set.ts';

type Interval = PackedReadSet['intervals'][number];

/** What an interval, and the name of a table, take beside their texts, where they are watched. */
const OVERHEAD_BYTES = 300;
/** Above every place: document numbers begin with 00, and no byte of UTF-8 is ff. */
const ABOVE_ALL = '\u00ff';
/** Each document has an id, also in tables that are not there yet. */
const EVERYTHING: PackedReadSet = {
  intervals: [{table: ANY_TABLE, index: BY_ID, lower: '', upper: ABOVE_ALL}],
  absentTables: [],
};

/** What it takes to watch it. */
export function readSetBytes({intervals, absentTables}: PackedReadSet): number {
  let bytes = 0;
  for (const {lower, upper} of intervals) bytes += OVERHEAD_BYTES + lower.length + upper.length;
  for (const table of absentTables) bytes += OVERHEAD_BYTES + table.length;
  return bytes;
}

/** The same, if it is small enough. */
export function coarse(
  readSet: PackedReadSet,
  intervalsMax = HELD_READ_INTERVALS_MAX,
  bytesMax = HELD_READS_BYTES_MAX,
): PackedReadSet {
  const fits = (one: PackedReadSet) =>
    one.intervals.length + one.absentTables.length <= intervalsMax && readSetBytes(one) <= bytesMax;
  if (fits(readSet)) return readSet;
  const {intervals, absentTables} = readSet;
  const byIndex = {intervals: hulls(intervals), absentTables};
  if (fits(byIndex)) return byIndex;
  const byTable = {intervals: wholeTables(intervals), absentTables};
  return fits(byTable) ? byTable : EVERYTHING;
}

/** Of each index one stretch, which all that were read of it lie in. */
function hulls(intervals: readonly Interval[]): Interval[] {
  const byIndex = new Map<string, Interval>();
  for (const interval of intervals) {
    const {table, index, lower, upper} = interval;
    const key = `${table} ${index}`;
    const hull = byIndex.get(key);
    if (hull === undefined) byIndex.set(key, {...interval});
    else {
      if (lower < hull.lower) hull.lower = lower;
      if (upper > hull.upper) hull.upper = upper;
    }
  }
  return [...byIndex.values()];
}

/** Every document of a table stands in the order of creation; reads that name no table go by ids. */
function wholeTables(intervals: readonly Interval[]): Interval[] {
  return [...new Set(intervals.map(({table}) => table))].map(table => ({
    table,
    index: table === ANY_TABLE ? BY_ID : BY_CREATION,
    lower: '',
    upper: ABOVE_ALL,
  }));
}
