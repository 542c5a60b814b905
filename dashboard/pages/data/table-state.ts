/** What the URL says about the rows that are shown: filter, order and the document that is open. */
import {useMemo} from 'react';
import type {FilterClause} from '../../../shared/protocol/queries.ts';
import {useUrlState} from '../../parts/page.tsx';
import {FilterTextError, parseFilters} from './filter-text.ts';
import {BY_CREATION, type RowOrder} from './row-order.ts';

export type TableState = {
  readonly filterText: string;
  setFilterText(text: string): void;
  /** Null: the text in the URL is not a filter. */
  readonly filters: readonly FilterClause[] | null;
  readonly fault: string | null;
  readonly order: RowOrder;
  setOrder(order: RowOrder): void;
  /** Id of the document that is open; empty: none. */
  readonly open: string;
  setOpen(id: string): void;
};

/** The newest documents come first. */
const NEWEST = `-${BY_CREATION}`;

export function useTableState(): TableState {
  const [filterText, setFilterText] = useUrlState('filter');
  const [orderText, setOrderText] = useUrlState('order', NEWEST);
  const [open, setOpen] = useUrlState('document');
  const {filters, fault} = useMemo(() => parsed(filterText), [filterText]);
  const order = useMemo<RowOrder>(
    () => ({field: orderText.replace(/^-/, '') || BY_CREATION, direction: orderText.startsWith('-') ? 'desc' : 'asc'}),
    [orderText],
  );
  const setOrder = ({field, direction}: RowOrder) => setOrderText(direction === 'desc' ? `-${field}` : field);
  return {filterText, setFilterText, filters, fault, order, setOrder, open, setOpen};
}

/** The filters of a text, or what is wrong with it. */
export function parsed(text: string): {filters: FilterClause[] | null; fault: string | null} {
  try {
    return {filters: parseFilters(text), fault: null};
  } catch (error) {
    if (!(error instanceof FilterTextError)) throw error;
    return {filters: null, fault: `${error.message} (at character ${error.at + 1})`};
  }
}
