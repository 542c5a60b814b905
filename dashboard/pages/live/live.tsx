/** Live queries of a tenant, the most expensive first, and why each was evaluated. */
import {Link, useLocation} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Page, pathOf, type TenantPageProps, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {Bytes, countText, durationText, Time} from '../../parts/values.tsx';
import {LiveQueryDetails} from './live-query-details.tsx';

export type LiveQuery = AnswerOf<'live_queries.list'>['queries'][number];

/** Queries of one page. */
const ROWS = 50;

export default function Live({tenant, rest}: TenantPageProps) {
  const [after, setAfter] = useUrlState('after');
  const [, navigate] = useLocation();
  const query = {limit: ROWS, ...(after === '' ? {} : {after})};
  const live = useOperation('live_queries.list', {tenant, query}, {every: REFRESH_MS, keep: true});
  const columns: Column<LiveQuery>[] = [
    {
      title: 'Query',
      grows: true,
      cell: one => (
        <Link href={pathOf(tenant, 'live', one.id)} title={textOf(one)}>
          <code>{textOf(one)}</code>
        </Link>
      ),
    },
    {title: 'Holders', align: 'end', cell: ({holders}) => countText(holders)},
    {title: 'Result', align: 'end', cell: ({result_bytes}) => <Bytes value={result_bytes} />},
    {title: 'Time', align: 'end', cell: ({time_ms}) => durationText(time_ms)},
    {title: 'Changed', align: 'end', cell: ({evaluations}) => countText(evaluations.changed)},
    {title: 'Equal', align: 'end', cell: ({evaluations}) => countText(evaluations.equal)},
    {title: 'Unmatched', align: 'end', cell: ({evaluations}) => countText(evaluations.unmatched)},
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
            <>
              <Table label="Live queries" rows={queries} keyOf={({id}) => id} columns={columns} />
              {after === '' ? null : <Button onClick={() => setAfter('')}>Show the most expensive</Button>}
              {next == null ? null : <Button onClick={() => setAfter(next)}>Show more</Button>}
            </>
          )
        }
      </Loaded>
      {rest[0] === undefined ? null : (
        <LiveQueryDetails tenant={tenant} id={rest[0]} onClose={() => navigate(pathOf(tenant, 'live'))} />
      )}
    </Page>
  );
}

/** A function with its arguments, or a query object. */
export function textOf({function: path, args, query}: LiveQuery): string {
  if (path !== null) return `${path}(${args === null ? '…' : JSON.stringify(args)})`;
  return query === null ? 'a long query object' : JSON.stringify(query);
}
