/** One page of a query: `paginate(options)`. The rules are those of the reference's section 3.7. */

import {type Cursor, decodeCursor, encodeCursor} from '../../../engine/reads/cursor.ts';
import {comparePositions, type Position} from '../../../engine/reads/position.ts';
import {positionOn, readOf} from '../../../engine/reads/read-path.ts';
import type {ReadSet} from '../../../engine/reads/read-set.ts';
import type {Scan} from '../../../engine/reads/scan.ts';
import {storedDocumentText} from '../../../engine/storage/document.ts';
import type {DocumentRow} from '../../../engine/storage/rows.ts';
import {assert} from '../../../shared/assert.ts';
import {FUNCTION_RESULT_BYTES_MAX} from '../guest/limits.ts';
import {
  FUNCTION_PAGE_ITEMS_MAX,
  FUNCTION_READ_BYTES_MAX,
  FUNCTION_READ_DOCUMENTS_MAX,
  PAGE_SPLIT_RECOMMENDED_ITEMS,
  PAGE_SPLIT_RECOMMENDED_PART,
} from '../limits.ts';
import type {Budget} from './budget.ts';
import {DatabaseFault} from './database-fault.ts';
import type {QueryPlan} from './query-plan.ts';

export type PageOptions = {
  numItems: number;
  cursor: string | null;
  endCursor: string | null;
  maximumRowsRead: number | null;
  maximumBytesRead: number | null;
};

/** @param options parsed JSON from a realm. @throws DatabaseFault */
export function pageOptions(options: unknown, endCursor: string | null): PageOptions {
  const given = (typeof options === 'object' && options !== null ? options : {}) as Record<string, unknown>;
  const {numItems, cursor = null, maximumRowsRead, maximumBytesRead} = given;
  if (typeof numItems !== 'number' || !(numItems >= 0))
    throw new DatabaseFault('options.numItems must be a positive number');
  if (numItems < 1) throw new DatabaseFault('Must request at least 1 document while paginating');
  if (numItems > FUNCTION_PAGE_ITEMS_MAX) {
    throw new DatabaseFault(`Requested too many items: ${numItems} (maximum ${FUNCTION_PAGE_ITEMS_MAX})`);
  }
  return {
    numItems: Math.floor(numItems),
    cursor: cursor as string | null,
    endCursor: (given.endCursor as string | null | undefined) ?? endCursor,
    maximumRowsRead: budgetOf('maximumRowsRead', maximumRowsRead),
    maximumBytesRead: budgetOf('maximumBytesRead', maximumBytesRead),
  };
}

function budgetOf(name: string, value: unknown): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && value > 0) return value;
  throw new DatabaseFault(`options.${name} must be a positive number`);
}

/** @returns the page's end cursor, PaginationResult as JSON, and what was read. @throws DatabaseFault */
export function paginate(
  plan: QueryPlan,
  options: PageOptions,
  budget: Budget,
): {endCursor: string; text: string; readSet: ReadSet} {
  const binding = plan.binding();
  const start = options.cursor === null ? null : checkedCursor(binding, options.cursor);
  const end = options.endCursor === null ? null : checkedCursor(binding, options.endCursor);
  const page = new Page(plan, options, budget, start?.position ?? null, end);
  page.read();
  page.check();
  const continued = end === null ? encodeCursor(binding, page.continueCursor) : options.endCursor!;
  const split = page.splitPosition;
  const splitCursor = split === null ? null : encodeCursor(binding, {position: split, isEnd: false, delivered: 0});
  const text =
    `{"page":[${page.texts.join(',')}],"isDone":${page.isDone},"continueCursor":${JSON.stringify(continued)},` +
    `"splitCursor":${JSON.stringify(splitCursor)},"pageStatus":${JSON.stringify(page.status)}}`;
  return {endCursor: continued, text, readSet: page.readSet()};
}

/** @throws DatabaseFault that contains `InvalidCursor`, which makes clients start again */
function checkedCursor(binding: string, text: string): Cursor {
  const cursor = decodeCursor(binding, text);
  if (cursor === 'malformed') throw invalidCursor('it is not a cursor');
  if (cursor !== 'of another query') return cursor;
  throw invalidCursor('it was made by another query or for another tenant; begin with a cursor of null');
}

function invalidCursor(why: string): DatabaseFault {
  return new DatabaseFault(`InvalidCursor: the cursor cannot be used here: ${why}`);
}

class Page {
  readonly texts: string[] = [];
  isDone = false;
  readonly #plan: QueryPlan;
  readonly #options: PageOptions;
  readonly #budget: Budget;
  readonly #start: Position | null;
  readonly #end: Cursor | null;
  readonly #scan: Scan;
  readonly #scanned: DocumentRow[] = [];
  #bytes = 0;
  #chars = 0;
  #wasCut = false;

  constructor(plan: QueryPlan, options: PageOptions, budget: Budget, start: Position | null, end: Cursor | null) {
    this.#plan = plan;
    this.#options = options;
    this.#budget = budget;
    this.#start = start;
    this.#end = end;
    this.#scan = plan.scan(start);
  }

  read(): void {
    for (;;) {
      const row = this.#scan.next(this.#wanted);
      if (row === null) {
        this.isDone = this.#end === null || this.#end.isEnd;
        return;
      }
      if (this.#isBeyondEnd(row)) return;
      if (this.#mustStopBefore(row)) {
        this.#wasCut = true;
        return;
      }
      this.#budget.scanned(row.body);
      this.#scanned.push(row);
      this.#bytes += row.body.length;
      if (this.#plan.passes(row)) this.#add(row);
      if (this.#end !== null) continue;
      if (this.texts.length >= this.#options.numItems) return;
      if (this.#isBudgetUsed()) {
        this.#wasCut = true;
        return;
      }
    }
  }

  /** Asserts that each item of the page was read for it, and that there are no more items than requested. */
  check(): void {
    assert(this.texts.length <= this.#scanned.length, 'each item of a page was read for it');
    assert(
      this.#end !== null || this.texts.length <= this.#options.numItems,
      'a page has no more items than asked for',
    );
  }

  get continueCursor(): Cursor {
    const last = this.#scanned.at(-1);
    const position = last === undefined ? this.#start : positionOn(this.#plan.path, last);
    return {position, isEnd: this.isDone, delivered: 0};
  }

  /** A page that is computed again covers its whole interval, whatever rows it still has. */
  readSet(): ReadSet {
    const last = this.#scanned.at(-1);
    const lastPosition = last === undefined ? null : positionOn(this.#plan.path, last);
    return readOf(this.#plan.path, this.#start, this.isDone ? 'end' : (this.#end?.position ?? lastPosition));
  }

  get splitPosition(): Position | null {
    if (this.#scanned.length <= 2) return null;
    return positionOn(this.#plan.path, this.#scanned[Math.floor((this.#scanned.length - 1) / 2)]!);
  }

  get status(): 'SplitRequired' | 'SplitRecommended' | null {
    if (this.#wasCut) return 'SplitRequired';
    const {maximumRowsRead, maximumBytesRead} = this.#options;
    const rows = this.#scanned.length / (maximumRowsRead ?? FUNCTION_READ_DOCUMENTS_MAX);
    const bytes = this.#bytes / (maximumBytesRead ?? FUNCTION_READ_BYTES_MAX);
    const isNear = rows > PAGE_SPLIT_RECOMMENDED_PART || bytes > PAGE_SPLIT_RECOMMENDED_PART;
    return isNear || this.texts.length > PAGE_SPLIT_RECOMMENDED_ITEMS ? 'SplitRecommended' : null;
  }

  #add(row: DocumentRow): void {
    const text = storedDocumentText(row);
    this.#chars += text.length;
    if (this.#chars > FUNCTION_RESULT_BYTES_MAX) throw new DatabaseFault('The page is too large; ask for fewer items');
    this.texts.push(text);
  }

  #isBeyondEnd(row: DocumentRow): boolean {
    const end = this.#end;
    if (end === null || end.isEnd) return false;
    if (end.position === null) return true;
    const order = comparePositions(positionOn(this.#plan.path, row), end.position, this.#plan.byId);
    return this.#plan.path.reverse ? order < 0 : order > 0;
  }

  get #wanted(): number {
    return this.#end === null ? this.#options.numItems - this.texts.length : Number.POSITIVE_INFINITY;
  }

  /** The execution's own limit cuts a page short instead of failing it, unless its end is given. */
  #mustStopBefore(row: DocumentRow): boolean {
    return this.#end === null && this.#scanned.length > 0 && !this.#budget.admits(row.body);
  }

  /** Checked after each row, so that a page always advances by at least one. */
  #isBudgetUsed(): boolean {
    const {maximumRowsRead, maximumBytesRead} = this.#options;
    const {length: rows} = this.#scanned;
    return (
      (maximumRowsRead !== null && rows >= maximumRowsRead) ||
      (maximumBytesRead !== null && this.#bytes >= maximumBytesRead)
    );
  }
}
