/** A tenant at a glance: its state and figures, what needs attention, and what it holds. */
import {Link} from 'wouter';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {CRASH_WARNING_MS, REFRESH_MS} from '../../limits.ts';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Facts, Page, pathOf, Section, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {TenantState, type TenantStatus} from '../../parts/tenant-state.tsx';
import {Bytes, countText, durationText, Time} from '../../parts/values.tsx';
import {Traffic} from './figures.tsx';

const CAUSES: Readonly<Record<TenantStatus['wakes'][number]['cause'], string>> = {
  request: 'A request',
  due: 'A job or a cron was due',
  start: 'The server started',
  crash: 'Its worker ended unexpectedly',
  code: 'It needed a worker that runs code',
  operator: 'An operator woke it',
};

export default function Overview({tenant}: TenantPageProps) {
  const status = useOperation('tenants.status', {tenant}, {every: REFRESH_MS});
  const may = useMay();
  return (
    <Page title={tenant}>
      <Loaded query={status}>
        {({tenant: found}) => (
          <>
            <Warnings status={found} />
            <Facts facts={factsOf(found)} />
            {may('figures.tenant') ? <Traffic tenant={tenant} /> : null}
            {found.state === 'asleep' ? <Asleep tenant={tenant} /> : null}
            {may('tables.list') && found.state === 'awake' ? <Tables tenant={tenant} /> : null}
            <Wakes wakes={found.wakes} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Warnings({status: {id, state, error, error_rate, wakes}}: {status: TenantStatus}) {
  const may = useMay();
  const crons = useOperation('crons.list', {tenant: id}, {enabled: may('crons.list') && state === 'awake'});
  const failing = crons.data?.crons.filter(({failures}) => failures > 0) ?? [];
  const indexes = useOperation('schema.indexes', {tenant: id}, {enabled: may('schema.indexes') && state === 'awake'});
  const failed = indexes.data?.indexes.filter(index => index.state === 'failed') ?? [];
  const crashes = wakes.filter(({cause, at}) => cause === 'crash' && at > Date.now() - CRASH_WARNING_MS).length;
  return (
    <>
      {state === 'paused' ? (
        <Note tone="warn">
          This tenant is paused: its requests are refused.{' '}
          <OperationButton
            operation="tenants.resume"
            input={{tenant: id}}
            refresh={['tenants.status', 'tenants.overview']}
            done={`${id} is resumed`}
          >
            Resume
          </OperationButton>
        </Note>
      ) : null}
      {error === null ? null : (
        <Note tone="bad">
          {error.message} (<code>{error.code}</code>).{' '}
          {state === 'damaged'
            ? 'Run svc verify, then restore the tenant from a copy.'
            : "The next attempt comes by itself; the server's log has the reason."}
        </Note>
      )}
      {error_rate > 0 ? (
        <Note tone="bad">
          {`${(error_rate * 100).toFixed(1)} % of the requests of the last minute failed at the server. `}
          <Link href={`${pathOf(id, 'logs')}?outcome=error`}>Look at the errors</Link>
        </Note>
      ) : null}
      {crashes === 0 ? null : (
        <Note tone="bad">
          {`Its worker ended unexpectedly ${crashes === 1 ? 'once' : `${crashes} times`} in the last hour. `}
          The server's log has the reason. <Link href={`${pathOf(id, 'logs')}?outcome=error`}>Look at the errors</Link>
        </Note>
      )}
      {failed.length === 0 ? null : (
        <Note tone="warn">
          {`Unique indexes that could not be built: ${failed.map(({table, name}) => `${table}.${name}`).join(', ')}. `}
          <Link href={pathOf(id, 'schema', failed[0]!.table)}>Look at the documents with equal values</Link>
        </Note>
      )}
      {failing.length === 0 ? null : (
        <Note tone="warn">
          {`Failing crons: ${failing.map(({name}) => name).join(', ')}. `}
          <Link href={pathOf(id, 'schedules')}>Look at their errors</Link>
        </Note>
      )}
    </>
  );
}

function factsOf(status: TenantStatus) {
  const milliseconds = (ms: number | null) => (ms === null ? '–' : durationText(ms));
  return [
    ['State', <TenantState key="state" state={status.state} />],
    ['Documents', status.documents === null ? '–' : countText(status.documents)],
    ['Disk', <Bytes key="disk" value={status.disk_bytes} />],
    ['Requests/s', countText(Math.round(status.requests_per_second * 10) / 10)],
    ['p50 of the last minute', milliseconds(status.p50_ms)],
    ['p99 of the last minute', milliseconds(status.p99_ms)],
    ['Sockets', countText(status.sockets)],
    ['Created', <Time key="created" at={status.created_at} />],
  ] as const;
}

/** Looking at a tenant does not wake it. */
function Asleep({tenant}: {tenant: string}) {
  return (
    <Empty title="This tenant is asleep" icon="overview">
      <p>It has no process until the next request or scheduled run. Wake it to see its tables.</p>
      <OperationButton
        operation="tenants.wake"
        input={{tenant}}
        refresh={['tenants.status', 'tenants.overview']}
        done={`${tenant} is awake`}
        kind="primary"
      >
        Wake
      </OperationButton>
    </Empty>
  );
}

function Tables({tenant}: {tenant: string}) {
  const tables = useOperation('tables.list', {tenant});
  return (
    <Section title="Tables">
      <Loaded query={tables}>
        {({tables: all}) =>
          all.length === 0 ? (
            <Empty title="No documents yet" icon="data">
              Insert one with the API, a client or <code>svc import</code>: a table begins with its first document.
            </Empty>
          ) : (
            <Table
              label="Tables"
              rows={all}
              keyOf={({name}) => name}
              columns={[
                {
                  title: 'Table',
                  grows: true,
                  cell: ({name}) => <Link href={pathOf(tenant, 'data', name)}>{name}</Link>,
                },
                {title: 'Documents', align: 'end', cell: ({documents}) => countText(documents)},
              ]}
            />
          )
        }
      </Loaded>
    </Section>
  );
}

function Wakes({wakes}: {wakes: TenantStatus['wakes']}) {
  if (wakes.length === 0) return null;
  return (
    <Section title="Last wakes">
      <Table
        label="Last wakes"
        rows={wakes}
        keyOf={({at}) => at}
        columns={[
          {title: 'When', cell: ({at}) => <Time at={at} />},
          {title: 'Cause', grows: true, cell: ({cause}) => CAUSES[cause]},
          {title: 'Took', align: 'end', cell: ({ms}) => durationText(ms)},
        ]}
      />
    </Section>
  );
}
