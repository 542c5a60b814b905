/** What is selected and what can be done with it. */
import {useState} from 'react';
import type {FilterClause} from '../../../../shared/protocol/queries.ts';
import {useMay} from '../../../api/session.ts';
import {Button} from '../../../parts/button.tsx';
import {plural} from '../../../parts/values.tsx';
import {ExportDialog} from '../transfer/export-dialog.tsx';
import css from './bulk.module.css';
import {type BulkChange, BulkDialog} from './bulk-dialog.tsx';
import {allThatMatch, filtersOf, NOTHING, type Selection} from './selection.ts';

export function SelectionBar({
  tenant,
  table,
  filters,
  selection,
  matching,
  onSelection,
}: {
  tenant: string;
  table: string;
  filters: readonly FilterClause[];
  selection: Selection;
  /** Documents that match the filters; undefined while they are counted. */
  matching: number | undefined;
  onSelection(selection: Selection): void;
}) {
  const [change, setChange] = useState<BulkChange | null>(null);
  const [isExporting, setExporting] = useState(false);
  const may = useMay();
  const {isAll, ids} = selection;
  const all = matching === undefined ? 'all that match' : `all ${plural(matching, 'document')} that match`;
  return (
    <section className={css.bar} aria-label="Selection">
      <strong aria-live="polite">{isAll ? `Selected ${all}` : `${plural(ids.size, 'document')} selected`}</strong>
      {isAll ? null : (
        <Button kind="quiet" onClick={() => onSelection(allThatMatch())}>
          Select {all}
        </Button>
      )}
      <span className={css.actions}>
        <Button disabled={!may('exports.run')} onClick={() => setExporting(true)}>
          Export
        </Button>
        <Button disabled={!may('tasks.create')} onClick={() => setChange('patch')}>
          Change fields
        </Button>
        <Button kind="danger" disabled={!may('tasks.create')} onClick={() => setChange('delete')}>
          Delete
        </Button>
        <Button kind="quiet" onClick={() => onSelection(NOTHING)}>
          Clear
        </Button>
      </span>
      {isExporting ? (
        <ExportDialog
          tenant={tenant}
          table={table}
          filters={filtersOf(selection, filters)}
          matching={isAll ? matching : ids.size}
          onClose={() => setExporting(false)}
        />
      ) : null}
      {change === null ? null : (
        <BulkDialog
          tenant={tenant}
          table={table}
          filters={filtersOf(selection, filters)}
          change={change}
          isAll={isAll}
          onClose={isDone => {
            setChange(null);
            if (isDone) onSelection(NOTHING);
          }}
        />
      )}
    </section>
  );
}
