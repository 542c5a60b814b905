/**
 * Reduces a read set to a bounded size. Every write that touches the original also touches the result, so its watcher
 * is notified more often than necessary, but never misses a change. It takes as many steps as needed:
 *
 *   as it was read ──▶ one range per index, from its first bound to its last ──▶ the whole of each table ──▶ all tables
 */
import {SUBSCRIBED_READ_INTERVALS_MAX, SUBSCRIBED_READS_BYTES_MAX} from '../limits.ts';
import {ANY_TABLE, BY_CREATION, BY_ID, type PackedReadSet} from './read-set.ts';

type Interval = PackedReadSet['intervals'][number];

/** Memory of a watched interval, and of a watched table name, in addition to their texts. */
const OVERHEAD_BYTES = 300;
/** Above every position: document numbers begin with 00, and no byte of UTF-8 is ff. */
const ABOVE_ALL = '\u00ff';
/** Each document has an id, including those of tables that do not exist yet. */
const EVERYTHING: PackedReadSet = {
  intervals: [{table: ANY_TABLE, index: BY_ID, lower: '', upper: ABOVE_ALL}],
  absentTables: [],
};

/** Bytes that watching it takes. */
export function readSetBytes({intervals, absentTables}: PackedReadSet): number {
  let bytes = 0;
  for (const {lower, upper} of intervals) bytes += OVERHEAD_BYTES + lower.length + upper.length;
  for (const table of absentTables) bytes += OVERHEAD_BYTES + table.length;
  return bytes;
}

/** The same read set, if it is small enough. */
export function coarse(
  readSet: PackedReadSet,
  intervalsMax = SUBSCRIBED_READ_INTERVALS_MAX,
  bytesMax = SUBSCRIBED_READS_BYTES_MAX,
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

/** One range per index, which contains all ranges read of it. */
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

/** Every document of a table has a position in creation order; reads without a table use ids. */
function wholeTables(intervals: readonly Interval[]): Interval[] {
  return [...new Set(intervals.map(({table}) => table))].map(table => ({
    table,
    index: table === ANY_TABLE ? BY_ID : BY_CREATION,
    lower: '',
    upper: ABOVE_ALL,
  }));
}
