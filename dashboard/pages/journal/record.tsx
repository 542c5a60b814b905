/** A record of the journal: in one line, and opened with what each document was before and who caused it. */
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Cause, causeText} from '../../parts/cause.tsx';
import {pathOf} from '../../parts/page.tsx';
import {Failed, Loading} from '../../parts/states.tsx';
import {countText, Time} from '../../parts/values.tsx';
import {versionsBefore} from '../data/document-versions.ts';
import {FieldChanges} from '../data/field-changes.tsx';
import type {Doc} from '../data/row-order.ts';
import css from './journal.module.css';

export type JournalRecord = AnswerOf<'journal.page'>['records'][number];
type Write = JournalRecord['writes'][number];

/** Writes that an opened record shows. */
const WRITES = 20;

export function Entry({tenant, record}: {tenant: string; record: JournalRecord}) {
  const [isOpen, setOpen] = useState(false);
  const {sequence, timestamp, events, writes, cause} = record;
  const request = cause?.request_id ?? cause?.job_id;
  return (
    <li className={css.entry}>
      <details onToggle={event => setOpen(event.currentTarget.open)}>
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
            {events.length > 3 ? <span className={css.muted}>and {countText(events.length - 3)} more</span> : null}
          </span>
          {cause === undefined ? null : <span className={css.by}>{causeText(cause)}</span>}
        </summary>
        {isOpen ? (
          <div className={css.body}>
            <p className={css.muted}>
              <Time at={timestamp} form="full" />
              {'. '}
              <Cause tenant={tenant} cause={cause} />
              {request === undefined ? null : (
                <>
                  {'. '}
                  <Link href={`${pathOf(tenant, 'journal')}?${new URLSearchParams({request})}`}>Its other records</Link>
                </>
              )}
            </p>
            {writes.slice(0, WRITES).map((write, i) => (
              <Written
                // biome-ignore lint/suspicious/noArrayIndexKey: a record never changes
                key={i}
                tenant={tenant}
                sequence={sequence}
                write={write}
                earlier={writes.slice(0, i).findLast(one => one.table === write.table && one.id === write.id)}
              />
            ))}
            {writes.length > WRITES ? (
              <p className={css.muted}>and {countText(writes.length - WRITES)} more documents</p>
            ) : null}
            {writes.length === 0 ? <pre className={css.json}>{JSON.stringify(events, null, 2)}</pre> : null}
          </div>
        ) : null}
      </details>
    </li>
  );
}

type WrittenProps = {
  tenant: string;
  sequence: number;
  write: Write /** In the same record. */;
  earlier: Write | undefined;
};

function Written({tenant, sequence, write, earlier}: WrittenProps) {
  const {table, id, op, document} = write;
  const ofDocument = new URLSearchParams({document: id});
  return (
    <div className={css.write}>
      <p>
        <Badge tone={toneOf(`document.${op === 'insert' ? 'inserted' : op}d`)}>{op}</Badge>{' '}
        <Link href={`${pathOf(tenant, 'data', table)}?${ofDocument}`}>
          <code>
            {table}/{id}
          </code>
        </Link>{' '}
        <Link className={css.muted} href={`${pathOf(tenant, 'journal')}?${new URLSearchParams({table, document: id})}`}>
          All records of this document
        </Link>
      </p>
      {op === 'insert' ? null : <Before tenant={tenant} sequence={sequence} write={write} earlier={earlier} />}
      {document === null ? null : op === 'insert' ? (
        <pre className={css.json}>{JSON.stringify(document, null, 2)}</pre>
      ) : (
        <details>
          <summary className={css.muted}>The whole document afterwards</summary>
          <pre className={css.json}>{JSON.stringify(document, null, 2)}</pre>
        </details>
      )}
    </div>
  );
}

/** The document before this write is that of the record that wrote it before. */
function Before({tenant, sequence, write: {table, id, document}, earlier}: WrittenProps) {
  const found = useQuery({
    queryKey: ['journal.before', {tenant}, table, id, sequence],
    enabled: earlier === undefined,
    queryFn: async ({signal}) => {
      const {versions, next} = await versionsBefore(tenant, table, id, sequence, signal, 1);
      return {doc: versions[0]?.doc ?? null, isUnread: versions.length === 0 && next !== null};
    },
  });
  if (found.error !== null) return <Failed error={found.error} retry={() => void found.refetch()} />;
  if (earlier === undefined && found.data === undefined) return <Loading label="Reading the record before" />;
  const before = earlier === undefined ? (found.data?.doc ?? null) : (earlier.document as unknown as Doc | null);
  if (before === null) {
    return (
      <p className={css.muted}>
        {found.data?.isUnread ? 'The record before it was not found yet.' : 'The record before it is no longer kept.'}
      </p>
    );
  }
  if (document === null) return <pre className={css.json}>{JSON.stringify(before, null, 2)}</pre>;
  return <FieldChanges before={before} after={document as unknown as Doc} />;
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
