/** The selected rows of a table: some of them, or all that match the filters. */
import type {FilterClause} from '../../../../shared/protocol/queries.ts';
import {SELECTED_MAX} from '../limits.ts';

export type Selection = {
  /** All documents that match, of which `ids` are then empty. */
  readonly isAll: boolean;
  readonly ids: ReadonlySet<string>;
  /** The row from which shift-click selects. */
  readonly anchor: string | null;
};

/** The filters that find what is selected. */
export function filtersOf({isAll, ids}: Selection, filters: readonly FilterClause[]): FilterClause[] {
  return isAll ? [...filters] : [{field: '_id', op: 'in', value: [...ids]}];
}

export const NOTHING: Selection = {isAll: false, ids: new Set(), anchor: null};

export function allThatMatch(): Selection {
  return {...NOTHING, isAll: true};
}

/** @param order ids of the rows in the order that is shown */
export function clicked(
  {isAll, ids, anchor}: Selection,
  id: string,
  isShift: boolean,
  order: readonly string[],
): Selection {
  const next = new Set(isAll ? [] : ids);
  const [from, to] = [order.indexOf(anchor ?? ''), order.indexOf(id)];
  if (isShift && from !== -1 && to !== -1) {
    const range = order.slice(Math.min(from, to), Math.max(from, to) + 1);
    for (const one of range) if (next.size < SELECTED_MAX) next.add(one);
    return {isAll: false, ids: next, anchor};
  }
  if (!next.delete(id) && next.size < SELECTED_MAX) next.add(id);
  return {isAll: false, ids: next, anchor: id};
}
