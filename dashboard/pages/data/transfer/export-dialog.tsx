/** Writes a table to a file as it arrives, with progress and cancel. */
import {useEffect, useRef, useState} from 'react';
import {send} from '../../../api/client.ts';
import {messageOf} from '../../../api/failure.ts';
import {Button} from '../../../parts/button.tsx';
import {Dialog} from '../../../parts/dialog.tsx';
import {Field, Select} from '../../../parts/field.tsx';
import {Note} from '../../../parts/states.tsx';
import {bytesText} from '../../../parts/values.tsx';
import type {FileFormat} from './file-rows.ts';
import {chooseFile} from './save-file.ts';

type State = {readonly at: 'start' | 'running' | 'done' | 'failed'; readonly bytes: number; readonly text: string};
const START: State = {at: 'start', bytes: 0, text: ''};

export function ExportDialog({tenant, table, onClose}: {tenant: string; table: string; onClose(): void}) {
  const [format, setFormat] = useState<FileFormat>('jsonl');
  const [columns, setColumns] = useState('');
  const [state, setState] = useState(START);
  const ended = useRef<AbortController | null>(null);
  useEffect(() => () => ended.current?.abort(), []);

  async function run(): Promise<void> {
    ended.current = new AbortController();
    const {signal} = ended.current;
    try {
      const write = await chooseFile(`${table}.${format}`);
      if (write === null) return;
      setState({...START, at: 'running'});
      const query = new URLSearchParams({table, ...(format === 'csv' ? {format} : {})});
      if (format === 'csv' && columns.trim() !== '') query.set('columns', columns.replaceAll(/\s*,\s*/g, ',').trim());
      const response = await send(`/_dashboard/api/tenants/${encodeURIComponent(tenant)}/export?${query}`, {signal});
      let bytes = 0;
      const counted = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.length;
          setState({...START, at: 'running', bytes});
          controller.enqueue(chunk);
        },
      });
      await write(response.body!.pipeThrough(counted));
      setState({...START, at: 'done', bytes});
    } catch (error) {
      setState({...START, at: 'failed', text: signal.aborted ? 'Cancelled.' : messageOf(error)});
    }
  }

  const isRunning = state.at === 'running';
  return (
    <Dialog
      title={`Export ${table}`}
      onClose={onClose}
      onSubmit={() => !isRunning && void run()}
      actions={
        <>
          <Button onClick={isRunning ? () => ended.current?.abort() : onClose}>
            {state.at === 'done' ? 'Close' : 'Cancel'}
          </Button>
          <Button type="submit" kind="primary" isBusy={isRunning}>
            Export
          </Button>
        </>
      }
    >
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
      <p>The file has all documents of the table as of one moment. It is written while it arrives.</p>
      {state.at === 'start' ? null : (
        <p role="status">{isRunning || state.at === 'done' ? bytesText(state.bytes) : state.text}</p>
      )}
      {state.at === 'done' ? <Note tone="good">The file is complete.</Note> : null}
    </Dialog>
  );
}
