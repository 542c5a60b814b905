/** All tenants of the server that the session can use. */
import {useState} from 'react';
import {Link} from 'wouter';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Button} from '../../parts/button.tsx';
import {Field} from '../../parts/field.tsx';
import {Menu} from '../../parts/menu.tsx';
import {Page, pathOf, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {CreateTenant} from './create-tenant.tsx';
import {DeleteTenant} from './delete-tenant.tsx';

export default function Tenants() {
  const tenants = useOperation('tenants.list', {}, {every: REFRESH_MS});
  const [search, setSearch] = useUrlState('search');
  const [isCreating, setCreating] = useState(false);
  const [deleted, setDeleted] = useState<string | null>(null);
  const may = useMay();
  const columns: Column<string>[] = [
    {title: 'Tenant', grows: true, cell: id => <Link href={pathOf(id, 'overview')}>{id}</Link>},
    {
      title: 'Actions',
      isTitleHidden: true,
      align: 'end',
      cell: id => (
        <Menu
          label={`Actions of ${id}`}
          items={[{label: 'Delete', isDanger: true, disabled: !may('tenants.delete'), onSelect: () => setDeleted(id)}]}
        />
      ),
    },
  ];
  const create = (
    <Button kind="primary" icon="plus" disabled={!may('tenants.create')} onClick={() => setCreating(true)}>
      New tenant
    </Button>
  );

  return (
    <Page title="Tenants" actions={create}>
      <Loaded query={tenants}>
        {({tenants: all}) => {
          if (all.length === 0)
            return (
              <Empty title="No tenants yet" icon="tenants">
                A tenant is a separate database with its own documents, functions and schedules. Create the first one.
              </Empty>
            );
          const found = all.filter(id => id.toLowerCase().includes(search.toLowerCase()));
          return (
            <>
              <Toolbar>
                <Field
                  label="Search tenants"
                  isLabelHidden
                  type="search"
                  placeholder="Search tenants"
                  value={search}
                  onChange={event => setSearch(event.target.value)}
                />
              </Toolbar>
              {found.length === 0 ? (
                <Empty title={`No tenant has ${search} in its name`} icon="search">
                  <Button onClick={() => setSearch('')}>Show all</Button>
                </Empty>
              ) : (
                <Table label="Tenants" columns={columns} rows={found} keyOf={id => id} />
              )}
            </>
          );
        }}
      </Loaded>
      {deleted === null ? null : <DeleteTenant id={deleted} onClose={() => setDeleted(null)} />}
      {isCreating ? <CreateTenant onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}
