/** A tenant's traffic over time, and its busiest functions. */
import {useMemo} from 'react';
import {Link} from 'wouter';
import type {FigurePoint, Figures} from '../../../shared/protocol/figures.ts';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {FIGURES_REFRESH_MS, FUNCTIONS_SHOWN} from '../../limits.ts';
import {Chart, Charts} from '../../parts/chart.tsx';
import {Select} from '../../parts/field.tsx';
import {pathOf, Section, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {countText, durationText} from '../../parts/values.tsx';

const HOUR_MS = 3_600_000;
/** Hours → seconds per point: 60 to 100 points each. */
const STEPS: Readonly<Record<string, number>> = {'1': 60, '6': 300, '24': 900};

export function Traffic({tenant}: {tenant: string}) {
  const [hours, setHours] = useUrlState('hours', '1');
  const known = Object.hasOwn(STEPS, hours) ? hours : '1';
  const may = useMay();
  // Whole minutes, so that pages opened in the same minute share an answer.
  const from = Math.floor(Date.now() / 60_000) * 60_000 - Number(known) * HOUR_MS;
  const input = {tenant, query: {step: STEPS[known]!, from}};
  const figures = useOperation('figures.tenant', input, {every: FIGURES_REFRESH_MS, keep: true});
  return (
    <>
      <Section
        title="Traffic"
        actions={
          <Select
            label="Time"
            isLabelHidden
            value={known}
            onChange={event => setHours(event.target.value)}
            options={[
              ['1', 'Last hour'],
              ['6', 'Last 6 hours'],
              ['24', 'Last 24 hours'],
            ]}
          />
        }
      >
        <Loaded query={figures}>{found => <TrafficCharts figures={found} />}</Loaded>
      </Section>
      {may('figures.functions') ? <Busiest tenant={tenant} input={input} /> : null}
    </>
  );
}

function TrafficCharts({figures}: {figures: Figures}) {
  const filled = useMemo(() => linesOf(figures), [figures]);
  if (figures.points.length === 0) {
    return (
      <Empty title="No requests in this time" icon="overview">
        Figures begin with the first request, and are kept for a day.
      </Empty>
    );
  }
  const {times, traffic, latency, sockets} = filled;
  return (
    <Charts>
      <Chart
        title={`Requests in ${durationText(figures.step_seconds * 1_000)}`}
        times={times}
        lines={traffic}
        textOf={countText}
      />
      <Chart title="Time to answer" times={times} lines={latency} textOf={durationText} />
      <Chart title="Open sockets" times={times} lines={sockets} textOf={countText} />
    </Charts>
  );
}

function linesOf({from, to, step_seconds, points}: Figures) {
  const stepMs = step_seconds * 1_000;
  const byTime = new Map(points.map(point => [Math.floor(point.at / stepMs), point]));
  const times: number[] = [];
  const all: (FigurePoint | undefined)[] = [];
  for (let step = Math.ceil(from / stepMs); step * stepMs < to; step++) {
    times.push(step * stepMs);
    all.push(byTime.get(step));
  }
  return {
    times,
    traffic: [
      {name: 'requests', colour: 'accent', values: all.map(point => point?.requests ?? 0)},
      {name: 'errors', colour: 'bad', values: all.map(point => point?.errors ?? 0)},
    ],
    latency: [
      {name: 'p50', colour: 'accent', values: all.map(point => point?.p50_ms ?? null)},
      {name: 'p99', colour: 'warn', values: all.map(point => point?.p99_ms ?? null)},
    ],
    sockets: [{name: 'sockets', colour: 'accent', values: all.map(point => point?.sockets ?? 0)}],
  } as const;
}

function Busiest({tenant, input}: {tenant: string; input: {tenant: string; query: {step: number; from: number}}}) {
  const figures = useOperation('figures.functions', input, {every: FIGURES_REFRESH_MS, keep: true});
  const functions = figures.data?.functions ?? [];
  if (functions.length === 0) return null;
  return (
    <Section title="Busiest functions">
      <Table
        label="Busiest functions"
        rows={functions.slice(0, FUNCTIONS_SHOWN)}
        keyOf={({name}) => name}
        columns={[
          {
            title: 'Function',
            grows: true,
            cell: ({name}) => <Link href={`${pathOf(tenant, 'logs')}?path=${encodeURIComponent(name)}`}>{name}</Link>,
          },
          {title: 'Calls', align: 'end', cell: ({calls}) => countText(calls)},
          {title: 'Errors', align: 'end', cell: ({errors}) => countText(errors)},
          {title: 'p50', align: 'end', cell: ({p50_ms}) => (p50_ms === null ? '–' : durationText(p50_ms))},
          {title: 'p99', align: 'end', cell: ({p99_ms}) => (p99_ms === null ? '–' : durationText(p99_ms))},
        ]}
      />
    </Section>
  );
}
