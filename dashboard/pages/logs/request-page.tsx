/** One request: its calls and jobs as a tree with times, log lines at their call, and the records that it wrote. */
import {useQuery} from '@tanstack/react-query';
import {useMemo, useState} from 'react';
import {Link} from 'wouter';
import {callTree} from '../../../shared/call-tree.ts';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {call} from '../../api/client.ts';
import {jsonLines} from '../../api/lines.ts';
import {useMay} from '../../api/session.ts';
import {REQUEST_ENTRIES_MAX, REQUEST_JOBS_SEARCHED_MAX, REQUEST_RECORDS_MAX} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Facts, Page, pathOf, Section} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {countText, durationText, plural, Time} from '../../parts/values.tsx';
import {LogTexts} from './log-item.tsx';
import {keyOf, type LogEntry} from './log-window.ts';
import css from './request.module.css';
import {type Bar, barsOf} from './waterfall.ts';

type JournalRecord = AnswerOf<'journal.page'>['records'][number];

export function RequestPage({tenant, id}: {tenant: string; id: string}) {
  const trace = useQuery({
    queryKey: ['logs.read', 'trace', tenant, id],
    queryFn: ({signal}) => traceOf(tenant, id, signal),
  });
  const [hasLines, setLines] = useState(true);
  return (
    <Page
      title={
        <>
          Request <code>{id}</code>
        </>
      }
      isWide
      actions={
        <>
          <Button aria-pressed={hasLines} onClick={() => setLines(!hasLines)}>
            {hasLines ? 'Hide log lines' : 'Show log lines'}
          </Button>
          <Button icon="refresh" isBusy={trace.isFetching} onClick={() => void trace.refetch()}>
            Refresh
          </Button>
        </>
      }
    >
      <p>
        <Link href={pathOf(tenant, 'logs')}>All logs</Link>
      </p>
      <Loaded query={trace}>
        {entries =>
          entries.length === 0 ? (
            <Empty title="The log has no execution of this request" icon="logs">
              Executions are in the log once they have ended. Those that succeeded and wrote no line are only among the
              newest.
            </Empty>
          ) : (
            <Trace tenant={tenant} entries={entries} hasLines={hasLines} />
          )
        }
      </Loaded>
    </Page>
  );
}

/** @param id of a request, or of a job, which is part of the trace of the request that scheduled it */
async function traceOf(tenant: string, id: string, signal: AbortSignal): Promise<LogEntry[]> {
  const read = async (filter: {trace_id: string} | {request_id: string}) => {
    const found: LogEntry[] = [];
    const query = {...filter, history: REQUEST_ENTRIES_MAX};
    for await (const entry of jsonLines<'logs.read', LogEntry>('logs.read', {tenant, query}, {signal}))
      if (entry !== null) found.push(entry);
    return found;
  };
  const trace = await read({trace_id: id});
  if (trace.length > 0) return trace;
  const of = (await read({request_id: id})).at(-1)?.trace_id;
  return of === undefined ? [] : read({trace_id: of});
}

function Trace({tenant, entries, hasLines}: {tenant: string; entries: readonly LogEntry[]; hasLines: boolean}) {
  const tree = useMemo(() => callTree(entries), [entries]);
  const bars = useMemo(() => barsOf(tree), [tree]);
  const may = useMay();
  const failed = entries.filter(({outcome}) => outcome === 'error').length;
  const jobs = entries.filter(({caller}) => caller === 'job').length;
  const [root] = tree;
  const unknown = bars.filter(({node}) => node.entry === null).length;
  return (
    <>
      <Facts
        facts={[
          ['Began', <Time key="began" at={root!.beganMs} form="full" />],
          ['Time with its calls', durationText(Math.max(...bars.filter(isOfRequest).map(endOf)))],
          ['Executions', `${countText(entries.length)}${jobs === 0 ? '' : `, ${plural(jobs, 'job')}`}`],
          [
            'Failed',
            failed === 0 ? (
              '0'
            ) : (
              <Badge key="failed" tone="bad">
                {countText(failed)}
              </Badge>
            ),
          ],
        ]}
      />
      {unknown === 0 ? null : (
        <Note>
          An execution without a name has not ended yet, or succeeded silently and is no longer in the log. Its calls
          are below it.
        </Note>
      )}
      {entries.length < REQUEST_ENTRIES_MAX ? null : (
        <Note tone="warn">The newest {countText(REQUEST_ENTRIES_MAX)} executions of this request are shown.</Note>
      )}
      <ol className={css.tree} aria-label="Executions of the request">
        {bars.map((bar, i) => (
          <Line
            key={bar.node.entry === null ? i : keyOf(bar.node.entry)}
            tenant={tenant}
            bar={bar}
            hasLines={hasLines}
          />
        ))}
      </ol>
      {may('journal.page') ? <Records tenant={tenant} entries={entries} /> : null}
    </>
  );
}

function isOfRequest({node}: Bar): boolean {
  return node.entry?.caller !== 'job';
}

function endOf({afterMs, node}: Bar): number {
  return afterMs + (node.entry?.duration_ms ?? 0);
}

function Line({tenant, bar, hasLines}: {tenant: string; bar: Bar; hasLines: boolean}) {
  const {node, depth, afterMs, left, width} = bar;
  const {entry} = node;
  const isFailed = entry?.outcome === 'error';
  const isJob = entry?.caller === 'job';
  return (
    <li className={css.line}>
      <div className={css.head}>
        <span className={css.name} style={{paddingInlineStart: depth * 16}}>
          {isJob ? <Badge tone="accent">job</Badge> : null}
          {entry === null ? (
            <span className={css.muted}>not in the log</span>
          ) : (
            <Link href={`${pathOf(tenant, 'logs')}?${new URLSearchParams({path: entry.path})}`}>
              <code>{entry.path}</code>
            </Link>
          )}
          <span className={css.muted}>{entry?.kind}</span>
          {isFailed ? <Badge tone="bad">error</Badge> : null}
        </span>
        <span className={css.after} title="After the beginning of the request">
          +{durationText(afterMs)}
        </span>
        <span className={css.track} aria-hidden="true">
          <span
            className={[css.bar, isFailed ? css.failed : '', isJob ? css.job : ''].join(' ')}
            style={{insetInlineStart: `${left}%`, width: `${width}%`}}
          />
        </span>
        <span className={css.time}>{entry === null ? '' : durationText(entry.duration_ms)}</span>
      </div>
      {entry !== null && hasLines && (entry.error !== null || entry.lines.length > 0) ? (
        <div className={css.texts} style={{marginInlineStart: depth * 16}}>
          <LogTexts entry={entry} />
        </div>
      ) : null}
    </li>
  );
}

/** What the request and its jobs have written: a job's records have its own id as their cause. */
function Records({tenant, entries}: {tenant: string; entries: readonly LogEntry[]}) {
  const jobs = entries.filter(({caller}) => caller === 'job').map(({request_id: job}) => job);
  const requests = entries.filter(({caller}) => caller !== 'job').map(({request_id: request}) => request);
  const ids = [...new Set([...requests, ...jobs])].slice(0, REQUEST_JOBS_SEARCHED_MAX);
  const records = useQuery({
    queryKey: ['journal.page', 'trace', tenant, ids],
    queryFn: async ({signal}) => {
      const found: {id: string; record: JournalRecord}[] = [];
      for (const id of ids) {
        const query = {request_id: id, limit: REQUEST_RECORDS_MAX};
        const page = await call('journal.page', {tenant, query}, {signal});
        found.push(...page.records.map(record => ({id, record})));
      }
      return found.sort((a, b) => a.record.sequence - b.record.sequence).slice(0, REQUEST_RECORDS_MAX);
    },
  });
  const columns: Column<{id: string; record: JournalRecord}>[] = [
    {
      title: 'Record',
      cell: ({id, record}) => (
        <Link href={`${pathOf(tenant, 'journal')}?${new URLSearchParams({request: id})}`}>
          {countText(record.sequence)}
        </Link>
      ),
    },
    {title: 'When', cell: ({record}) => <Time at={record.timestamp} form="clock" />},
    {title: 'By', cell: ({record}) => <code>{record.cause?.function ?? record.cause?.kind ?? ''}</code>},
    {title: 'Changes', grows: true, cell: ({record}) => <Changes tenant={tenant} record={record} />},
  ];
  return (
    <Section title="Written to the journal">
      <Loaded query={records}>
        {found =>
          found.length === 0 ? (
            <p className={css.muted}>Nothing.</p>
          ) : (
            <Table label="Journal records" rows={found} keyOf={({record}) => record.sequence} columns={columns} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** Changes that a line of the table names. */
const CHANGES = 4;

function Changes({tenant, record: {writes, events}}: {tenant: string; record: JournalRecord}) {
  const others = events.filter(({type}) => !type.startsWith('document.'));
  const rest = writes.length + others.length - CHANGES;
  return (
    <span className={css.changes}>
      {writes.slice(0, CHANGES).map(({op, table, id}, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a record never changes
        <Link key={i} href={`${pathOf(tenant, 'data', table)}?${new URLSearchParams({document: id})}`} title={id}>
          {op} {table}
        </Link>
      ))}
      {others.slice(0, Math.max(0, CHANGES - writes.length)).map(({type}, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a record never changes
        <span key={i}>{type}</span>
      ))}
      {rest > 0 ? <span className={css.muted}>and {countText(rest)} more</span> : null}
    </span>
  );
}
