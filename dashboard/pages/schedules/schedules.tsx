/** Crons, upcoming jobs and past runs of a tenant. */
import {useState} from 'react';
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Page, pathOf, Section, type TenantPageProps} from '../../parts/page.tsx';
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
                columns={upcomingColumns(tenant)}
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
              <Table
                label="Past runs"
                rows={runs}
                keyOf={({id, ran_at}) => `${id} ${ran_at}`}
                columns={pastColumns(tenant)}
              />
            )
          }
        </Loaded>
      </Section>
    </Page>
  );
}

function actionsFor(tenant: string) {
  return ({kind, id, due}: Upcoming) => {
    const input = {tenant, params: {name: id}};
    if (kind === 'job')
      return (
        <OperationButton
          operation="schedule.cancel"
          input={{tenant, params: {job_id: id}}}
          refresh={LISTS}
          done={`Cancelled ${id}`}
          kind="quiet"
        >
          Cancel
        </OperationButton>
      );
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

function upcomingColumns(tenant: string): Column<Upcoming>[] {
  return [
    {title: 'Name', cell: ({id, kind}) => (kind === 'cron' ? id : <code>{id}</code>)},
    {title: 'Work', grows: true, cell: work => <WorkLink tenant={tenant} work={work} />},
    {title: 'Schedule', cell: ({schedule}) => scheduleText(schedule)},
    {title: 'Next run', cell: work => <NextRun tenant={tenant} work={work} />},
    {title: 'Last', cell: ({last_outcome, failures}) => <LastOutcome outcome={last_outcome} failures={failures} />},
    {title: 'Actions', isTitleHidden: true, align: 'end', cell: actionsFor(tenant)},
  ];
}

function pastColumns(tenant: string): Column<Run>[] {
  return [
    {title: 'When', cell: ({ran_at}) => <Time at={ran_at} />},
    {title: 'Name', cell: ({id, kind}) => (kind === 'cron' ? id : <code>{id}</code>)},
    {title: 'Work', grows: true, cell: work => <WorkLink tenant={tenant} work={work} />},
    {
      title: 'Outcome',
      cell: ({outcome, error}) => (
        <Badge tone={outcome === 'completed' ? 'good' : 'bad'} title={error ?? ''}>
          {outcome}
        </Badge>
      ),
    },
    {title: 'Error', grows: true, cell: ({error}) => <span title={error ?? ''}>{error}</span>},
    {
      title: 'Actions',
      isTitleHidden: true,
      align: 'end',
      cell: ({kind, id, outcome, origin}) => (
        <>
          {kind === 'job' && outcome === 'failed' ? (
            <OperationButton
              operation="schedule.retry"
              input={{tenant, params: {job_id: id}}}
              refresh={LISTS}
              done="Scheduled again, as a new job"
              kind="quiet"
            >
              Retry
            </OperationButton>
          ) : null}
          <Link
            href={`${pathOf(tenant, origin === 'function' ? 'logs' : 'journal')}?request=${encodeURIComponent(id)}`}
          >
            {origin === 'function' ? 'Log' : 'Journal'}
          </Link>
        </>
      ),
    },
  ];
}

/** Leads to the function, or to the table that is written. */
function WorkLink({tenant, work}: {tenant: string; work: Work}) {
  const {function: path, table} = work;
  const href = path === null ? pathOf(tenant, 'data', table ?? '') : pathOf(tenant, 'functions', path);
  return (
    <Link href={href}>
      <code>{workText(work)}</code>
    </Link>
  );
}

function NextRun({tenant, work: {kind, id, due}}: {tenant: string; work: Upcoming}) {
  const [isOpen, setOpen] = useState(false);
  if (due === null) return <Badge>off</Badge>;
  if (kind === 'job') return <Time at={due} />;
  return (
    <details onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <Time at={due} />
      </summary>
      {isOpen ? <NextRuns tenant={tenant} name={id} /> : null}
    </details>
  );
}

function NextRuns({tenant, name}: {tenant: string; name: string}) {
  const next = useOperation('crons.next', {tenant, params: {name}}, {every: REFRESH_MS});
  return (
    <Loaded query={next}>
      {({times}) => (
        <ol>
          {times.map(time => (
            <li key={time}>
              <Time at={time} form="full" />
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}

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
