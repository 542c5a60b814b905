/** The writes that a run made, from the journal: also those of the functions that it called, and jobs it scheduled. */
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {WRITES_RECORDS_MAX} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {pathOf, Section} from '../../parts/page.tsx';
import {Loaded} from '../../parts/states.tsx';
import css from './functions.module.css';

type JournalRecord = AnswerOf<'journal.page'>['records'][number];
type Write = JournalRecord['writes'][number];

const TONES: Readonly<Record<Write['op'], Tone>> = {insert: 'good', update: 'accent', delete: 'bad'};

export function Writes({tenant, requestId}: {tenant: string; requestId: string}) {
  const query = {request_id: requestId, limit: WRITES_RECORDS_MAX};
  const page = useOperation('journal.page', {tenant, query});
  return (
    <Section
      title="Writes"
      actions={
        <Link href={`${pathOf(tenant, 'journal')}?request=${encodeURIComponent(requestId)}`}>In the journal</Link>
      }
    >
      <Loaded query={page}>
        {({records, has_more}) => {
          const writes = records.flatMap(record => record.writes.map(write => ({record, write})));
          const jobs = records.flatMap(({events}) => events.filter(({type}) => type === 'job.scheduled'));
          if (writes.length === 0 && jobs.length === 0) return <p className={css.muted}>It wrote nothing.</p>;
          return (
            <ul className={css.writes}>
              {writes.map(({record, write}) => (
                <li key={`${record.sequence} ${write.id}`}>
                  <Written tenant={tenant} write={write} />
                </li>
              ))}
              {jobs.map(job => (
                <li key={'id' in job ? job.id : ''}>
                  <Badge>job scheduled</Badge>{' '}
                  <Link href={pathOf(tenant, 'schedules')}>{'id' in job ? job.id : ''}</Link>
                </li>
              ))}
              {has_more ? <li className={css.muted}>More are in the journal.</li> : null}
            </ul>
          );
        }}
      </Loaded>
    </Section>
  );
}

function Written({tenant, write: {op, table, id, document}}: {tenant: string; write: Write}) {
  return (
    <>
      <Badge tone={TONES[op]}>{op}</Badge>{' '}
      <Link href={`${pathOf(tenant, 'data', table)}?document=${encodeURIComponent(id)}`}>
        {table}/{id}
      </Link>
      {document === null ? null : (
        <details>
          <summary>Document</summary>
          <pre className={css.lines}>{JSON.stringify(document, null, 2)}</pre>
        </details>
      )}
    </>
  );
}
