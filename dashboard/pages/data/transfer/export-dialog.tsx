/** Saves a table as a file, or the documents of it that match the filter or are selected. */
import {useState} from 'react';
import type {FilterClause} from '../../../../shared/protocol/queries.ts';
import {saveExport} from '../../../api/download.ts';
import {messageOf} from '../../../api/failure.ts';
import {Button} from '../../../parts/button.tsx';
import {Dialog} from '../../../parts/dialog.tsx';
import {Field, Select} from '../../../parts/field.tsx';
import {Note} from '../../../parts/states.tsx';
import {showToast} from '../../../parts/toast.tsx';
import {plural} from '../../../parts/values.tsx';
import type {FileFormat} from './file-rows.ts';

type ExportDialogProps = {
  tenant: string;
  table: string;
  /** What the page shows, or what is selected of it; empty: all documents. */
  filters: readonly FilterClause[];
  /** Documents that match the filters; undefined: they are being counted. */
  matching: number | undefined;
  onClose(): void;
};

export function ExportDialog({tenant, table, filters, matching, onClose}: ExportDialogProps) {
  const [format, setFormat] = useState<FileFormat>('jsonl');
  const [columns, setColumns] = useState('');
  const [isFiltered, setFiltered] = useState(filters.length > 0);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  async function run(): Promise<void> {
    setBusy(true);
    setFault(null);
    const named = columns.replaceAll(/\s*,\s*/g, ',').trim();
    try {
      await saveExport(tenant, {
        table,
        ...(format === 'csv' ? {format} : {}),
        ...(format === 'csv' && named !== '' ? {columns: named} : {}),
        ...(isFiltered ? {filters: JSON.stringify(filters)} : {}),
      });
      showToast(`The browser saves ${table}.${format}`);
      onClose();
    } catch (error) {
      setFault(messageOf(error));
    }
    setBusy(false);
  }

  const some = matching === undefined ? 'those of the filter or the selection' : plural(matching, 'document');
  return (
    <Dialog
      title={`Export ${table}`}
      onClose={onClose}
      onSubmit={() => void run()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Export
          </Button>
        </>
      }
    >
      {filters.length === 0 ? null : (
        <Select
          label="Documents"
          value={isFiltered ? 'some' : 'all'}
          options={[
            ['some', `Only ${some}`],
            ['all', 'All documents of the table'],
          ]}
          onChange={event => setFiltered(event.target.value === 'some')}
        />
      )}
      <Select
        label="Format"
        value={format}
        options={[
          ['jsonl', 'JSON lines'],
          ['csv', 'CSV'],
        ]}
        onChange={event => setFormat(event.target.value as FileFormat)}
      />
      {format === 'csv' ? (
        <Field
          label="Columns"
          placeholder="all fields"
          hint="Names with commas between them. Without names the server reads the table twice."
          value={columns}
          onChange={event => setColumns(event.target.value)}
        />
      ) : null}
      <p>The file has the documents as of one moment. Your browser writes it while it arrives, and can cancel it.</p>
      {fault === null ? null : <Note tone="bad">{fault}</Note>}
    </Dialog>
  );
}
