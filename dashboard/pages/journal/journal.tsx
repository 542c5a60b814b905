/** The journal of a tenant, newest first: every committed change, with the documents it wrote. */
import {useState} from 'react';
import type {JournalKind} from '../../../shared/journal-kinds.ts';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Field, Select} from '../../parts/field.tsx';
import {Page, type TenantPageProps, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {countText, Time} from '../../parts/values.tsx';
import css from './journal.module.css';

type JournalRecord = AnswerOf<'journal.page'>['records'][number];
type Write = JournalRecord['writes'][number];

/** Written out here: their own module would bring the schemas of the whole journal into the page. */
const KINDS: readonly JournalKind[] = [
  'insert',
  'update',
  'delete',
  'schema',
  'table',
  'job',
  'cron',
  'deployment',
  'environment',
  'settings',
];
/** Records of one page. */
const RECORDS = 200;

export default function Journal({tenant}: TenantPageProps) {
  const [table, setTable] = useUrlState('table');
  const [document, setDocument] = useUrlState('document');
  const [kind, setKind] = useUrlState('kind');
  /** The first sequence of each page after this one. */
  const [pages, setPages] = useState<readonly number[]>([]);
  const before = pages.at(-1);
  const found = KINDS.find(known => known === kind);
  const query = {
    order: 'desc' as const,
    limit: RECORDS,
    ...(before === undefined ? {} : {before}),
    ...(table === '' ? {} : {table}),
    ...(document === '' ? {} : {document}),
    ...(found === undefined ? {} : {kind: found}),
  };
  const page = useOperation('journal.page', {tenant, query}, {keep: true, every: REFRESH_MS});
  const filter = (set: (value: string) => void) => (event: {target: {value: string}}) => {
    setPages([]);
    set(event.target.value);
  };
  const isFiltered = [table, document, kind].some(value => value !== '');
  return (
    <Page title="Journal" isWide>
      <Toolbar>
        <Field label="Document" type="search" placeholder="Id" value={document} onChange={filter(setDocument)} />
        <Field label="Table" value={table} onChange={filter(setTable)} />
        <Select
          label="Kind"
          value={kind}
          onChange={filter(setKind)}
          options={[['', 'All'], ...KINDS.map(one => [one, one] as const)]}
        />
      </Toolbar>
      <Loaded query={page}>
        {({records, has_more: hasMore}) => (
          <>
            {records.length === 0 ? (
              <Empty title={isFiltered ? 'No record matches' : 'Nothing has changed yet'} icon="journal">
                Each write, schedule, deployment and change of settings is a record here.
              </Empty>
            ) : (
              <ol className={css.list}>
                {records.map(record => (
                  <Entry key={record.sequence} record={record} />
                ))}
              </ol>
            )}
            <div className={css.pages}>
              {pages.length === 0 ? null : <Button onClick={() => setPages(pages.slice(0, -1))}>Newer records</Button>}
              {hasMore && records.length > 0 ? (
                <Button onClick={() => setPages([...pages, records.at(-1)!.sequence])}>Older records</Button>
              ) : null}
            </div>
          </>
        )}
      </Loaded>
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
