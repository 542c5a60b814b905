/** One live query: its latest evaluations, each with the write that caused it and the key range that it hit. */
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Facts, pathOf} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {Bytes, countText, durationText, Time} from '../../parts/values.tsx';
import css from './live.module.css';

type Evaluation = AnswerOf<'live_queries.get'>['recent'][number];

const TONES: Readonly<Record<Evaluation['result'], Tone>> = {changed: 'good', equal: 'warn', unmatched: 'neutral'};

export function LiveQueryDetails({tenant, id, onClose}: {tenant: string; id: string; onClose(): void}) {
  const found = useOperation('live_queries.get', {tenant, params: {live_query_id: id}}, {every: REFRESH_MS});
  return (
    <Dialog title="Live query" size="large" onClose={onClose}>
      <Loaded query={found}>
        {({query, recent}) => (
          <>
            <pre className={css.query}>
              {JSON.stringify(query.query ?? {function: query.function, args: query.args}, null, 2)}
            </pre>
            <Facts
              facts={[
                ['Holders', countText(query.holders)],
                ['Result', <Bytes key="bytes" value={query.result_bytes} />],
                ['Time of all evaluations', durationText(query.time_ms)],
                ['Skipped commits', countText(query.evaluations.skipped)],
              ]}
            />
            {recent.length === 0 ? (
              <Empty title="Not evaluated again since it was subscribed to" />
            ) : (
              <Table
                label="Latest evaluations"
                rows={recent}
                keyOf={one => `${one.at} ${one.sequence}`}
                columns={columnsFor(tenant)}
              />
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

function columnsFor(tenant: string): Column<Evaluation>[] {
  return [
    {title: 'When', cell: ({at}) => <Time at={at} form="clock" />},
    {title: 'Result', cell: ({result}) => <Badge tone={TONES[result]}>{result}</Badge>},
    {title: 'Time', align: 'end', cell: ({time_ms}) => durationText(time_ms)},
    {title: 'Cause', cell: ({cause, sequence}) => (sequence === null ? cause : `${cause} by record ${sequence}`)},
    {title: 'Document', cell: ({table, document}) => <Written tenant={tenant} table={table} document={document} />},
    {
      title: 'Key range',
      grows: true,
      cell: ({index, range}) => <code title={range ?? ''}>{[index, range].filter(Boolean).join(' ')}</code>,
    },
  ];
}

function Written({tenant, table, document}: {tenant: string; table: string | null; document: string | null}) {
  if (table === null || document === null) return '–';
  return (
    <Link href={pathOf(tenant, 'data', table)} title={document}>
      <code>{table}</code>
    </Link>
  );
}
