/** One live query: its latest evaluations, each with the write that caused it and the key range that it hit. */
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Facts, pathOf} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {Bytes, countText, durationText, Time} from '../../parts/values.tsx';
import css from './live.module.css';
import {Holders, type LiveQuery} from './live-query.tsx';

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
              {query.function === null
                ? JSON.stringify(query.query)
                : `${query.function}(${JSON.stringify(query.args, null, 2)})`}
            </pre>
            <Facts
              facts={[
                ['Holders', <Holders key="holders" of={query} />],
                ['Result', <Bytes key="bytes" value={query.result_bytes} />],
                ['Time', durationText(query.time_ms)],
                ['Changed / equal / unmatched', evaluationsText(query)],
                ['Not concerned', countText(query.evaluations.skipped)],
              ]}
            />
            <Advice of={query} />
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
    {title: 'Cause', cell: one => <Cause tenant={tenant} of={one} />},
    {
      title: 'Key range',
      grows: true,
      cell: ({index, range}) => <code title={range ?? ''}>{[index, range].filter(Boolean).join(' ')}</code>,
    },
  ];
}

const CAUSES: Readonly<Record<Evaluation['cause'], string>> = {
  added: 'first subscription',
  written: 'a write',
  identity: 'another caller',
  deployment: 'a deployment',
  environment: 'a changed variable',
  schema: 'a changed schema',
  unknown: 'not known',
};

/** A write links to its record in the journal, and to the document. */
function Cause({tenant, of: {cause, sequence, table, document}}: {tenant: string; of: Evaluation}) {
  if (sequence === null || table === null || document === null) return CAUSES[cause];
  const journal = new URLSearchParams({table, document});
  return (
    <>
      <Link href={`${pathOf(tenant, 'journal')}?${journal}`}>record {countText(sequence)}</Link>
      {', '}
      <Link href={`${pathOf(tenant, 'data', table)}?${new URLSearchParams({document})}`} title={document}>
        <code>{table}</code>
      </Link>
    </>
  );
}

function evaluationsText({evaluations: {changed, equal, unmatched}}: LiveQuery): string {
  return [changed, equal, unmatched].map(countText).join(' / ');
}

/** Fewer evaluations than this show nothing. */
const EVALUATIONS_MIN = 20;

function Advice({of: {type, evaluations}}: {of: LiveQuery}) {
  const {changed, equal, unmatched} = evaluations;
  const all = changed + equal + unmatched;
  if (all < EVALUATIONS_MIN || changed > all / 2) return null;
  const share = `${Math.round(((equal + unmatched) / all) * 100)} % of the evaluations found the same result`;
  return (
    <Note tone="warn">
      {share}, because writes hit wide key ranges.{' '}
      {type === 'query'
        ? 'Filter by equality on more fields, or order by the field that the filter bounds.'
        : 'Read through an index that begins with the fields that the function compares.'}
    </Note>
  );
}
