/** How many records the journal has over time. Dragging over the chart selects a time. */
import {useEffect, useMemo, useRef, useState} from 'react';
import type {JournalKind} from '../../../shared/journal-kinds.ts';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {COUNTS_RETRY_MS, REFRESH_MS} from '../../limits.ts';
import {Chart, type ChartLine} from '../../parts/chart.tsx';
import {countText, durationText} from '../../parts/values.tsx';

type Counts = AnswerOf<'journal.counts'>;
const BUCKETS = 90;

export function Density({
  tenant,
  kind,
  range,
  onRange,
}: {
  tenant: string;
  /** Undefined: all kinds. */
  kind: JournalKind | undefined;
  range: {readonly from?: number; readonly to?: number};
  onRange(from: number, to: number): void;
}) {
  const [isCounting, setCounting] = useState(false);
  const countedFrom = useRef<number | null>(null);
  const query = {...range, buckets: BUCKETS};
  const every = isCounting ? COUNTS_RETRY_MS : REFRESH_MS;
  const {data, dataUpdatedAt} = useOperation('journal.counts', {tenant, query}, {keep: true, every});
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal data comes again, as the same object
  useEffect(() => {
    // Without memory for older records, the counts never become complete.
    setCounting(data?.complete === false && data.counted_from !== countedFrom.current);
    countedFrom.current = data?.counted_from ?? null;
  }, [data, dataUpdatedAt]);
  const drawn = useMemo(() => (data === undefined ? null : linesOf(data, kind)), [data, kind]);
  if (data === undefined || drawn === null || data.buckets.length === 0) return null;
  const note = data.complete ? '' : isCounting ? ' (older ones are being counted)' : ' (older ones are not counted)';
  return (
    <Chart
      title={`Records in ${durationText(data.bucket_ms)}${note}`}
      times={drawn.times}
      lines={drawn.lines}
      textOf={countText}
      isBars
      onRange={(first, last) => onRange(drawn.times[first]!, drawn.times[last]! + data.bucket_ms - 1)}
    />
  );
}

function linesOf({from, to, bucket_ms: width, buckets}: Counts, kind: JournalKind | undefined) {
  const byTime = new Map(buckets.map(bucket => [bucket.at, bucket]));
  const times = Array.from({length: Math.max(2, Math.floor((to - from) / width) + 1)}, (_, i) => from + i * width);
  const all = times.map(at => byTime.get(at));
  const of = (one: JournalKind) => all.map(bucket => bucket?.kinds[one] ?? 0);
  const lines: readonly ChartLine[] =
    kind === undefined
      ? [
          {name: 'records', colour: 'accent', values: all.map(bucket => bucket?.records ?? 0)},
          {name: 'with deletes', colour: 'bad', values: of('delete')},
        ]
      : [{name: `records of kind ${kind}`, colour: kind === 'delete' ? 'bad' : 'accent', values: of(kind)}];
  return {times, lines};
}
