/** The audit log, newest first: who changed what, from where, and how it ended. */
import {useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {SearchField, Select} from '../../parts/field.tsx';
import {Page, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {Time} from '../../parts/values.tsx';

type Action = Extract<AnswerOf<'audit.page'>['records'][number], {kind: 'intent'}> & {
  status: number | null | undefined;
  code: string | null;
};
type Refusal = Extract<AnswerOf<'audit.refusals'>['records'][number], {kind: 'refused'}>;

/** Records of one page; an action has two. */
const RECORDS = 500;

export default function Audit() {
  const [list, setList] = useUrlState('list', 'actions');
  return (
    <Page title="Audit">
      {list === 'refused' ? <Refusals list={list} setList={setList} /> : <Actions list={list} setList={setList} />}
    </Page>
  );
}

type ListProps = {list: string; setList(list: string): void};

function Tools({list, setList, filter, setFilter}: ListProps & {filter: string; setFilter(filter: string): void}) {
  return (
    <Toolbar>
      <SearchField
        label="Filter"
        placeholder="Filter by operation, tenant, key, address or request"
        value={filter}
        onSearch={setFilter}
      />
      <Select
        label="List"
        isLabelHidden
        value={list}
        onChange={event => setList(event.target.value)}
        options={[
          ['actions', 'Actions'],
          ['refused', 'Refused requests'],
        ]}
      />
    </Toolbar>
  );
}

/** The page that ends at `before`, or at the newest record. Sequences have no gaps. */
function usePages() {
  const [before, setBefore] = useState<number | null>(null);
  return {before, setBefore};
}

function Actions(props: ListProps) {
  const {before, setBefore} = usePages();
  const [filter, setFilter] = useUrlState('filter');
  const latest = useOperation('audit.page', {query: {limit: 1}});
  const end = before ?? latest.data?.latest_sequence ?? 0;
  const floor = latest.data?.cursor_floor ?? 1;
  const page = useOperation(
    'audit.page',
    {query: {after: Math.max(0, end - RECORDS), limit: RECORDS}},
    {enabled: latest.data !== undefined, keep: true},
  );
  return (
    <>
      <Tools {...props} filter={filter} setFilter={setFilter} />
      <Loaded query={page}>
        {({records}) => {
          const actions = actionsOf(records).filter(action => JSON.stringify(action).includes(filter));
          return actions.length === 0 ? (
            <Empty title="No action here" icon="audit">
              Every change by an operator is recorded: tenants, keys, deployments, settings, imports.
            </Empty>
          ) : (
            <Table label="Actions" rows={actions} keyOf={({sequence}) => sequence} columns={ACTIONS} />
          );
        }}
      </Loaded>
      {end - RECORDS > floor ? <Button onClick={() => setBefore(end - RECORDS)}>Show older records</Button> : null}
      {before === null ? null : <Button onClick={() => setBefore(null)}>Show the newest</Button>}
    </>
  );
}

function actionsOf(records: AnswerOf<'audit.page'>['records']): Action[] {
  const outcomes = new Map(
    records.flatMap(record => (record.kind === 'outcome' ? [[record.of, record] as const] : [])),
  );
  return records
    .flatMap(record => {
      if (record.kind !== 'intent') return [];
      const outcome = outcomes.get(record.sequence);
      return [{...record, status: outcome?.status, code: outcome?.code ?? null}];
    })
    .reverse();
}

const ACTIONS: Column<Action>[] = [
  {title: 'When', cell: ({at}) => <Time at={at} />},
  {title: 'Operation', cell: ({operation}) => <code>{operation}</code>},
  {title: 'Tenant', cell: ({tenant}) => tenant ?? <span title="the server">–</span>},
  {title: 'What', grows: true, cell: ({subject}) => subjectText(subject)},
  {title: 'Credential', cell: ({key_name: name, key}) => <span title={key ?? 'an admin credential'}>{name}</span>},
  {title: 'Address', cell: ({address}) => address},
  {title: 'Outcome', cell: ({status, code}) => <Outcome status={status} code={code} />},
];

function subjectText(subject: Readonly<Record<string, string>>): string {
  return Object.entries(subject)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

function Outcome({status, code}: {status: number | null | undefined; code: string | null}) {
  if (status === undefined) return <Badge title="It has not ended, or its outcome is on a newer page">open</Badge>;
  if (status === null) return <Badge title="The client disconnected; it may have been carried out">unknown</Badge>;
  return (
    <Badge tone={status < 400 ? 'good' : 'bad'} title={code ?? ''}>
      {code ?? status}
    </Badge>
  );
}

function Refusals(props: ListProps) {
  const [filter, setFilter] = useUrlState('filter');
  const latest = useOperation('audit.refusals', {query: {limit: 1}});
  const after = Math.max(0, (latest.data?.latest_sequence ?? 0) - RECORDS);
  const page = useOperation('audit.refusals', {query: {after, limit: RECORDS}}, {enabled: latest.data !== undefined});
  return (
    <>
      <Tools {...props} filter={filter} setFilter={setFilter} />
      <Loaded query={page}>
        {({records}) => {
          const refused = records
            .filter((record): record is Refusal => record.kind === 'refused')
            .filter(record => JSON.stringify(record).includes(filter))
            .reverse();
          return refused.length === 0 ? (
            <Empty title="No request was refused" icon="audit">
              Requests with a wrong credential, or without the right to what they want, are recorded here.
            </Empty>
          ) : (
            <Table label="Refused requests" rows={refused} keyOf={({sequence}) => sequence} columns={REFUSALS} />
          );
        }}
      </Loaded>
    </>
  );
}

const REFUSALS: Column<Refusal>[] = [
  {title: 'When', cell: ({at}) => <Time at={at} />},
  {title: 'Operation', cell: ({operation}) => <code>{operation ?? '–'}</code>},
  {title: 'Tenant', cell: ({tenant}) => tenant ?? '–'},
  {title: 'Reason', grows: true, cell: ({code}) => code},
  {title: 'Credential', cell: ({key_name: name, shown}) => name ?? shown ?? 'none'},
  {title: 'Address', cell: ({address}) => address},
  {title: 'Times', align: 'end', cell: ({count}) => count},
];
