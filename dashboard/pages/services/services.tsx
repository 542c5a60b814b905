/** Code that runs for a tenant outside of calls: services, sandboxes and sessions. */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Page, Section, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {Time} from '../../parts/values.tsx';

type Service = AnswerOf<'services.list'>['services'][number];
type Sandbox = AnswerOf<'sandboxes.list'>['sandboxes'][number];
type Session = AnswerOf<'sessions.list'>['sessions'][number];

const TONES: Readonly<Record<string, Tone>> = {
  running: 'good',
  open: 'good',
  starting: 'accent',
  stopping: 'accent',
  backoff: 'warn',
  failed: 'bad',
};

function State({state}: {state: string}) {
  return <Badge tone={TONES[state] ?? 'neutral'}>{state}</Badge>;
}

export default function Services({tenant}: TenantPageProps) {
  const services = useOperation('services.list', {tenant}, {every: REFRESH_MS});
  const sandboxes = useOperation('sandboxes.list', {tenant}, {every: REFRESH_MS});
  const sessions = useOperation('sessions.list', {query: {tenant}}, {every: REFRESH_MS});
  return (
    <Page title="Services">
      <Section title="Services">
        <Loaded query={services}>
          {({services: all}) =>
            all.length === 0 ? (
              <Empty title="No services" icon="services">
                A service is code that runs for as long as it is wanted. <code>svc services apply</code> makes one from
                a file.
              </Empty>
            ) : (
              <Table label="Services" rows={all} keyOf={({name}) => name} columns={serviceColumns(tenant)} />
            )
          }
        </Loaded>
      </Section>
      <Section title="Sandboxes">
        <Loaded query={sandboxes}>
          {({sandboxes: all}) =>
            all.length === 0 ? (
              <Empty title="No sandboxes">The API makes one for code that the tenant does not trust.</Empty>
            ) : (
              <Table label="Sandboxes" rows={all} keyOf={({id}) => id} columns={sandboxColumns(tenant)} />
            )
          }
        </Loaded>
      </Section>
      <Section title="Sessions">
        <Loaded query={sessions}>
          {({sessions: all}) =>
            all.length === 0 ? (
              <Empty title="No sessions">A session is a caller's lease on a sandbox.</Empty>
            ) : (
              <Table label="Sessions" rows={all} keyOf={({id}) => id} columns={SESSIONS} />
            )
          }
        </Loaded>
      </Section>
    </Page>
  );
}

function serviceColumns(tenant: string): Column<Service>[] {
  return [
    {title: 'Name', cell: ({name}) => name},
    {title: 'State', cell: ({state}) => <State state={state} />},
    {
      title: 'Code',
      grows: true,
      cell: ({source}) => <code>{source.type === 'module' ? source.path : 'inline'}</code>,
    },
    {title: 'Started', cell: ({started_at: at}) => (at === null ? 'never' : <Time at={at} />)},
    {title: 'Restarts', align: 'end', cell: ({restarts}) => restarts},
    {
      title: 'Last exit',
      cell: ({last_exit: exit}) => (exit === null ? '–' : <span title={exit.message ?? ''}>{exit.reason}</span>),
    },
    {
      title: 'Actions',
      isTitleHidden: true,
      align: 'end',
      cell: ({name, desired_state: wanted}) => (
        <>
          <OperationButton
            operation={wanted === 'running' ? 'services.restart' : 'services.start'}
            input={{tenant, params: {service_name: name}}}
            refresh={['services.list']}
            done={`${name} starts`}
            kind="quiet"
          >
            {wanted === 'running' ? 'Restart' : 'Start'}
          </OperationButton>
          {wanted === 'running' ? (
            <OperationButton
              operation="services.stop"
              input={{tenant, params: {service_name: name}}}
              refresh={['services.list']}
              done={`${name} stops`}
              kind="quiet"
            >
              Stop
            </OperationButton>
          ) : null}
        </>
      ),
    },
  ];
}

function sandboxColumns(tenant: string): Column<Sandbox>[] {
  return [
    {title: 'Id', cell: ({id}) => <code>{id}</code>},
    {title: 'State', cell: ({state}) => <State state={state} />},
    {title: 'Runtime', grows: true, cell: ({runtime}) => runtime},
    {title: 'Created', cell: ({created_at: at}) => <Time at={at} />},
    {title: 'Ends', cell: ({expires_at, ended_at}) => <Time at={ended_at ?? expires_at} />},
    {
      title: 'Actions',
      isTitleHidden: true,
      align: 'end',
      cell: ({id, state}) =>
        state === 'running' ? (
          <OperationButton
            operation="sandboxes.stop"
            input={{tenant, params: {sandbox_id: id}}}
            refresh={['sandboxes.list']}
            done="Stopped the sandbox"
            kind="quiet"
          >
            Stop
          </OperationButton>
        ) : null,
    },
  ];
}

const SESSIONS: Column<Session>[] = [
  {title: 'Id', cell: ({id}) => <code>{id}</code>},
  {title: 'State', cell: ({state}) => <State state={state} />},
  {title: 'Sandbox', grows: true, cell: ({sandbox_id: id}) => <code>{id ?? '–'}</code>},
  {title: 'Last used', cell: ({last_used_at: at}) => <Time at={at} />},
  {
    title: 'Actions',
    isTitleHidden: true,
    align: 'end',
    cell: ({id, state}) =>
      state === 'open' ? (
        <OperationButton
          operation="sessions.close"
          input={{params: {session_id: id}}}
          refresh={['sessions.list', 'sandboxes.list']}
          done="Closed the session"
          kind="quiet"
        >
          Close
        </OperationButton>
      ) : null,
  },
];
