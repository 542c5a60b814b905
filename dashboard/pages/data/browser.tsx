/** The rows of one table: filter, plan, grid, time bar and the document that is open. */
import {useCallback, useMemo, useState} from 'react';
import {useLocation} from 'wouter';
import type {FilterClause} from '../../../shared/protocol/queries.ts';
import type {StoredIndex, StoredTableSchema} from '../../../shared/protocol/schema.ts';
import {isLost} from '../../api/connection.ts';
import {messageOf} from '../../api/failure.ts';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {Button} from '../../parts/button.tsx';
import {Menu} from '../../parts/menu.tsx';
import {pathOf} from '../../parts/page.tsx';
import {Empty, Failed, Loading, Note} from '../../parts/states.tsx';
import {showToast} from '../../parts/toast.tsx';
import {plural, Time} from '../../parts/values.tsx';
import {clicked, NOTHING, type Selection} from './bulk/selection.ts';
import {SelectionBar} from './bulk/selection-bar.tsx';
import {CellEditor} from './cell-editor.tsx';
import {ConflictDialog} from './conflict-dialog.tsx';
import css from './data.module.css';
import {DocumentPanel, NEW_DOCUMENT} from './document-panel.tsx';
import {useEdits} from './edits.ts';
import {FilterBar} from './filter-bar.tsx';
import {findDocument} from './find-document.ts';
import {type EditedCell, Grid, type GridColumn} from './grid.tsx';
import {COLUMNS_SHOWN_MAX, SAMPLED_DOCUMENTS} from './limits.ts';
import {PlanLine} from './plan-line.tsx';
import {planShown} from './query-plan.ts';
import {BY_CREATION, type RowOrder} from './row-order.ts';
import {expectedType, type TableField, tableFields} from './table-fields.ts';
import {useTableState} from './table-state.ts';
import {TimeBar} from './time-bar.tsx';
import {ExportDialog} from './transfer/export-dialog.tsx';
import {ImportDialog} from './transfer/import-dialog.tsx';
import {useBounds, useCount, useRows} from './use-rows.ts';

const NO_FILTERS: readonly FilterClause[] = [];

type BrowserProps = {tenant: string; table: string; tables: readonly {readonly name: string}[]};

export function Browser({tenant, table, tables}: BrowserProps) {
  const view = useTableState();
  const {order} = view;
  const filters = view.filters ?? NO_FILTERS;
  const [liveError, setLiveError] = useState<unknown>(null);
  const {source, state} = useRows(tenant, table, filters, order, setLiveError);
  const schemas = useOperation('schema.all', {tenant});
  const schema: StoredTableSchema | null = schemas.data?.tables[table] ?? null;
  const {rows, isAtStart, isAtEnd} = state.window;
  const bounds = useBounds(tenant, table, filters);
  const count = useCount(tenant, table, filters);
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const [firstVisible, setFirstVisible] = useState(0);
  const fields = useFields(schema, state.jump, rows);
  const columns = useMemo(() => columnsOf(fields, schema?.indexes ?? []), [fields, schema]);
  const [dialog, setDialog] = useState<'import' | 'export' | null>(null);
  const [edited, setEdited] = useState<EditedCell | null>(null);
  const edits = useEdits(tenant, table);
  const may = useMay();
  const [, navigate] = useLocation();

  const onVisible = useCallback(
    (first: number, last: number) => {
      source.show(first, last);
      setFirstVisible(first);
    },
    [source],
  );
  const plan = state.explain === null ? null : planShown(state.explain, filters, order, schema?.indexes ?? []);
  const goTo = async (id: string) => {
    try {
      const found = await findDocument(tenant, id, tables);
      if (found === null) return showToast(`No table has a document ${id}`, {tone: 'bad'});
      if (found === table) return view.setOpen(id);
      navigate(`${pathOf(tenant, 'data', found)}?document=${encodeURIComponent(id)}`);
    } catch (error) {
      showToast(messageOf(error), {tone: 'bad'});
    }
  };
  const setOrder = (field: string) => {
    const isSame = field === order.field;
    view.setOrder({
      field,
      direction: isSame && order.direction === 'asc' ? 'desc' : isSame ? 'asc' : firstDirection(field),
    });
  };
  const first = rows[Math.min(firstVisible, rows.length - 1)];

  return (
    <section className={css.browser} aria-label={table}>
      <header className={css.bar}>
        <h1>{table}</h1>
        <FilterBar text={view.filterText} filters={filters} fields={fields} onChange={view.setFilterText} />
        <Button
          kind="primary"
          icon="plus"
          disabled={!may('documents.insert')}
          onClick={() => view.setOpen(NEW_DOCUMENT)}
        >
          New
        </Button>
        <Menu
          label="More for this table"
          items={[
            {label: 'Import a file', disabled: !may('imports.run'), onSelect: () => setDialog('import')},
            {label: 'Export to a file', disabled: !may('exports.run'), onSelect: () => setDialog('export')},
            {label: 'Schema and indexes', onSelect: () => navigate(pathOf(tenant, 'schema', table))},
          ]}
        />
      </header>
      {view.fault === null ? null : <Note tone="bad">The filter in the address is not one: {view.fault}</Note>}
      {plan === null || (filters.length === 0 && !plan.isSlow) ? null : (
        <PlanLine plan={plan} tenant={tenant} table={table} schema={schema} />
      )}
      <div className={css.rows}>
        {state.error !== null && !(rows.length > 0 && isLost()) ? (
          <Failed error={state.error} retry={() => source.retry()} />
        ) : rows.length === 0 && state.isLoading ? (
          <Loading label={`Loading ${table}`} />
        ) : rows.length === 0 ? (
          <Empty title={filters.length > 0 ? 'No document matches' : 'This table has no documents'} icon="data">
            {filters.length > 0 ? <Button onClick={() => view.setFilterText('')}>Remove the filter</Button> : null}
          </Empty>
        ) : (
          <Grid
            label={`Documents of ${table}`}
            state={state}
            columns={columns}
            order={order}
            selection={selection}
            open={view.open}
            edited={edited}
            editor={(doc, {field}) => (
              <CellEditor
                doc={doc}
                field={fields.find(({name}) => name === field)!}
                schema={schema}
                onSave={(base, saved) => void edits.save(base, saved)}
                onEnd={() => setEdited(null)}
              />
            )}
            onOrder={setOrder}
            onVisible={onVisible}
            onSelect={(id, isShift) =>
              setSelection(
                clicked(
                  selection,
                  id,
                  isShift,
                  rows.map(({doc}) => doc._id),
                ),
              )
            }
            onEdit={(doc, {field}) => may('documents.patch') && setEdited({id: doc._id, field})}
            onOpen={view.setOpen}
            onId={id => void goTo(id)}
          />
        )}
        {order.field === BY_CREATION && bounds && bounds.first < bounds.last && first !== undefined ? (
          <TimeBar
            bounds={bounds}
            at={first.doc._creationTime}
            isDescending={order.direction === 'desc'}
            onJump={time => source.jumpTo({value: time, created: time, id: ''})}
          />
        ) : null}
        {view.open === '' ? null : (
          <DocumentPanel
            key={view.open}
            tenant={tenant}
            table={table}
            id={view.open}
            schema={schema}
            edits={edits}
            onOpen={view.setOpen}
          />
        )}
      </div>
      {selection.isAll || selection.ids.size > 0 ? (
        <SelectionBar
          tenant={tenant}
          table={table}
          filters={filters}
          selection={selection}
          matching={count.data}
          onSelection={setSelection}
        />
      ) : null}
      <ConflictDialog edits={edits} />
      {dialog === 'import' ? (
        <ImportDialog
          tenant={tenant}
          table={table}
          schemas={schemas.data?.tables ?? {}}
          onClose={() => setDialog(null)}
        />
      ) : null}
      {dialog === 'export' ? (
        <ExportDialog
          tenant={tenant}
          table={table}
          filters={filters}
          matching={count.data}
          onClose={() => setDialog(null)}
        />
      ) : null}
      <footer className={css.status}>
        <span>
          {count.data === undefined ? 'Counting…' : plural(count.data, 'document')}
          {filters.length === 0 || count.data === undefined ? '' : count.data === 1 ? ' matches' : ' match'}
        </span>
        {first === undefined ? null : (
          <span className={css.position}>
            from <Time at={first.doc._creationTime} form="full" />
          </span>
        )}
        <span className={css.live} data-lost={liveError !== null || undefined}>
          {liveError === null ? 'Live' : `Not live: ${messageOf(liveError)}`}
        </span>
        <span className={css.ends}>
          <Button kind="quiet" disabled={isAtStart && firstVisible === 0} onClick={() => source.jumpTo(null)}>
            First
          </Button>
          <Button kind="quiet" disabled={isAtEnd && rows.length === 0} onClick={() => source.jumpTo(null, true)}>
            Last
          </Button>
        </span>
      </footer>
    </section>
  );
}

/** Times are most useful with the newest first. */
function firstDirection(field: string): RowOrder['direction'] {
  return field.startsWith('_') && field.endsWith('Time') ? 'desc' : 'asc';
}

/** From the schema and the rows of the last jump: columns do not come and go while the reader scrolls. */
function useFields(schema: StoredTableSchema | null, jump: number, rows: RowSourceRows): readonly TableField[] {
  const isFilled = rows.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  return useMemo(
    () =>
      tableFields(
        schema,
        rows.slice(0, SAMPLED_DOCUMENTS).map(({doc}) => doc),
      ),
    [schema, jump, isFilled],
  );
}
type RowSourceRows = ReturnType<typeof useRows>['state']['window']['rows'];

const WIDTHS: Readonly<Record<string, number>> = {
  string: 180,
  number: 120,
  boolean: 90,
  array: 200,
  object: 220,
  any: 160,
};
const ID_PX = 150;
const TIME_PX = 190;

function columnsOf(fields: readonly TableField[], indexes: readonly StoredIndex[]): GridColumn[] {
  const indexed = new Set(indexes.filter(({state}) => state === 'enabled').map(({fields: [leading]}) => leading));
  const system = {isTime: false, isEditable: false};
  return [
    {...system, field: '_id', type: 'id', width: ID_PX, isIndexed: true},
    ...fields.slice(0, COLUMNS_SHOWN_MAX).map(field => {
      const type = expectedType(field);
      const isIndexed = indexed.has(field.name);
      return {field: field.name, type, width: WIDTHS[type]!, isTime: false, isIndexed, isEditable: true};
    }),
    {...system, field: BY_CREATION, type: 'time', width: TIME_PX, isTime: true, isIndexed: true},
  ];
}
