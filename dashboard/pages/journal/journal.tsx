/** The journal of a tenant as a timeline: how much was written when, and every record, newest first. */
import {keepPreviousData, useQuery} from '@tanstack/react-query';
import {useEffect, useState} from 'react';
import {JOURNAL_KINDS} from '../../../shared/journal-kinds.ts';
import type {AnswerOf, QueryOf} from '../../../shared/operation-types.ts';
import {call} from '../../api/client.ts';
import {useOperation} from '../../api/queries.ts';
import {JOURNAL_SEARCHES, REFRESH_MS} from '../../limits.ts';
import {Button} from '../../parts/button.tsx';
import {Field, Select} from '../../parts/field.tsx';
import {Page, type TenantPageProps, Toolbar} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Density} from './density.tsx';
import {type JournalFilter, NO_FILTER, queryOf, RANGES, rangeOf, useFilter} from './filter.ts';
import css from './journal.module.css';
import {Entry} from './record.tsx';

/** Records of one page. */
const RECORDS = 200;
const SELECTED = 'selected';

export default function Journal({tenant}: TenantPageProps) {
  const [filter, setFilter] = useFilter();
  /** The first sequence of each page after this one. */
  const [pages, setPages] = useState<readonly number[]>([]);
  const before = pages.at(-1);
  const nowMs = Date.now();
  const query = {
    ...queryOf(filter, nowMs),
    order: 'desc' as const,
    limit: RECORDS,
    ...(before === undefined ? {} : {before}),
  };
  const page = useQuery({
    queryKey: ['journal.page', {tenant, query}, 'search'],
    queryFn: ({signal}) => searched(tenant, query, signal),
    placeholderData: keepPreviousData,
  });
  // A page of an import has megabytes: it is read again only when there are new records.
  const newest = page.data?.latest_sequence;
  const news = useOperation(
    'journal.page',
    {tenant, query: {after: newest ?? 0, limit: 1}},
    {every: REFRESH_MS, enabled: newest !== undefined},
  );
  const isOld = newest !== undefined && news.data !== undefined && news.data.latest_sequence > newest;
  const {refetch} = page;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer that names newer records is a reason
  useEffect(() => {
    if (isOld) void refetch();
  }, [isOld, news.dataUpdatedAt, refetch]);
  const change = (part: Partial<JournalFilter>) => {
    setPages([]);
    setFilter(part);
  };
  const part = (name: keyof JournalFilter) => ({
    value: filter[name],
    onChange: (event: {target: {value: string}}) => change({[name]: event.target.value}),
  });
  const isFiltered = Object.values(filter).some(value => value !== '');
  const hasTime = filter.range === '' && (filter.from !== '' || filter.to !== '');
  return (
    <Page
      title="Journal"
      isWide
      actions={isFiltered ? <Button onClick={() => change(NO_FILTER)}>Remove filters</Button> : null}
    >
      <Toolbar>
        <Field label="Document" type="search" placeholder="Id" {...part('document')} />
        <Field label="Table" type="search" {...part('table')} />
        <Select
          label="Kind"
          {...part('kind')}
          options={[['', 'All'], ...JOURNAL_KINDS.map(one => [one, one] as const)]}
        />
        <Field label="Caused by" type="search" placeholder="Request, job or cron" {...part('request')} />
        <Select
          label="Time"
          value={hasTime ? SELECTED : filter.range}
          onChange={({target: {value}}) => value !== SELECTED && change({range: value, from: '', to: ''})}
          options={[
            ['', 'All'],
            ...RANGES.map(([id, title]) => [id, title] as const),
            ...(hasTime ? [[SELECTED, 'Selected in the chart'] as const] : []),
          ]}
        />
      </Toolbar>
      <Density
        tenant={tenant}
        kind={query.kind}
        range={rangeOf(filter, nowMs)}
        onRange={(from, to) => change({range: '', from: String(Math.floor(from)), to: String(Math.ceil(to))})}
      />
      <Loaded query={page}>
        {({records, has_more: hasMore, next_cursor: next}) => (
          <>
            {records.length === 0 ? (
              <Empty
                title={hasMore ? 'No match so far' : isFiltered ? 'No record matches' : 'Nothing has changed yet'}
                icon="journal"
              >
                {hasMore
                  ? 'Older records have not been searched yet.'
                  : 'Each write, schedule, deployment and change of settings is a record here.'}
              </Empty>
            ) : (
              <ol className={css.list}>
                {records.map(record => (
                  <Entry key={record.sequence} tenant={tenant} record={record} />
                ))}
              </ol>
            )}
            <div className={css.pages}>
              {pages.length === 0 ? null : <Button onClick={() => setPages(pages.slice(0, -1))}>Newer records</Button>}
              {hasMore ? <Button onClick={() => setPages([...pages, next])}>Older records</Button> : null}
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The server looks through a part of the journal for each request, so an answer can be empty and others follow. */
async function searched(
  tenant: string,
  query: QueryOf<'journal.page'>,
  signal: AbortSignal,
): Promise<AnswerOf<'journal.page'>> {
  let page = await call('journal.page', {tenant, query}, {signal});
  for (let requests = 1; requests < JOURNAL_SEARCHES && page.records.length === 0 && page.has_more; requests++) {
    page = await call('journal.page', {tenant, query: {...query, before: page.next_cursor}}, {signal});
  }
  return page;
}
