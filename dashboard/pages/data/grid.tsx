// biome-ignore-all lint/a11y/useSemanticElements: rows outside of the screen are not in the page, so it is no table
/**
 * The rows of a window as a grid of cells. Only those on the screen are in the page. When rows come or go before the
 * visible ones, the scroll position moves with them, so the reader sees the same rows in the same place.
 */
import {useVirtualizer} from '@tanstack/react-virtual';
import {type KeyboardEvent, type MouseEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState} from 'react';
import {valueAt} from '../../../shared/values/paths.ts';
import type {Selection} from './bulk/selection.ts';
import {CellValue} from './cell.tsx';
import css from './data.module.css';
import type {Doc, RowOrder} from './row-order.ts';
import type {RowState} from './row-source.ts';
import type {Row} from './row-window.ts';

export type GridColumn = {
  readonly field: string;
  /** What its values are, for its heading. */
  readonly type: string;
  readonly width: number;
  readonly isTime: boolean;
  readonly isIndexed: boolean;
  readonly isEditable: boolean;
};

export type EditedCell = {readonly id: string; readonly field: string};

type GridProps = {
  label: string;
  state: RowState;
  columns: readonly GridColumn[];
  order: RowOrder;
  selection: Selection;
  open: string;
  /** The cell that is being edited. */
  edited: EditedCell | null;
  editor(doc: Doc, column: GridColumn): ReactNode;
  onOrder(field: string): void;
  onVisible(first: number, last: number): void;
  onSelect(id: string, isShift: boolean): void;
  onEdit(doc: Doc, column: GridColumn): void;
  onOpen(id: string): void;
  onId(id: string): void;
};

const ROW_PX = 33;
const HEAD_PX = 36;
const CHECK_PX = 40;
const OVERSCAN_ROWS = 10;

export function Grid(props: GridProps) {
  const {state, columns, order, open, label, edited, onVisible, onOrder, onSelect, onEdit, onOpen} = props;
  const {rows, isAtStart} = state.window;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState({row: 0, column: 0});
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: index => rows[index]!.doc._id,
    overscan: OVERSCAN_ROWS,
    scrollPaddingStart: HEAD_PX,
    scrollMargin: HEAD_PX,
  });

  const report = () => {
    const {scrollTop, clientHeight} = scroller.current!;
    onVisible(Math.floor(scrollTop / ROW_PX), Math.ceil((scrollTop + clientHeight - HEAD_PX) / ROW_PX));
  };
  const before = useRef({rows, jump: state.jump, isAtStart});
  useLayoutEffect(() => {
    const {rows: old, jump, isAtStart: wasAtStart} = before.current;
    before.current = {rows, jump: state.jump, isAtStart};
    const element = scroller.current!;
    if (jump !== state.jump) element.scrollTop = state.isFromEnd ? element.scrollHeight : 0;
    // At the very start new rows come into view.
    else if (old !== rows && !(element.scrollTop === 0 && wasAtStart)) {
      const at = new Map(rows.map((row, i) => [row.doc._id, i]));
      const first = Math.floor(element.scrollTop / ROW_PX);
      const stayed = old.findIndex((row, i) => i >= first && at.has(row.doc._id));
      const moved = stayed === -1 ? 0 : at.get(old[stayed]!.doc._id)! - stayed;
      if (moved !== 0) {
        element.scrollTop += moved * ROW_PX;
        setActive(one => ({...one, row: Math.max(0, one.row + moved)}));
      }
    }
  }, [rows, state.jump, state.isFromEnd, isAtStart]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows can be visible after each change of them
  useEffect(report, [rows]);

  const wasEdited = useRef(false);
  useEffect(() => {
    const isEdited = edited !== null;
    if (wasEdited.current && !isEdited && document.activeElement === document.body) scroller.current!.focus();
    wasEdited.current = isEdited;
  }, [edited]);

  const template = `${CHECK_PX}px ${columns.map(({width}) => `minmax(${width}px, ${width}fr)`).join(' ')}`;
  const width = columns.reduce((sum, column) => sum + column.width, CHECK_PX);
  const move = (row: number, column: number) => {
    const to = {
      row: Math.max(0, Math.min(rows.length - 1, row)),
      column: Math.max(0, Math.min(columns.length - 1, column)),
    };
    setActive(to);
    virtual.scrollToIndex(to.row);
    scroller
      .current!.querySelector(`[data-column="${to.column}"]`)
      ?.scrollIntoView({block: 'nearest', inline: 'nearest'});
  };
  const page = () => Math.floor((scroller.current!.clientHeight - HEAD_PX) / ROW_PX);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const doc = rows[active.row]?.doc;
    const steps: Record<string, readonly [rows: number, columns: number]> = {
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageDown: [page(), 0],
      PageUp: [-page(), 0],
    };
    const step = steps[event.key];
    if (event.ctrlKey || event.metaKey || (step === undefined && !/^(?: |Enter|o)$/.test(event.key))) return;
    event.preventDefault();
    if (step !== undefined) return move(active.row + step[0], active.column + step[1]);
    if (doc === undefined) return;
    const column = columns[active.column]!;
    if (event.key === ' ') onSelect(doc._id, event.shiftKey);
    else if (event.key === 'Enter' && column.isEditable) onEdit(doc, column);
    else onOpen(doc._id);
  };
  const cellId = (id: string, column: number) => `cell-${id}-${column}`;
  const activeId = rows[active.row]?.doc._id;

  return (
    <div
      ref={scroller}
      className={css.grid}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={-1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-activedescendant={activeId === undefined ? undefined : cellId(activeId, active.column)}
      onScroll={report}
      onKeyDown={onKeyDown}
    >
      <div role="rowgroup" className={css.head} style={{minWidth: width}}>
        <div role="row" className={css.row} style={{gridTemplateColumns: template, height: HEAD_PX}} tabIndex={-1}>
          <div role="columnheader" className={css.check} tabIndex={-1}>
            <span className={css.unseen}>Selected</span>
          </div>
          {columns.map(column => (
            <Heading key={column.field} column={column} order={order} onOrder={onOrder} />
          ))}
        </div>
      </div>
      <div role="rowgroup" className={css.body} style={{height: rows.length * ROW_PX, minWidth: width}}>
        {virtual.getVirtualItems().map(({index, key}) => (
          <GridRow
            key={key}
            {...props}
            row={rows[index]!}
            index={index}
            template={template}
            isOpen={rows[index]!.doc._id === open}
            activeColumn={index === active.row ? active.column : -1}
            cellId={cellId}
            onActive={column => setActive({row: index, column})}
          />
        ))}
      </div>
    </div>
  );
}

function Heading({column, order, onOrder}: {column: GridColumn; order: RowOrder; onOrder(field: string): void}) {
  const {field, type, isIndexed} = column;
  const isOrder = order.field === field;
  const sort = isOrder ? (order.direction === 'asc' ? 'ascending' : 'descending') : 'none';
  return (
    <div role="columnheader" className={css.heading} aria-sort={sort} tabIndex={-1}>
      <button type="button" className={css.sort} onClick={() => onOrder(field)} title={headingTitle(column, isOrder)}>
        <span className={css.field}>{field}</span>
        <span className={css.type}>{type}</span>
        {isIndexed ? <span className={css.dot} title="Has an index" /> : null}
        {isOrder ? <span aria-hidden="true">{order.direction === 'asc' ? '↑' : '↓'}</span> : null}
      </button>
    </div>
  );
}

function headingTitle({field, isIndexed}: GridColumn, isOrder: boolean): string {
  if (isOrder) return `Reverse the order by ${field}`;
  return isIndexed ? `Order by ${field}` : `Order by ${field}: without an index, all documents that match are sorted`;
}

type GridRowProps = GridProps & {
  row: Row;
  index: number;
  template: string;
  isOpen: boolean;
  activeColumn: number;
  cellId(id: string, column: number): string;
  onActive(column: number): void;
};

function GridRow(props: GridRowProps) {
  const {row, index, template, isOpen, activeColumn, columns, selection, edited, cellId, onActive} = props;
  const {doc, mark} = row;
  const isSelected = selection.isAll || selection.ids.has(doc._id);
  const select = (event: MouseEvent) => {
    event.stopPropagation();
    props.onSelect(doc._id, event.shiftKey);
  };
  return (
    <div
      role="row"
      tabIndex={-1}
      aria-selected={isSelected}
      data-mark={mark ?? undefined}
      data-id={doc._id}
      data-open={isOpen || undefined}
      className={css.row}
      style={{gridTemplateColumns: template, height: ROW_PX, transform: `translateY(${index * ROW_PX}px)`}}
    >
      <div role="gridcell" className={css.check} tabIndex={-1}>
        <input type="checkbox" aria-label={`Select ${doc._id}`} checked={isSelected} onClick={select} readOnly />
      </div>
      {columns.map((column, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys
        <div
          key={column.field}
          id={cellId(doc._id, at)}
          role="gridcell"
          tabIndex={-1}
          data-column={at}
          data-active={at === activeColumn || undefined}
          className={css.cell}
          onClick={event => {
            onActive(at);
            (event.currentTarget.closest('[role=grid]') as HTMLElement).focus({preventScroll: true});
            if (column.field === '_id') props.onOpen(doc._id);
          }}
          onDoubleClick={() => (column.isEditable && mark !== 'gone' ? props.onEdit(doc, column) : undefined)}
        >
          {edited?.id === doc._id && edited.field === column.field ? (
            props.editor(doc, column)
          ) : column.field === '_id' ? (
            <span className={css.ownId}>{doc._id}</span>
          ) : (
            <CellValue value={valueAt(doc, column.field.split('.'))} isTime={column.isTime} onId={props.onId} />
          )}
        </div>
      ))}
    </div>
  );
}
