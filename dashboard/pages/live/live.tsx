/** Live queries of a tenant, the most expensive first, and why each was evaluated. */
import {Link, useLocation} from 'wouter';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Page, pathOf, Section, type TenantPageProps, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {Bytes, countText, durationText, plural, Time} from '../../parts/values.tsx';
import css from './live.module.css';
import {Holders, kindOf, type LiveQuery, textOf} from './live-query.tsx';
import {LiveQueryDetails} from './live-query-details.tsx';

/** The most expensive queries, which the page begins with; then all of them, page by page. */
const FIRST_ROWS = 10;
const ROWS = 50;

export default function Live({tenant, rest}: TenantPageProps) {
  const [shown, setShown] = useUrlState('show');
  const [after, setAfter] = useUrlState('after');
  const [, navigate] = useLocation();
  const query = {limit: shown === 'all' ? ROWS : FIRST_ROWS, ...(after === '' ? {} : {after})};
  const live = useOperation('live_queries.list', {tenant, query}, {every: REFRESH_MS, keep: true});
  const mostMs = Math.max(0, ...(live.data?.queries ?? []).map(({time_ms: ms}) => ms));
  const columns: Column<LiveQuery>[] = [
    {
      title: 'Query',
      grows: true,
      cell: one => (
        <Link href={pathOf(tenant, 'live', one.id)} title={textOf(one)} className={css.text}>
          <code>{textOf(one)}</code>
        </Link>
      ),
    },
    {title: 'Kind', cell: one => kindOf(one)},
    {title: 'Holders', align: 'end', cell: one => <Holders of={one} />},
    {title: 'Result', align: 'end', cell: ({result_bytes}) => <Bytes value={result_bytes} />},
    {title: 'Time', align: 'end', cell: ({time_ms: ms}) => <TimeShare ms={ms} mostMs={mostMs} />},
    {title: 'Changed', align: 'end', cell: ({evaluations}) => countText(evaluations.changed)},
    {title: 'Equal', align: 'end', cell: ({evaluations}) => countText(evaluations.equal)},
    {title: 'Unmatched', align: 'end', cell: ({evaluations}) => countText(evaluations.unmatched)},
    {title: 'Not concerned', align: 'end', cell: ({evaluations}) => countText(evaluations.skipped)},
    {
      title: 'Last',
      cell: ({last_evaluated_at: at, current}) =>
        current && at !== null ? <Time at={at} /> : <Badge tone="accent">evaluating</Badge>,
    },
  ];
  return (
    <Page title="Live queries" isWide>
      <Loaded query={live}>
        {({queries, total, next_cursor: next}) =>
          total === 0 ? (
            <Empty title="No query is live now" icon="live">
              Queries that pages and clients subscribe to appear here, with what they cost and which writes they reacted
              to.
            </Empty>
          ) : (
            <Section
              title={shown === 'all' || next == null ? plural(total, 'query', 'queries') : 'The most expensive'}
              actions={
                <>
                  {after === '' ? null : <Button onClick={() => setAfter('')}>First page</Button>}
                  {shown === 'all' && next != null ? <Button onClick={() => setAfter(next)}>Next page</Button> : null}
                  {shown === 'all' || next == null ? null : (
                    <Button onClick={() => setShown('all')}>Show all {countText(total)}</Button>
                  )}
                </>
              }
            >
              <Table label="Live queries" rows={queries} keyOf={({id}) => id} columns={columns} />
            </Section>
          )
        }
      </Loaded>
      {rest[0] === undefined ? null : (
        <LiveQueryDetails tenant={tenant} id={rest[0]} onClose={() => navigate(pathOf(tenant, 'live'))} />
      )}
    </Page>
  );
}

/** Its part of the most expensive one's time is a bar. */
function TimeShare({ms, mostMs}: {ms: number; mostMs: number}) {
  return (
    <span className={css.share}>
      <meter className={css.meter} min={0} max={Math.max(mostMs, Number.MIN_VALUE)} value={ms} aria-hidden="true" />
      {durationText(ms)}
    </span>
  );
}
