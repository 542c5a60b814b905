/**
 * The rows that a page holds: a gapless part of a table in its order, of bounded length, wherever the reader scrolls.
 * Every answer, of a page or of the live query of the visible rows, says what one range of the order contains at one
 * version; `merged` replaces that range. A document is in the window at most once, and rows that are gone stay in their
 * place, marked, until `settled` removes them, so that nothing moves under the reader.
 */
import {compareKeys, type Doc, keyOf, type RowKey, type RowOrder} from './row-order.ts';

export type Mark = 'new' | 'changed' | 'gone';
export type Row = {readonly doc: Doc; readonly key: RowKey; readonly mark: Mark | null};

export type RowWindow = {
  readonly order: RowOrder;
  readonly rows: readonly Row[];
  /** There are no rows before the first one, or after the last one. */
  readonly isAtStart: boolean;
  readonly isAtEnd: boolean;
};

/** All documents of a range of the order, at one version. */
export type Slice = {
  /** Null: the range begins at the first row of the order. */
  readonly from: RowKey | null;
  /** Null: it ends at the last row of the order. */
  readonly to: RowKey | null;
  /** In the order. */
  readonly docs: readonly Doc[];
  /** Whether differences are changes that the reader should see, and not rows that were not read before. */
  readonly isLive: boolean;
};

/** A window that shows only what a slice contains. */
export function windowOf(order: RowOrder, {from, to, docs}: Slice): RowWindow {
  const rows = docs.map(doc => ({doc, key: keyOf(doc, order), mark: null}));
  return {order, rows, isAtStart: from === null, isAtEnd: to === null};
}

/**
 * The slice that the answer to a query for `limit` rows describes. A full answer ends at its last row; one with fewer
 * rows reaches the end of the order.
 * @param from where the query started, in the direction in which it read
 */
export function sliceOf(
  order: RowOrder,
  from: RowKey | null,
  answer: readonly Doc[],
  limit: number,
  {isBackward = false, isLive = false} = {},
): Slice {
  const last = answer.at(-1);
  const until = answer.length < limit || last === undefined ? null : keyOf(last, order);
  if (isBackward) return {from: until, to: from, docs: answer.toReversed(), isLive};
  return {from, to: until, docs: answer, isLive};
}

/** The window with the range of a slice replaced. A slice that does not touch the window changes nothing. */
export function merged(window: RowWindow, slice: Slice): RowWindow {
  const {order, rows} = window;
  if (!touches(window, slice)) return window;
  const byId = new Map(rows.map(row => [row.doc._id, row]));
  const inSlice = new Set(slice.docs.map(doc => doc._id));
  const kept = rows.flatMap((row): Row[] => {
    if (inSlice.has(row.doc._id)) return [];
    if (!isWithin(row.key, slice, order)) return [row];
    if (row.mark === 'gone') return [row];
    return slice.isLive ? [{...row, mark: 'gone'}] : [];
  });
  const fresh = slice.docs.map(doc => freshRow(doc, byId.get(doc._id), window, slice));
  const [first, last] = [rows[0], rows.at(-1)];
  return {
    order,
    rows: mergedRows(kept, fresh, order),
    isAtStart:
      slice.from === null ||
      (window.isAtStart && first !== undefined && compareKeys(slice.from, first.key, order) >= 0),
    isAtEnd: slice.to === null || (window.isAtEnd && last !== undefined && compareKeys(slice.to, last.key, order) <= 0),
  };
}

function freshRow(doc: Doc, before: Row | undefined, window: RowWindow, {isLive}: Slice): Row {
  const {order} = window;
  if (before !== undefined && before.doc._updateTime > doc._updateTime) return before; // A slower, older answer.
  const key = keyOf(doc, order);
  if (before === undefined) return {doc, key, mark: isLive && isCovered(key, window) ? 'new' : null};
  if (before.mark === 'gone') return {doc, key, mark: isLive ? 'new' : null};
  const isSame = before.doc._updateTime === doc._updateTime;
  return isSame ? before : {doc, key, mark: isLive ? 'changed' : before.mark};
}

/** Whether rows with this key would have been in the window before. */
function isCovered(key: RowKey, {rows, isAtStart, isAtEnd, order}: RowWindow): boolean {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return true;
  if (compareKeys(key, first.key, order) < 0) return isAtStart;
  return compareKeys(key, last.key, order) < 0 || isAtEnd;
}

/** Two sorted lists as one. A row that an older answer put elsewhere is inserted at its key. */
function mergedRows(kept: readonly Row[], fresh: readonly Row[], order: RowOrder): Row[] {
  const isSorted = fresh.every((row, i) => i === 0 || compareKeys(fresh[i - 1]!.key, row.key, order) < 0);
  const added = isSorted ? fresh : fresh.toSorted((a, b) => compareKeys(a.key, b.key, order));
  const all: Row[] = [];
  let at = 0;
  for (const row of added) {
    while (at < kept.length && compareKeys(kept[at]!.key, row.key, order) <= 0) all.push(kept[at++]!);
    all.push(row);
  }
  return [...all, ...kept.slice(at)];
}

function isWithin(key: RowKey, {from, to}: Slice, order: RowOrder): boolean {
  if (from !== null && compareKeys(key, from, order) < 0) return false;
  return to === null || compareKeys(key, to, order) <= 0;
}

/** Whether the union of window and slice has no gap. */
function touches({rows, order}: RowWindow, {from, to}: Slice): boolean {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return from === null;
  return (
    (from === null || compareKeys(from, last.key, order) <= 0) &&
    (to === null || compareKeys(to, first.key, order) >= 0)
  );
}

/** The window with at most `most` rows, without those farthest from the row at `focus`. */
export function trimmed(window: RowWindow, most: number, focus: number): RowWindow {
  const {rows} = window;
  if (rows.length <= most) return window;
  const from = Math.max(0, Math.min(focus - Math.floor(most / 2), rows.length - most));
  const isAtStart = window.isAtStart && from === 0;
  const isAtEnd = window.isAtEnd && from + most === rows.length;
  return {...window, rows: rows.slice(from, from + most), isAtStart, isAtEnd};
}

/** The window without marks and without rows that are gone. */
export function settled(window: RowWindow): RowWindow {
  if (window.rows.every(row => row.mark === null)) return window;
  const rows = window.rows.flatMap(row =>
    row.mark === 'gone' ? [] : row.mark === null ? [row] : [{...row, mark: null}],
  );
  return {...window, rows};
}
