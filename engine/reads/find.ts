/**
 * The documents of a query, in its order.
 *
 * Two ways through: when the plan gives the order asked for, reading stops at the last document wanted; otherwise all
 * candidates are looked at and the first ones in the order are kept in a heap. What is read is bounded by SCAN_…_MAX, what
 * is answered by RESULT_BYTES_MAX. How long it may take where it runs is for its `pace` to say.
 */
import {ServiceError} from '../../shared/errors.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {checkTableName} from '../documents/table-name.ts';
import {SCAN_ROWS_CHARS} from '../limits.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import {Candidates} from './candidates.ts';
import {compileFilters} from './filter.ts';
import type {Resume} from './index-use.ts';
import {Merged} from './merged.ts';
import {type Order, orderKey, orderOf} from './order.ts';
import {type Pace, UNHURRIED} from './pace.ts';
import {type Plan, type PlannedPath, planQuery} from './plan.ts';
import {NO_KEY, type Position} from './position.ts';
import {type ReadPath, readOf} from './read-path.ts';
import type {ReadSet} from './read-set.ts';
import {Scan, Spent} from './scan.ts';
import {FirstInOrder} from './top.ts';

/** Below what the system fields of a document take, beside its id. */
const SYSTEM_FIELDS_CHARS = 40;

export type Found = {
  rows: DocumentRow[];
  order: Order;
  /** What was looked at; only worth its making for who keeps the result. */
  readSet: () => ReadSet;
  plan: Plan;
  spent: Spent;
};

/** The first `most` matching rows beyond `after`, in order. @throws op.invalid_input 400, op.too_large 413, what ends the pace */
export function find(
  reader: QueryReader,
  query: QueryObject,
  most: number,
  after: Position | null,
  pace: Pace = UNHURRIED,
  whenFull: WhenFull = 'refuse',
): Found {
  checkTableName(query.table);
  const filters = compileFilters(query.filters);
  const order = orderOf(query, filters);
  const plan = planQuery(reader, query.table, filters, order);
  const spent = new Spent();
  if (most === 0) return {rows: [], order, readSet: () => ({intervals: [], absentTables: []}), plan, spent};
  const [{path}] = plan.paths as [PlannedPath];
  if (path.table === null) return {rows: [], order, readSet: () => readOf(path, null, 'end'), plan, spent};
  const begin = (resume: Resume) => (after === null || !plan.ordered ? null : resume(placeOf(after, order)));
  if (readsAll(path, plan.ordered, most)) pace.willReadAll(path.table);
  const scans = openScans(reader, plan.paths, {pace, spent, begin, isSideBySide: plan.ordered});
  const readSet = () => joinedReads(scans.map(({readSet}) => readSet()));
  const all = scans.map(({candidates}) => candidates);
  if (plan.ordered) {
    const rows = all.length === 1 ? all[0]! : new Merged(all, order);
    return {rows: takeInOrder(rows, most, whenFull), order, readSet, plan, spent};
  }
  const first = new FirstInOrder(most, order.reverse, after === null ? null : placeOf(after, order));
  return {rows: pickFirst(reader, all, first, order, most, whenFull), order, readSet, plan, spent};
}

type OpenScan = {candidates: Candidates; readSet: () => ReadSet};
type Opening = {
  pace: Pace;
  spent: Spent;
  begin?: (resume: Resume) => ReturnType<Resume>;
  /** Rows of all of them are held at once. */
  isSideBySide?: boolean;
};

/** One a path, without those that have nothing behind where they begin. */
export function openScans(
  reader: QueryReader,
  paths: readonly PlannedPath[],
  {pace, spent, begin = () => null, isSideBySide = false}: Opening,
): OpenScan[] {
  const pieceChars = isSideBySide ? Math.ceil(SCAN_ROWS_CHARS / paths.length) : SCAN_ROWS_CHARS;
  const scans: OpenScan[] = [];
  for (const {path, passes, resume} of paths) {
    const after = begin(resume);
    if (after === 'over') continue;
    const scan = new Scan(reader, path, {after, isFiltered: passes !== null, pace, spent, pieceChars});
    scans.push({candidates: new Candidates(scan, passes, pace), readSet: () => scan.readSet()});
  }
  return scans;
}

/** Cursors were handed out with values of fields that order nothing. */
function placeOf(after: Position, order: Order): Position {
  return order.fields.length === 0 ? {...after, key: NO_KEY} : after;
}

function joinedReads(sets: readonly ReadSet[]): ReadSet {
  const [only] = sets;
  if (only !== undefined && sets.length === 1) return only;
  return {intervals: sets.flatMap(set => set.intervals), absentTables: sets.flatMap(set => set.absentTables)};
}

function readsAll({table, segments}: ReadPath, ordered: boolean, most: number): boolean {
  const [segment] = segments;
  if (table === null || segment?.kind !== 'table') return false;
  if (segment.low > table.lowDoc || segment.high < table.highDoc) return false;
  return !ordered || most === Number.POSITIVE_INFINITY;
}

function takeInOrder(rows: Pick<Candidates, 'next'>, most: number, whenFull: WhenFull): DocumentRow[] {
  const result = new ResultRows(whenFull);
  while (result.rows.length < most && !result.isCut) {
    const row = rows.next(most - result.rows.length);
    if (row === null) break;
    result.add(row);
  }
  return result.rows;
}

function pickFirst(
  reader: QueryReader,
  all: readonly Candidates[],
  first: FirstInOrder,
  order: Order,
  most: number,
  whenFull: WhenFull,
): DocumentRow[] {
  // Without a limit whatever is kept is answered: stop as soon as that is too much.
  const every = most === Number.POSITIVE_INFINITY ? new ResultRows('refuse') : null;
  for (const candidates of all) {
    for (let row = candidates.next(Infinity); row !== null; row = candidates.next(Infinity)) {
      const key = order.fields.length === 0 ? NO_KEY : orderKey(order, candidates.parsed(row));
      if (first.offer(key, row)) every?.add(row);
    }
  }
  const result = new ResultRows(whenFull);
  for (const {doc, row} of first.inOrder()) {
    if (result.isCut) break;
    result.add(row ?? reader.documents(doc, doc, false, 1)[0]!);
  }
  return result.rows;
}

/** What becomes of a result that is certainly too large for one answer: it is an error, or the rows so far are enough. */
export type WhenFull = 'refuse' | 'cut';

/**
 * Rows of a result, refused or cut once they are certainly too large for one. `joinDocuments` counts exactly; this stops before
 * all of them are in memory. A row is added before it is judged, because the last one of a page is only looked at.
 */
class ResultRows {
  readonly rows: DocumentRow[] = [];
  readonly #whenFull: WhenFull;
  #chars = 0;

  constructor(whenFull: WhenFull) {
    this.#whenFull = whenFull;
  }

  /** More rows than fit are here, and the rest is for the next page. */
  get isCut(): boolean {
    return this.#whenFull === 'cut' && this.#chars > RESULT_BYTES_MAX;
  }

  add(row: DocumentRow): void {
    if (this.#chars > RESULT_BYTES_MAX) throw resultTooLarge();
    this.rows.push(row);
    // A body with $float wrappers is shown in fewer characters than it is stored in.
    this.#chars += SYSTEM_FIELDS_CHARS + row.id.length + (row.flags === 0 ? row.body.length : 0);
  }
}

export function resultTooLarge(): ServiceError {
  return new ServiceError(
    'op.too_large',
    `the result takes more than ${RESULT_BYTES_MAX} bytes; read it in pages with query/paginated`,
  );
}
