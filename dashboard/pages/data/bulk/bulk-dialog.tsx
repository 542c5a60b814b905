/**
 * Deletes or patches all documents that filters find: it counts them first, then runs a task of the server and shows
 * how far it is. The task continues when this page is closed.
 */
import {useQuery, useQueryClient} from '@tanstack/react-query';
import {useState} from 'react';
import type {FilterClause} from '../../../../shared/protocol/queries.ts';
import type {Task, TaskBody} from '../../../../shared/protocol/tasks.ts';
import {call} from '../../../api/client.ts';
import {messageOf} from '../../../api/failure.ts';
import {Button} from '../../../parts/button.tsx';
import {Dialog} from '../../../parts/dialog.tsx';
import {Check, Field, TextArea} from '../../../parts/field.tsx';
import {Failed, Loading, Note} from '../../../parts/states.tsx';
import {plural} from '../../../parts/values.tsx';
import {checkDocument, parseDocument} from '../document-edit.ts';
import {TASK_POLL_MS} from '../limits.ts';
import css from './bulk.module.css';

export type BulkChange = 'delete' | 'patch';

type BulkDialogProps = {
  tenant: string;
  table: string;
  filters: FilterClause[];
  change: BulkChange;
  /** All that match, which can be many more than are on the screen. */
  isAll: boolean;
  onClose(isDone: boolean): void;
};

export function BulkDialog(props: BulkDialogProps) {
  const {change, table, onClose} = props;
  const [started, setStarted] = useState<{id: string; count: number} | null>(null);
  const title = change === 'delete' ? `Delete documents of ${table}` : `Change fields in ${table}`;
  if (started === null) return <Prepare {...props} title={title} onStarted={setStarted} />;
  return <Progress tenant={props.tenant} title={title} {...started} onClose={() => onClose(true)} />;
}

function Prepare({
  tenant,
  table,
  filters,
  change,
  isAll,
  title,
  onClose,
  onStarted,
}: BulkDialogProps & {title: string; onStarted(started: {id: string; count: number}): void}) {
  const count = useQuery({
    queryKey: ['bulk count', {tenant}, table, filters],
    queryFn: async ({signal}) => (await call('query.count', {tenant, body: {table, filters}}, {signal})).count,
  });
  const [typed, setTyped] = useState('');
  const [text, setText] = useState('{\n  \n}');
  const [unset, setUnset] = useState('');
  const [skips, setSkips] = useState(true);
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const parsed = parseDocument(text);
  const removed = unset.split(',').flatMap(name => (name.trim() === '' ? [] : [name.trim()]));
  const problem = parsed.problem ?? checkDocument(null, parsed.fields!)[0]?.message ?? null;
  const isEmpty = Object.keys(parsed.fields ?? {}).length === 0 && removed.length === 0;
  const needsName = change === 'delete' && isAll;
  const isReady =
    count.data !== undefined &&
    count.data > 0 &&
    (change === 'delete' ? !needsName || typed === table : problem === null && !isEmpty);

  async function start(): Promise<void> {
    const query = {table, filters};
    const fields = {
      ...(isEmpty ? {} : {patch: parsed.fields ?? {}}),
      ...(removed.length === 0 ? {} : {unset: removed}),
    };
    const body: TaskBody =
      change === 'delete'
        ? {type: 'delete', query}
        : {type: 'patch', query, on_error: skips ? 'skip' : 'stop', ...fields};
    setBusy(true);
    try {
      const {id} = await call('tasks.create', {tenant, body});
      onStarted({id, count: count.data!});
    } catch (error) {
      setFault(messageOf(error));
      setBusy(false);
    }
  }

  const action = change === 'delete' ? 'Delete' : 'Change';
  return (
    <Dialog
      title={title}
      onClose={() => onClose(false)}
      onSubmit={() => isReady && void start()}
      actions={
        <>
          <Button onClick={() => onClose(false)}>Cancel</Button>
          <Button type="submit" kind={change === 'delete' ? 'danger' : 'primary'} disabled={!isReady} isBusy={isBusy}>
            {count.data === undefined ? action : `${action} ${plural(count.data, 'document')}`}
          </Button>
        </>
      }
    >
      {count.error === null ? null : <Failed error={count.error} />}
      {count.isPending ? <Loading label="Counting" /> : null}
      {count.data === undefined ? null : (
        <p>
          {count.data === 0 ? 'No document matches any more.' : `This concerns ${plural(count.data, 'document')}.`}{' '}
          {change === 'delete' && count.data > 0 ? 'Deleted documents cannot be put back from here.' : ''}
        </p>
      )}
      {change === 'patch' ? (
        <>
          <TextArea
            label="Fields to set, as JSON"
            value={text}
            fault={problem}
            onChange={event => setText(event.target.value)}
          />
          <Field
            label="Fields to remove"
            placeholder="name, other"
            value={unset}
            onChange={event => setUnset(event.target.value)}
          />
          <Check
            label="Continue when the schema refuses a document"
            checked={skips}
            onChange={event => setSkips(event.target.checked)}
          />
        </>
      ) : null}
      {needsName ? (
        <Field label={`Type ${table} to confirm`} value={typed} onChange={event => setTyped(event.target.value)} />
      ) : null}
      {fault === null ? null : <Note tone="bad">{fault}</Note>}
    </Dialog>
  );
}

function Progress({
  tenant,
  id,
  count,
  title,
  onClose,
}: {
  tenant: string;
  id: string;
  count: number;
  title: string;
  onClose(): void;
}) {
  const client = useQueryClient();
  const params = {task_id: id};
  const task = useQuery({
    queryKey: ['tasks.get', {tenant}, id],
    queryFn: async ({signal}) => (await call('tasks.get', {tenant, params}, {signal})).task,
    refetchInterval: ({state}) => (state.data === undefined || state.data.state === 'running' ? TASK_POLL_MS : false),
    networkMode: 'always',
  });
  const isRunning = task.data === undefined || task.data.state === 'running';
  const close = () => {
    void client.invalidateQueries({queryKey: ['query.count', {tenant}]});
    onClose();
  };
  return (
    <Dialog
      title={title}
      onClose={close}
      actions={
        <>
          {isRunning ? (
            <Button
              kind="danger"
              onClick={() => void call('tasks.cancel', {tenant, params}).finally(() => task.refetch())}
            >
              Cancel the task
            </Button>
          ) : null}
          <Button onClick={close}>{isRunning ? 'Continue in the background' : 'Close'}</Button>
        </>
      }
    >
      {task.error === null ? null : <Failed error={task.error} />}
      {task.data === undefined ? <Loading /> : <TaskState task={task.data} count={count} />}
    </Dialog>
  );
}

const STATES: Readonly<Record<Task['state'], string>> = {
  running: 'Running',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

function TaskState({task, count}: {task: Task; count: number}) {
  const {state, changed, failed, errors} = task;
  return (
    <>
      <p role="status">
        {STATES[state]}: {plural(changed, 'document')} of {plural(count, 'document')}
        {failed > 0 ? `, ${failed} refused` : ''}
      </p>
      <progress
        className={css.progress}
        max={Math.max(count, 1)}
        value={state === 'completed' ? count : changed + failed}
      />
      {errors.length === 0 ? null : (
        <ul className={css.errors}>
          {errors.map(({id, message}) => (
            <li key={id}>
              <code>{id}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
