/** Crons, upcoming jobs and past runs of a tenant. */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Page, Section, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {durationText, Time} from '../../parts/values.tsx';

type Upcoming = AnswerOf<'schedule.all'>['scheduled'][number];
type Run = AnswerOf<'schedule.history'>['runs'][number];
type Work = Pick<Upcoming, 'type' | 'table' | 'function'>;

const ROWS = 100;
const LISTS = ['schedule.all', 'schedule.history'] as const;

export default function Schedules({tenant}: TenantPageProps) {
  const upcoming = useOperation('schedule.all', {tenant, query: {limit: ROWS}}, {every: REFRESH_MS});
  const history = useOperation('schedule.history', {tenant, query: {limit: ROWS}}, {every: REFRESH_MS});
  return (
    <Page title="Schedules">
      <Section title="Next">
        <Loaded query={upcoming}>
          {({scheduled}) =>
            scheduled.length === 0 ? (
              <Empty title="Nothing is scheduled" icon="schedules">
                A mutation can schedule a function with <code>ctx.scheduler</code>. The API makes jobs and crons that
                write documents.
              </Empty>
            ) : (
              <Table
                label="Next"
                rows={scheduled}
                keyOf={({kind, id}) => `${kind} ${id}`}
                columns={[...UPCOMING, {title: 'Actions', isTitleHidden: true, align: 'end', cell: actionsFor(tenant)}]}
              />
            )
          }
        </Loaded>
      </Section>
      <Section title="Past runs">
        <Loaded query={history}>
          {({runs}) =>
            runs.length === 0 ? (
              <Empty title="Nothing has run yet" />
            ) : (
              <Table label="Past runs" rows={runs} keyOf={({id, ran_at}) => `${id} ${ran_at}`} columns={PAST} />
            )
          }
        </Loaded>
      </Section>
    </Page>
  );
}

function actionsFor(tenant: string) {
  return ({kind, id, due, origin}: Upcoming) => {
    const input = {tenant, params: {name: id}};
    if (kind === 'job')
      return origin === 'native' ? (
        <OperationButton
          operation="schedule.cancel"
          input={{tenant, params: {job_id: id}}}
          refresh={LISTS}
          done={`Cancelled ${id}`}
          kind="quiet"
        >
          Cancel
        </OperationButton>
      ) : null;
    return (
      <>
        <OperationButton operation="crons.run" input={input} refresh={LISTS} done={`Ran ${id}`} kind="quiet">
          Run now
        </OperationButton>
        <OperationButton
          operation="crons.patch"
          input={{...input, body: {enabled: due === null}}}
          refresh={LISTS}
          done={due === null ? `${id} runs again` : `${id} is off`}
          kind="quiet"
        >
          {due === null ? 'Turn on' : 'Turn off'}
        </OperationButton>
      </>
    );
  };
}

const UPCOMING: Column<Upcoming>[] = [
  {title: 'Name', cell: ({id, kind}) => (kind === 'cron' ? id : <code>{id}</code>)},
  {title: 'Work', grows: true, cell: work => <code>{workText(work)}</code>},
  {title: 'Schedule', cell: ({schedule}) => scheduleText(schedule)},
  {title: 'Next run', cell: ({due}) => (due === null ? <Badge>off</Badge> : <Time at={due} />)},
  {title: 'Last', cell: ({last_outcome, failures}) => <LastOutcome outcome={last_outcome} failures={failures} />},
];

const PAST: Column<Run>[] = [
  {title: 'When', cell: ({ran_at}) => <Time at={ran_at} />},
  {title: 'Name', cell: ({id, kind}) => (kind === 'cron' ? id : <code>{id}</code>)},
  {title: 'Work', grows: true, cell: work => <code>{workText(work)}</code>},
  {
    title: 'Outcome',
    cell: ({outcome, error}) => (
      <Badge tone={outcome === 'completed' ? 'good' : 'bad'} title={error ?? ''}>
        {outcome}
      </Badge>
    ),
  },
  {title: 'Error', grows: true, cell: ({error}) => <span title={error ?? ''}>{error}</span>},
];

function workText({type, table, function: path}: Work): string {
  return path ?? `${type} ${table}`;
}

function scheduleText(schedule: Upcoming['schedule']): string {
  if (schedule === null) return 'once';
  if (schedule.type === 'interval') return `every ${durationText(schedule.seconds * 1_000)}`;
  return `${schedule.expression}${schedule.time_zone === 'UTC' ? '' : ` ${schedule.time_zone}`}`;
}

function LastOutcome({outcome, failures}: {outcome: Upcoming['last_outcome']; failures: number}) {
  if (outcome === null) return '–';
  if (outcome === 'completed') return <Badge tone="good">completed</Badge>;
  return <Badge tone="bad">{failures > 1 ? `failed ${failures} times` : 'failed'}</Badge>;
}
