/** What `explain` returned about a query, in one sentence, and the index that would make it faster. */
import type {Explained, FilterClause, FilterTest, QueryOrder} from '../../../shared/protocol/queries.ts';
import type {IndexEntry, StoredIndex} from '../../../shared/protocol/schema.ts';

export type PlanShown = {
  readonly text: string;
  /** The query reads documents that it does not return, so it gets slower as the table grows. */
  readonly isSlow: boolean;
  /** Null: no index would help. */
  readonly index: IndexEntry | null;
};

/** Reads of fewer documents take a few milliseconds, with an index or without. */
const SLOW_READS = 1_000;
const POINTS = new Set(['eq', 'in']);
const RANGES = new Set(['gt', 'gte', 'lt', 'lte', 'prefix', 'exists']);
const SYSTEM = new Set(['_id', '_creationTime', '_updateTime']);

/** @param indexes those that the table has */
export function planShown(
  {reads, read, returned, is_sorted: isSorted}: Explained,
  filters: readonly FilterClause[],
  order: QueryOrder,
  indexes: readonly StoredIndex[],
): PlanShown {
  const index = indexFor(filters, order, indexes);
  const isWhole = reads.some(({by, range}) => by === 'table' && range.length === 0);
  const isFiltered = reads.some(({is_filtered}) => is_filtered);
  const names = [...new Set(reads.flatMap(({by, index: name}) => (by === 'index' && name !== null ? [name] : [])))];
  const source = reads.some(({by}) => by === 'table')
    ? 'Reads the table'
    : names.length > 0
      ? `Uses ${names.length === 1 ? 'the index' : 'the indexes'} ${names.join(' and ')}`
      : 'Looks up ids';
  const isSlow = (isSorted || (isWhole && isFiltered)) && read >= SLOW_READS && read > returned;
  const rest = isSorted ? ' and sorts all that match' : isFiltered ? ' and checks each document' : '';
  const advice = isSlow && index !== null ? `: add an index on ${index.fields.join(', ')}` : '';
  const share = `, reads ${read.toLocaleString('en')} to return ${returned.toLocaleString('en')}`;
  return {text: source + rest + share + advice, isSlow, index: isSlow ? index : null};
}

/** Fields with one value first, then a range or the order. */
function indexFor(
  filters: readonly FilterClause[],
  order: QueryOrder,
  indexes: readonly StoredIndex[],
): IndexEntry | null {
  const tests = filters.filter((filter): filter is FilterTest => !('or' in filter) && !SYSTEM.has(filter.field));
  const points = tests.filter(({op}) => POINTS.has(op)).map(({field}) => field);
  const range = tests.find(({op, field}) => RANGES.has(op) && !points.includes(field))?.field;
  const last = SYSTEM.has(order.field) ? range : order.field;
  const fields = [...new Set([...points, ...(last === undefined ? [] : [last])])];
  if (fields.length === 0) return null;
  if (indexes.some(index => index.fields.join() === fields.join() && index.state !== 'failed')) return null;
  return {name: freeName(`by_${fields.join('_').replaceAll(/\W/g, '_')}`.slice(0, 56), indexes), fields};
}

function freeName(name: string, indexes: readonly StoredIndex[]): string {
  const names = new Set(indexes.map(index => index.name));
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}_${n}`;
    if (!names.has(candidate)) return candidate;
  }
}
