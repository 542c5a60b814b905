/** All metrics of the server, by a part of their names or labels. They are requested while something is searched. */
import {useQuery} from '@tanstack/react-query';
import {callRaw} from '../../api/client.ts';
import {REFRESH_MS} from '../../limits.ts';
import {SearchField} from '../../parts/field.tsx';
import {Section, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {countText} from '../../parts/values.tsx';
import {samplesIn} from './metrics-text.ts';

const ROWS = 200;

export function MetricSearch() {
  const [search, setSearch] = useUrlState('metric');
  return (
    <Section title="Metrics">
      <Toolbar>
        <SearchField
          label="Search metrics"
          placeholder="Search metrics, such as svc_commit"
          value={search}
          onSearch={setSearch}
        />
      </Toolbar>
      {search === '' ? null : <Found search={search} />}
    </Section>
  );
}

function Found({search}: {search: string}) {
  const metrics = useQuery({
    queryKey: ['metrics'],
    queryFn: async ({signal}) => samplesIn(await (await callRaw('metrics', {}, {signal})).text()),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={metrics}>
      {samples => {
        const found = samples.filter(({text}) => text.includes(search)).slice(0, ROWS);
        if (found.length === 0) return <Empty title="No metric has this in its name or labels" />;
        return (
          <Table
            label="Metrics"
            rows={found}
            keyOf={({text}) => text}
            columns={[
              {title: 'Metric', grows: true, cell: ({text}) => <code title={text}>{text}</code>},
              {title: 'Value', align: 'end', cell: ({value}) => countText(value)},
            ]}
          />
        );
      }}
    </Loaded>
  );
}
