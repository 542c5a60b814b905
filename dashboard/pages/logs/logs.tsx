/** Logs of a tenant's functions: the newest executions, followed live. */
import {useState} from 'react';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Field, Select} from '../../parts/field.tsx';
import {Page, type TenantPageProps, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Failed, Loading} from '../../parts/states.tsx';
import {durationText, plural, Time} from '../../parts/values.tsx';
import {type LogEntry, useLogTail} from './log-tail.ts';
import css from './logs.module.css';

export default function Logs({tenant}: TenantPageProps) {
  const [text, setText] = useUrlState('text');
  const [path, setPath] = useUrlState('path');
  const [outcome, setOutcome] = useUrlState('outcome');
  const [request, setRequest] = useUrlState('request');
  const [isPaused, setPaused] = useState(false);
  const tail = useLogTail(tenant, {path, outcome, request_id: request}, isPaused);
  const shown = tail.entries.filter(entry => text === '' || JSON.stringify(entry).includes(text));
  const isFiltered = [text, path, outcome, request].some(value => value !== '');

  return (
    <Page
      title="Logs"
      isWide
      actions={
        <>
          <LiveBadge isLive={tail.isLive} isPaused={isPaused} />
          <Button icon={isPaused ? 'play' : 'pause'} aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? `Continue${tail.waiting === 0 ? '' : ` (${tail.waiting} new)`}` : 'Pause'}
          </Button>
        </>
      }
    >
      <Toolbar>
        <Field
          label="Text"
          type="search"
          placeholder="In messages, errors and names"
          value={text}
          onChange={event => setText(event.target.value)}
        />
        <Field
          label="Function"
          placeholder="messages:list"
          value={path}
          onChange={event => setPath(event.target.value)}
        />
        <Select
          label="Outcome"
          value={outcome}
          onChange={event => setOutcome(event.target.value)}
          options={[
            ['', 'All'],
            ['success', 'Success'],
            ['error', 'Error'],
          ]}
        />
        <Field label="Request" value={request} onChange={event => setRequest(event.target.value)} />
      </Toolbar>
      {tail.error === null ? null : <Failed error={tail.error} retry={tail.retry} />}
      {tail.error === null && !tail.hasBegun ? <Loading /> : null}
      {tail.error === null && tail.hasBegun && shown.length === 0 ? (
        <Empty title={isFiltered ? 'No execution matches' : 'No function has run yet'} icon="logs">
          {isFiltered
            ? 'New ones that match appear here by themselves.'
            : 'Executions appear here as they end. Run one on the page Functions.'}
        </Empty>
      ) : null}
      {shown.length === 0 ? null : (
        <ol className={css.list} aria-label={plural(shown.length, 'execution')}>
          {shown.map(entry => (
            <Entry key={`${entry.n} ${entry.at}`} entry={entry} onRequest={setRequest} />
          ))}
        </ol>
      )}
    </Page>
  );
}

function LiveBadge({isLive, isPaused}: {isLive: boolean; isPaused: boolean}) {
  if (isPaused) return <Badge tone="warn">paused</Badge>;
  return isLive ? <Badge tone="good">live</Badge> : <Badge>connecting</Badge>;
}

function Entry({entry, onRequest}: {entry: LogEntry; onRequest(id: string): void}) {
  const {at, path, kind, outcome, duration_ms, error, lines, request_id, caller} = entry;
  return (
    <li className={css.entry}>
      <details open={outcome === 'error'}>
        <summary className={css.head}>
          <Time at={at} form="clock" />
          <Badge tone={outcome === 'success' ? 'good' : 'bad'}>{outcome}</Badge>
          <code className={css.path}>{path}</code>
          <span className={css.muted}>{kind}</span>
          <span className={css.first}>{error?.split('\n')[0] ?? lines[0] ?? ''}</span>
          <span className={css.time}>{durationText(duration_ms)}</span>
        </summary>
        <div className={css.body}>
          {error === null ? null : <pre className={css.error}>{error}</pre>}
          {lines.length === 0 ? null : <pre className={css.lines}>{lines.join('\n')}</pre>}
          <p className={css.muted}>
            By {caller}, <Time at={at} form="full" />, request{' '}
            <button type="button" className={css.request} onClick={() => onRequest(request_id)}>
              {request_id}
            </button>
          </p>
        </div>
      </details>
    </li>
  );
}
