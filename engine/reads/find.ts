/**
 * Finds the documents of a query, in its order.
 *
 * There are two ways. If the plan returns the requested order, reading stops at the last document needed. Otherwise all
 * candidates are read, and a heap keeps the first ones in the order; `walk.ts` says when the first way is tried before
 * it. SCAN_…_MAX limits what is read, and
 * RESULT_BYTES_MAX what is returned. The `readBudget` limits the time.
 */
import {type ServiceError, tooLarge} from '../../shared/errors.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {SCAN_ROWS_CHARS} from '../limits.ts';
import {checkTableName} from '../storage/document.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import {Candidates} from './candidates.ts';
import {compileFilters} from './filter.ts';
import type {Resume} from './index-use.ts';
import {Merged} from './merged.ts';
import {type Order, orderKey, orderOf} from './order.ts';
import {type Plan, type PlannedPath, planQuery} from './plan.ts';
import {NO_KEY, type Position} from './position.ts';
import {type ReadBudget, UNHURRIED} from './read-budget.ts';
import {type ReadPath, readOf} from './read-path.ts';
import type {ReadSet} from './read-set.ts';
import {Scan, Spent} from './scan.ts';
import {FirstInOrder} from './top.ts';
import {WALK_ENDED, WalkBudget, walkInsteadOf} from './walk.ts';

/** A lower bound for the bytes of a document's system fields, without its id. */
const SYSTEM_FIELDS_CHARS = 40;

export type Found = {
  rows: DocumentRow[];
  order: Order;
  /** The read set; only computed for callers that cache the result. */
  readSet: () => ReadSet;
  plan: Plan;
  spent: Spent;
};

/**
 * The first `most` matching rows after `after`, in order. @throws op.invalid_input 400, op.too_large 413, the errors of
 * the read budget
 */
export function find(
  reader: QueryReader,
  query: QueryObject,
  most: number,
  after: Position | null,
  readBudget: ReadBudget = UNHURRIED,
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
  if (readsAll(path, plan.ordered, most)) readBudget.willReadAll(path.table);
  const reading: Reading = {reader, order, most, after, readBudget, whenFull};
  const walk = walkInsteadOf(plan, reader, query.table, filters, order, most);
  if (walk === null) return {...readPlan(plan, reading, spent), order, plan, spent};
  const walked = new Spent();
  try {
    const found = readPlan(walk, {...reading, readBudget: new WalkBudget(readBudget)}, walked);
    return {...found, order, plan: walk, spent: walked};
  } catch (caught) {
    if (caught !== WALK_ENDED) throw caught;
  }
  const found = readPlan(plan, reading, spent);
  spent.documents += walked.documents;
  return {...found, order, plan, spent};
}

type Reading = {
  reader: QueryReader;
  order: Order;
  most: number;
  after: Position | null;
  readBudget: ReadBudget;
  whenFull: WhenFull;
};

function readPlan(plan: Plan, reading: Reading, spent: Spent): Pick<Found, 'rows' | 'readSet'> {
  const {reader, order, most, after, readBudget, whenFull} = reading;
  const begin = (resume: Resume) => (after === null || !plan.ordered ? null : resume(placeOf(after, order)));
  const scans = openScans(reader, plan.paths, {readBudget, spent, begin, isSideBySide: plan.ordered});
  const readSet = () => joinedReads(scans.map(({readSet}) => readSet()));
  const all = scans.map(({candidates}) => candidates);
  if (plan.ordered) {
    const rows = all.length === 1 ? all[0]! : new Merged(all, order);
    return {rows: takeInOrder(rows, most, whenFull), readSet};
  }
  const first = new FirstInOrder(most, order.reverse, after === null ? null : placeOf(after, order));
  return {rows: pickFirst(reader, all, first, order, most, whenFull), readSet};
}

type OpenScan = {candidates: Candidates; readSet: () => ReadSet};
type Opening = {
  readBudget: ReadBudget;
  spent: Spent;
  begin?: (resume: Resume) => ReturnType<Resume>;
  /** Rows of all scans are in memory at once. */
  isSideBySide?: boolean;
};

/** One scan per path, without those that have nothing behind their start. */
export function openScans(
  reader: QueryReader,
  paths: readonly PlannedPath[],
  {readBudget, spent, begin = () => null, isSideBySide = false}: Opening,
): OpenScan[] {
  const batchChars = isSideBySide ? Math.ceil(SCAN_ROWS_CHARS / paths.length) : SCAN_ROWS_CHARS;
  const scans: OpenScan[] = [];
  for (const {path, passes, resume} of paths) {
    const after = begin(resume);
    if (after === 'over') continue;
    const scan = new Scan(reader, path, {after, isFiltered: passes !== null, readBudget, spent, batchChars});
    scans.push({candidates: new Candidates(scan, passes, readBudget), readSet: () => scan.readSet()});
  }
  return scans;
}

/** Older versions issued cursors with values of fields that do not affect the order. */
function placeOf(after: Position, order: Order): Position {
  return order.fields.length === 0 ? {...after, key: NO_KEY} : after;
}

function joinedReads(sets: readonly ReadSet[]): ReadSet {
  const [only] = sets;
  if (only !== undefined && sets.length === 1) return only;
  return {intervals: sets.flatMap(set => set.intervals), absentTables: sets.flatMap(set => set.absentTables)};
}

function readsAll({table, rangeScans}: ReadPath, ordered: boolean, most: number): boolean {
  const [rangeScan] = rangeScans;
  if (table === null || rangeScan?.kind !== 'table') return false;
  if (rangeScan.low > table.lowDoc || rangeScan.high < table.highDoc) return false;
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
  // Without a limit every row in memory is returned: stop as soon as they are too much.
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

/** The handling of a result that is certainly too large for one response: an error, or a cut after the rows so far. */
export type WhenFull = 'refuse' | 'cut';

/**
 * Rows of a result, refused or cut once they are certainly too large for one response. `joinDocuments` counts exactly;
 * this class stops before all of them are in memory. A row is added before it is judged, because the last one of a page
 * only shows whether there are more.
 */
class ResultRows {
  readonly rows: DocumentRow[] = [];
  readonly #whenFull: WhenFull;
  #chars = 0;

  constructor(whenFull: WhenFull) {
    this.#whenFull = whenFull;
  }

  /** There are more rows than fit, and the others are for the next page. */
  get isCut(): boolean {
    return this.#whenFull === 'cut' && this.#chars > RESULT_BYTES_MAX;
  }

  add(row: DocumentRow): void {
    if (this.#chars > RESULT_BYTES_MAX) throw resultTooLarge();
    this.rows.push(row);
    // A body with $float wrappers is shorter in a response than in its stored form.
    this.#chars += SYSTEM_FIELDS_CHARS + row.id.length + (row.flags === 0 ? row.body.length : 0);
  }
}

export function resultTooLarge(): ServiceError {
  return tooLarge(`the result takes more than ${RESULT_BYTES_MAX} bytes; read it in pages with query/paginated`);
}
