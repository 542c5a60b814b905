/** The server: warnings, memory, disk, processes, routers, sandbox layers, settings and metrics. */
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Facts, Page, pathOf, Section} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {Bytes, bytesText, countText, durationText, Time} from '../../parts/values.tsx';
import {MetricSearch} from './metric-search.tsx';
import css from './server.module.css';

type Status = AnswerOf<'server.status'>;

export default function Server() {
  const status = useOperation('server.status', {}, {every: REFRESH_MS});
  return (
    <Page title="Server">
      <Loaded query={status}>
        {shown => (
          <>
            <Warnings {...shown} />
            <Overview {...shown} />
            <Processes {...shown} />
            <div className={css.half}>
              <Routers {...shown} />
              <Disk {...shown} />
            </div>
            <Layers {...shown} />
            <MetricSearch />
            <Settings {...shown} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Warnings({warnings}: Status) {
  return warnings.map(({level, text, to_do}) => (
    <Note key={text} tone={level === 'problem' ? 'bad' : 'warn'}>
      {text} <em>{to_do}</em>
    </Note>
  ));
}

function Overview({version, build, started_at, host, disk, tenants}: Status) {
  const {awake = 0} = tenants.states;
  return (
    <Facts
      facts={[
        ['Version', `${version} (${build})`],
        ['Started', <Time key="started" at={started_at} />],
        ['Cores', `${countText(host.cores)}, load ${countText(Math.round(host.load * 100) / 100)}`],
        ['Memory available', `${bytesText(host.memory_available_bytes)} of ${bytesText(host.memory_bytes)}`],
        [
          'Disk free',
          disk.free_bytes === null ? '–' : `${bytesText(disk.free_bytes)} of ${bytesText(disk.bytes ?? 0)}`,
        ],
        ['Tenants awake', `${countText(awake)} of ${countText(tenants.total)}`],
      ]}
    />
  );
}

function Processes({processes}: Status) {
  return (
    <Section title="Processes">
      <Table
        label="Processes"
        rows={processes}
        keyOf={({kind}) => kind}
        columns={[
          {title: 'Kind', grows: true, cell: ({kind}) => kind},
          {title: 'Count', align: 'end', cell: ({count}) => countText(count)},
          {title: 'Private memory', align: 'end', cell: ({private_bytes}) => <Bytes value={private_bytes} />},
          {title: 'Resident', align: 'end', cell: ({resident_bytes}) => <Bytes value={resident_bytes} />},
          {title: 'CPU', align: 'end', cell: ({cpu}) => `${countText(Math.round(cpu * 1_000) / 10)} %`},
          {title: 'CPU time', align: 'end', cell: ({cpu_seconds}) => durationText(cpu_seconds * 1_000)},
        ]}
      />
    </Section>
  );
}

function Routers({routers}: Status) {
  return (
    <Section title="Routers">
      <Table
        label="Routers"
        rows={routers}
        keyOf={({router}) => router}
        columns={[
          {
            title: 'Router',
            cell: ({router, is_answering}) =>
              is_answering ? router : <Badge tone="bad">{`${router} is silent`}</Badge>,
          },
          {title: 'Requests', align: 'end', cell: ({requests}) => countText(requests)},
          {title: 'In flight', align: 'end', cell: ({requests_in_flight: requests}) => countText(requests)},
          {
            title: 'Sockets',
            align: 'end',
            cell: ({sockets, function_sockets}) => countText(sockets + function_sockets),
          },
          {title: 'Longest delay', align: 'end', cell: ({event_loop_delay_ms: ms}) => durationText(ms)},
        ]}
      />
    </Section>
  );
}

function Disk({disk}: Status) {
  return (
    <Section title={`Largest tenants of ${bytesText(disk.tenants_bytes)}`}>
      {disk.tenants.length === 0 ? (
        <Empty title="No tenants yet" />
      ) : (
        <Table
          label="Largest tenants"
          rows={disk.tenants}
          keyOf={({id}) => id}
          columns={[
            {title: 'Tenant', grows: true, cell: ({id}) => <Link href={pathOf(id, 'overview')}>{id}</Link>},
            {title: 'Files', align: 'end', cell: ({bytes}) => <Bytes value={bytes} />},
          ]}
        />
      )}
    </Section>
  );
}

function Layers({sandbox_layers: layers}: Status) {
  return (
    <Section title="Sandbox layers">
      <Table
        label="Sandbox layers"
        rows={layers}
        keyOf={({name}) => name}
        columns={[
          {title: 'Layer', cell: ({name}) => name},
          {
            title: 'State',
            cell: ({is_active, is_required}) =>
              is_active ? (
                <Badge tone="good">active</Badge>
              ) : (
                <Badge tone={is_required ? 'warn' : 'neutral'}>missing</Badge>
              ),
          },
          {
            title: 'Effect, and how to get it',
            grows: true,
            cell: ({effect, missing, to_do}) => (
              <span className={css.text}>
                {`${effect.slice(0, 1).toUpperCase()}${effect.slice(1)}.`}
                {missing === null ? null : <span className={css.muted}>{` Missing: ${missing}. ${to_do}`}</span>}
              </span>
            ),
          },
        ]}
      />
    </Section>
  );
}

function Settings({settings}: Status) {
  return (
    <Section title="Settings of svc start">
      <Table
        label="Settings"
        rows={Object.entries(settings)}
        keyOf={([name]) => name}
        columns={[
          {title: 'Setting', cell: ([name]) => name},
          {
            title: 'Value',
            grows: true,
            cell: ([, value]) => <code className={css.text}>{value === null ? 'none' : settingText(value)}</code>,
          },
        ]}
      />
    </Section>
  );
}

function settingText(value: object | string | number | boolean): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
