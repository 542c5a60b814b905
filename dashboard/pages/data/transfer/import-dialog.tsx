/** Imports a file: its columns are mapped to fields, bad rows are shown first, and it is sent in parts. */
import {useQueryClient} from '@tanstack/react-query';
import {useEffect, useRef, useState} from 'react';
import type {StoredTableSchema} from '../../../../shared/protocol/schema.ts';
import {messageOf} from '../../../api/failure.ts';
import {Button} from '../../../parts/button.tsx';
import {Dialog} from '../../../parts/dialog.tsx';
import {Field} from '../../../parts/field.tsx';
import {Note} from '../../../parts/states.tsx';
import {plural} from '../../../parts/values.tsx';
import css from '../bulk/bulk.module.css';
import {PREVIEW_ROWS} from '../limits.ts';
import {type FileRow, formatOf, rowsOf} from './file-rows.ts';
import {type ColumnMapping, suggestedMapping} from './import-mapping.ts';
import {type ImportProgress, runImport, textOf} from './import-run.ts';
import {MappingTable} from './mapping-table.tsx';

type Chosen = {readonly file: File; readonly rows: readonly FileRow[]};

export function ImportDialog({
  tenant,
  table: current,
  schemas,
  onClose,
}: {
  tenant: string;
  /** Empty: the reader names one. */
  table: string;
  schemas: Readonly<Record<string, StoredTableSchema>>;
  onClose(): void;
}) {
  const client = useQueryClient();
  const [table, setTable] = useState(current);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [mapping, setMapping] = useState<readonly ColumnMapping[]>([]);
  const [progress, setProgress] = useState<ImportProgress | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const ended = useRef<AbortController | null>(null);
  useEffect(() => () => ended.current?.abort(), []);
  const schema = schemas[table] ?? null;
  const isRunning = progress?.state === 'running';

  async function choose(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    const rows: FileRow[] = [];
    try {
      for await (const row of rowsOf(
        textOf(file, () => {}),
        formatOf(file.name),
      )) {
        rows.push(row);
        if (rows.length >= PREVIEW_ROWS) break;
      }
      setFault(rows.length === 0 ? 'The file has no rows.' : null);
    } catch (error) {
      setFault(messageOf(error));
    }
    setChosen({file, rows});
    setMapping(suggestedMapping(rows, schema));
    setProgress(null);
  }

  async function run(file: File): Promise<void> {
    ended.current = new AbortController();
    const {signal} = ended.current;
    await runImport({tenant, table, file, mapping, schema, signal, onProgress: setProgress});
    await client.invalidateQueries({
      predicate: ({queryKey: [name]}) => name === 'tables.list' || name === 'query.count' || name === 'query.batch',
    });
  }

  const isReady =
    chosen !== null && chosen.rows.length > 0 && table !== '' && mapping.some(({field}) => field !== null);
  return (
    <Dialog
      size="large"
      title={current === '' ? 'Import a file' : `Import into ${current}`}
      onClose={onClose}
      onSubmit={() => isReady && !isRunning && progress?.state !== 'done' && void run(chosen.file)}
      actions={
        <>
          <Button onClick={isRunning ? () => ended.current?.abort() : onClose}>
            {progress?.state === 'done' ? 'Close' : 'Cancel'}
          </Button>
          {progress?.state === 'done' && progress.inserted === 0 ? (
            <Button onClick={() => setProgress(null)}>Change the mapping</Button>
          ) : null}
          <Button type="submit" kind="primary" disabled={!isReady || progress?.state === 'done'} isBusy={isRunning}>
            Import
          </Button>
        </>
      }
    >
      {current === '' ? <Field label="Table" value={table} onChange={event => setTable(event.target.value)} /> : null}
      <Field
        label="File"
        type="file"
        accept=".csv,.jsonl,.ndjson,.json"
        hint="CSV with a header, or one JSON object per line. It is read in parts, so it can be of any size."
        disabled={isRunning}
        fault={fault}
        onChange={event => void choose(event.target.files?.[0])}
      />
      {chosen === null || chosen.rows.length === 0 || progress !== null ? null : (
        <MappingTable rows={chosen.rows} mapping={mapping} schema={schema} onMapping={setMapping} />
      )}
      {progress === null ? null : <ProgressState progress={progress} size={chosen?.file.size ?? 0} />}
    </Dialog>
  );
}

function ProgressState({progress, size}: {progress: ImportProgress; size: number}) {
  const {state, bytes, inserted, refused, examples, error} = progress;
  return (
    <>
      <progress
        className={css.progress}
        aria-label="Import"
        max={Math.max(size, 1)}
        value={state === 'done' ? size : bytes}
      />
      <p role="status">
        {plural(inserted, 'document')} imported{refused > 0 ? `, ${plural(refused, 'row')} left out` : ''}
      </p>
      {error === null ? null : <Note tone="bad">{error}</Note>}
      {state === 'done' && inserted > 0 ? <Note tone="good">The import is complete.</Note> : null}
      {state === 'done' && inserted === 0 ? <Note tone="warn">No row could be imported.</Note> : null}
      {examples.length === 0 ? null : (
        <ul className={css.errors}>
          {examples.map(({line, message}) => (
            <li key={`${line} ${message}`}>
              Line {line}: {message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
