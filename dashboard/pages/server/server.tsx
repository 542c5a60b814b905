/** The server: its processes, sandbox layers and metrics. */
import {useQuery} from '@tanstack/react-query';
import {callRaw} from '../../api/client.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Field} from '../../parts/field.tsx';
import {Facts, Page, Section, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {bytesText, countText, durationText} from '../../parts/values.tsx';
import {type Metrics, metricsIn} from './metrics-text.ts';

/** Rows of the table of metrics. */
const ROWS = 200;

export default function Server() {
  const metrics = useQuery({
    queryKey: ['metrics'],
    queryFn: async ({signal}) => metricsIn(await (await callRaw('metrics', {}, {signal})).text()),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Page title="Server">
      <Loaded query={metrics}>
        {all => (
          <>
            <Warnings metrics={all} />
            <Overview metrics={all} />
            <Processes metrics={all} />
            <Layers metrics={all} />
            <AllMetrics metrics={all} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Warnings({metrics}: {metrics: Metrics}) {
  const damage = metrics.sum('svc_storage_damage_total');
  const kills = metrics.sum('svc_process_kills_total');
  const resting = metrics.sum('svc_workers', {state: 'resting'});
  return (
    <>
      {metrics.sum('svc_data_unwritable') === 0 ? null : (
        <Note tone="bad">
          The disk refused the last change of the list of tenants: changes are refused. Make room on the disk, or repair
          it; svc tries again by itself.
        </Note>
      )}
      {damage === 0 ? null : (
        <Note tone="bad">
          {`${countText(damage)} damaged rows were found in files of tenants. Run svc verify, and restore the tenants that it names.`}
        </Note>
      )}
      {kills === 0 ? null : (
        <Note tone="warn">
          {`${countText(kills)} processes were ended because they hung, used too much memory or violated the protocol. The server's log names them.`}
        </Note>
      )}
      {resting === 0 ? null : (
        <Note tone="warn">{`${countText(resting)} tenants crashed repeatedly and are started again later.`}</Note>
      )}
    </>
  );
}

function Overview({metrics}: {metrics: Metrics}) {
  const build = metrics.labels('svc_build_info');
  return (
    <Facts
      facts={[
        ['Version', build.version ?? '–'],
        ['Node', build.node ?? '–'],
        ['Tenants', countText(metrics.sum('svc_tenants'))],
        ['Awake', countText(metrics.sum('svc_workers', {state: 'awake'}))],
        ['Requests', countText(metrics.sum('svc_http_requests_total'))],
        ['Sockets', countText(metrics.sum('svc_socket_connections') + metrics.sum('svc_function_sockets'))],
        ['Memory', bytesText(metrics.sum('svc_process_resident_bytes'))],
        ['Files of awake tenants', bytesText(metrics.sum('svc_storage_file_bytes'))],
      ]}
    />
  );
}

function Processes({metrics}: {metrics: Metrics}) {
  const rows = metrics.of('svc_process_resident_bytes').filter(({value}) => value > 0);
  return (
    <Section title="Processes">
      <Table
        label="Processes"
        rows={rows}
        keyOf={({labels}) => labels.kind ?? ''}
        columns={[
          {title: 'Kind', grows: true, cell: ({labels}) => labels.kind},
          {title: 'Memory', align: 'end', cell: ({value}) => bytesText(value)},
          {
            title: 'CPU time',
            align: 'end',
            cell: ({labels: {kind = ''}}) => durationText(metrics.sum('svc_process_cpu_seconds_total', {kind}) * 1_000),
          },
        ]}
      />
    </Section>
  );
}

function Layers({metrics}: {metrics: Metrics}) {
  return (
    <Section title="Sandbox layers">
      <Table
        label="Sandbox layers"
        rows={metrics.of('svc_wall')}
        keyOf={({labels}) => labels.wall ?? ''}
        columns={[
          {title: 'Layer', grows: true, cell: ({labels}) => labels.wall},
          {
            title: 'State',
            cell: ({value}) =>
              value === 1 ? (
                <Badge tone="good">active</Badge>
              ) : (
                <Badge tone="warn" title="The server's log says why this machine does not provide it">
                  missing
                </Badge>
              ),
          },
        ]}
      />
    </Section>
  );
}

function AllMetrics({metrics}: {metrics: Metrics}) {
  const [search, setSearch] = useUrlState('metric');
  const found = metrics.samples.filter(({text}) => text.includes(search)).slice(0, ROWS);
  return (
    <Section title="Metrics">
      <Toolbar>
        <Field
          label="Search metrics"
          isLabelHidden
          type="search"
          placeholder="Search metrics, such as svc_commit"
          value={search}
          onChange={event => setSearch(event.target.value)}
        />
      </Toolbar>
      {search === '' ? null : found.length === 0 ? (
        <Empty title="No metric has this in its name or labels" />
      ) : (
        <Table
          label="Metrics"
          rows={found}
          keyOf={({text}) => text}
          columns={[
            {title: 'Metric', grows: true, cell: ({text}) => <code title={text}>{text}</code>},
            {title: 'Value', align: 'end', cell: ({value}) => countText(value)},
          ]}
        />
      )}
    </Section>
  );
}
