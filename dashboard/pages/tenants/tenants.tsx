/** The tenants that the session can use, with their states and figures, a page at a time. */
import {useDeferredValue, useState} from 'react';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Button} from '../../parts/button.tsx';
import {SearchField, Select} from '../../parts/field.tsx';
import {Page, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {stateText, TENANT_STATES} from '../../parts/tenant-state.tsx';
import {countText, plural} from '../../parts/values.tsx';
import {CreateTenant} from './create-tenant.tsx';
import {DeleteTenant} from './delete-tenant.tsx';
import {TENANT_COLUMNS} from './tenant-columns.tsx';
import {TenantMenu} from './tenant-menu.tsx';

/** Tenants of one page. */
const ROWS = 50;
const ORDERS = [
  ['id', 'By name'],
  ['requests', 'Most requests'],
  ['errors', 'Most errors'],
  ['p99', 'Slowest'],
  ['sockets', 'Most sockets'],
  ['last_active', 'Last active'],
] as const;

export default function Tenants() {
  const [search, setSearch] = useUrlState('search');
  const [state, setState] = useUrlState('state');
  const [order, setOrder] = useUrlState('order', 'id');
  /** Cursors of the pages before this one. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [isCreating, setCreating] = useState(false);
  const [deleted, setDeleted] = useState<string | null>(null);
  const may = useMay();

  const wanted = useDeferredValue(search);
  const query = {
    limit: ROWS,
    search: wanted,
    order: ORDERS.find(([known]) => known === order)?.[0] ?? 'id',
    ...optional(
      'state',
      TENANT_STATES.find(known => known === state),
    ),
    ...optional('cursor', cursors.at(-1)),
  };
  const overview = useOperation('tenants.overview', {query}, {every: REFRESH_MS, keep: true});
  const set = (change: (value: string) => void) => (value: string) => {
    setCursors([]);
    change(value);
  };
  const states = overview.data?.states ?? {};
  const isFiltered = search !== '' || state !== '';

  return (
    <Page
      title="Tenants"
      isWide
      actions={
        <Button kind="primary" icon="plus" disabled={!may('tenants.create')} onClick={() => setCreating(true)}>
          New tenant
        </Button>
      }
    >
      <Toolbar>
        <SearchField label="Search tenants" value={search} onSearch={set(setSearch)} />
        <Select
          label="State"
          isLabelHidden
          value={state}
          onChange={event => set(setState)(event.target.value)}
          options={[
            ['', 'All states'],
            ...TENANT_STATES.map(one => [one, `${stateText(one)} (${countText(states[one] ?? 0)})`] as const),
          ]}
        />
        <Select
          label="Order"
          isLabelHidden
          value={order}
          onChange={event => set(setOrder)(event.target.value)}
          options={ORDERS}
        />
      </Toolbar>
      <Loaded query={overview}>
        {({tenants, total, next_cursor: next}) =>
          tenants.length === 0 ? (
            <Empty title={isFiltered ? 'No tenant matches' : 'No tenants yet'} icon="tenants">
              {isFiltered ? (
                <Button
                  onClick={() => {
                    setSearch('');
                    setState('');
                  }}
                >
                  Show all
                </Button>
              ) : (
                'A tenant is a separate database with its own documents, functions and schedules. Create the first one.'
              )}
            </Empty>
          ) : (
            <>
              <Table
                label="Tenants"
                rows={tenants}
                keyOf={({id}) => id}
                columns={[
                  ...TENANT_COLUMNS,
                  {
                    title: 'Actions',
                    isTitleHidden: true,
                    align: 'end',
                    cell: tenant => <TenantMenu tenant={tenant} onDelete={() => setDeleted(tenant.id)} />,
                  },
                ]}
              />
              <Toolbar>
                <div>{plural(total, 'tenant')}</div>
                {cursors.length === 0 ? null : (
                  <Button onClick={() => setCursors(cursors.slice(0, -1))}>Previous page</Button>
                )}
                {next === null ? null : <Button onClick={() => setCursors([...cursors, next])}>Next page</Button>}
              </Toolbar>
            </>
          )
        }
      </Loaded>
      {deleted === null ? null : <DeleteTenant id={deleted} onClose={() => setDeleted(null)} />}
      {isCreating ? <CreateTenant onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}

/** A member that is left out where it has no value. */
function optional<Name extends string, Value>(name: Name, value: Value | undefined): {[name in Name]?: Value} {
  return value === undefined ? {} : ({[name]: value} as {[name in Name]: Value});
}
