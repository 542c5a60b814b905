/** The journal of a tenant, newest first: every committed change, with the documents it wrote. */
import {useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Field} from '../../parts/field.tsx';
import {Page, type TenantPageProps, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {countText, Time} from '../../parts/values.tsx';
import css from './journal.module.css';

type JournalRecord = AnswerOf<'journal.page'>['records'][number];
type Write = JournalRecord['writes'][number];

/** Records of one page. */
const RECORDS = 200;

export default function Journal({tenant}: TenantPageProps) {
  const [filter, setFilter] = useUrlState('filter');
  const [before, setBefore] = useState<number | null>(null);
  const latest = useOperation('journal.page', {tenant, query: {limit: 1}}, {every: REFRESH_MS});
  const end = before ?? latest.data?.latest_sequence ?? 0;
  const floor = latest.data?.cursor_floor ?? 1;
  const after = Math.max(floor - 1, end - RECORDS, 0);
  const page = useOperation(
    'journal.page',
    {tenant, query: {after, limit: RECORDS}},
    {enabled: latest.data !== undefined, keep: true},
  );
  return (
    <Page title="Journal" isWide>
      <Toolbar>
        <Field
          label="Filter"
          isLabelHidden
          type="search"
          placeholder="Filter these records by table, id or kind"
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
      </Toolbar>
      <Loaded query={page}>
        {({records}) => {
          const shown = records.filter(one => filter === '' || JSON.stringify(one).includes(filter)).reverse();
          if (shown.length === 0)
            return (
              <Empty title={filter === '' ? 'Nothing has changed yet' : 'No record here matches'} icon="journal">
                Each write, schedule, deployment and change of settings is a record here.
              </Empty>
            );
          return (
            <ol className={css.list}>
              {shown.map(record => (
                <Entry key={record.sequence} record={record} />
              ))}
            </ol>
          );
        }}
      </Loaded>
      <div className={css.pages}>
        {before === null ? null : <Button onClick={() => setBefore(null)}>Show the newest</Button>}
        {after >= floor ? <Button onClick={() => setBefore(after)}>Show older records</Button> : null}
      </div>
    </Page>
  );
}

function Entry({record}: {record: JournalRecord}) {
  const {sequence, timestamp, events, writes, scheduled_execution_id: job} = record;
  return (
    <li className={css.entry}>
      <details>
        <summary className={css.head}>
          <span className={css.sequence}>{countText(sequence)}</span>
          <Time at={timestamp} form="clock" />
          <span className={css.what}>
            {events.slice(0, 3).map((event, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a record never changes
              <span key={i} className={css.event}>
                <Badge tone={toneOf(event.type)}>{event.type}</Badge> <code>{subjectOf(event)}</code>
              </span>
            ))}
            {events.length > 3 ? <span className={css.muted}>and {events.length - 3} more</span> : null}
          </span>
        </summary>
        <div className={css.body}>
          <p className={css.muted}>
            <Time at={timestamp} form="full" />
            {job === null ? null : (
              <>
                {' '}
                by the scheduled run <code>{job}</code>
              </>
            )}
          </p>
          {writes.map(write => (
            <Written key={`${write.table} ${write.id}`} write={write} />
          ))}
          {writes.length === 0 ? <pre className={css.json}>{JSON.stringify(events, null, 2)}</pre> : null}
        </div>
      </details>
    </li>
  );
}

function Written({write}: {write: Write}) {
  return (
    <div>
      <code>
        {write.op} {write.table}/{write.id}
      </code>
      {write.document === null ? null : <pre className={css.json}>{JSON.stringify(write.document, null, 2)}</pre>}
    </div>
  );
}

function toneOf(type: string): Tone {
  if (/deleted|cancelled|failed/.test(type)) return 'bad';
  if (/inserted|created|completed/.test(type)) return 'good';
  return 'neutral';
}

function subjectOf(event: JournalRecord['events'][number]): string {
  const {table, id, name} = event as {table?: string; id?: string; name?: string};
  return [table, id ?? name].filter(Boolean).join('/');
}
