/** The documents of a tenant: its tables, and the rows of one of them. */

import {useState} from 'react';
import {Link, Redirect, useLocation} from 'wouter';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Button} from '../../parts/button.tsx';
import {Select} from '../../parts/field.tsx';
import {pathOf, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {countText} from '../../parts/values.tsx';
import {Browser} from './browser.tsx';
import css from './data.module.css';
import {ImportDialog} from './transfer/import-dialog.tsx';

export default function Data({tenant, rest}: TenantPageProps) {
  const tables = useOperation('tables.list', {tenant}, {every: REFRESH_MS});
  const [table] = rest;
  return (
    <Loaded query={tables}>
      {({tables: all}) => {
        const [first] = all;
        if (table === undefined && first !== undefined)
          return <Redirect to={pathOf(tenant, 'data', first.name)} replace />;
        return (
          <div className={css.data}>
            <Tables tenant={tenant} tables={all} current={table ?? ''} />
            {table === undefined ? (
              <Empty title="No documents yet" icon="data">
                A table begins with its first document. Insert one with the API, a client, or <code>svc import</code>.
                <ImportButton tenant={tenant} />
              </Empty>
            ) : (
              <Browser key={table} tenant={tenant} table={table} tables={all} />
            )}
          </div>
        );
      }}
    </Loaded>
  );
}

function ImportButton({tenant}: {tenant: string}) {
  const [isOpen, setOpen] = useState(false);
  const may = useMay();
  return (
    <>
      <Button disabled={!may('imports.run')} onClick={() => setOpen(true)}>
        Import a file
      </Button>
      {isOpen ? <ImportDialog tenant={tenant} table="" schemas={{}} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

type ListedTable = {readonly name: string; readonly documents: number};

function Tables({tenant, tables, current}: {tenant: string; tables: readonly ListedTable[]; current: string}) {
  const [, navigate] = useLocation();
  if (tables.length === 0) return null;
  return (
    <nav className={css.tables} aria-label="Tables">
      <ul>
        {tables.map(({name, documents}) => (
          <li key={name}>
            <Link
              href={pathOf(tenant, 'data', name)}
              className={css.table}
              aria-current={name === current ? 'page' : undefined}
            >
              <span className={css.tableName}>{name}</span>
              <span className={css.count}>{countText(documents)}</span>
            </Link>
          </li>
        ))}
      </ul>
      <div className={css.tableSelect}>
        <Select
          label="Table"
          isLabelHidden
          value={current}
          options={tables.map(({name, documents}) => [name, `${name} (${countText(documents)})`] as const)}
          onChange={event => navigate(pathOf(tenant, 'data', event.target.value))}
        />
      </div>
    </nav>
  );
}
