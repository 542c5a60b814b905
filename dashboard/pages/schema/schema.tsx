/** The schema of a table: declared and found fields, what a change would refuse, indexes, and the table itself. */
import {useQuery} from '@tanstack/react-query';
import {Redirect, useLocation} from 'wouter';
import type {StoredTableSchema} from '../../../shared/protocol/schema.ts';
import {call} from '../../api/client.ts';
import {useOperation} from '../../api/queries.ts';
import {INDEX_BUILD_REFRESH_MS} from '../../limits.ts';
import {Select} from '../../parts/field.tsx';
import {Page, pathOf, type TenantPageProps, Toolbar} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {plural} from '../../parts/values.tsx';
import {SAMPLED_DOCUMENTS} from '../data/limits.ts';
import {BY_CREATION, type Doc} from '../data/row-order.ts';
import {type TableField, tableFields} from '../data/table-fields.ts';
import {FieldsSection} from './fields-section.tsx';
import {IndexesSection} from './indexes-section.tsx';
import {TableSection} from './table-section.tsx';

export default function Schema({tenant, rest}: TenantPageProps) {
  const [table] = rest;
  const tables = useOperation('tables.list', {tenant});
  const [, navigate] = useLocation();
  return (
    <Page title="Schema and indexes">
      <Loaded query={tables}>
        {({tables: all}) => {
          const [first] = all;
          if (first === undefined)
            return (
              <Empty title="No tables yet" icon="schema">
                A table begins with its first document. Insert one, or deploy a schema with <code>svc deploy</code>.
              </Empty>
            );
          if (table === undefined) return <Redirect to={pathOf(tenant, 'schema', first.name)} replace />;
          const names = [...new Set([...all.map(({name}) => name), table])];
          return (
            <>
              <Toolbar>
                <Select
                  label="Table"
                  value={table}
                  options={names.map(name => [name, name] as const)}
                  onChange={event => navigate(pathOf(tenant, 'schema', event.target.value))}
                />
              </Toolbar>
              <TableSchemaView key={table} tenant={tenant} table={table} />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function TableSchemaView({tenant, table}: {tenant: string; table: string}) {
  const schemas = useOperation('schema.all', {tenant}, {every: INDEX_BUILD_REFRESH_MS});
  const sample = useQuery({
    queryKey: ['query.run', {tenant}, 'sample', table],
    queryFn: async ({signal}) => {
      const order = {field: BY_CREATION, direction: 'desc'} as const;
      const body = {table, filters: [], order, limit: SAMPLED_DOCUMENTS};
      return (await call('query.run', {tenant, body}, {signal})).data as unknown as Doc[];
    },
  });
  return (
    <Loaded query={schemas}>
      {({tables}) => {
        const schema = tables[table] ?? null;
        const found: readonly TableField[] = tableFields(schema, sample.data ?? []);
        return (
          <>
            <FieldsSection
              // Another schema, as somewhere else saved, replaces what is edited here.
              key={declarationOf(schema)}
              tenant={tenant}
              table={table}
              schema={schema}
              found={found}
            />
            {sample.data === undefined ? null : (
              <p>Fields that are not declared were found in the newest {plural(sample.data.length, 'document')}.</p>
            )}
            <IndexesSection tenant={tenant} table={table} schema={schema} fields={found.map(({name}) => name)} />
            <TableSection tenant={tenant} table={table} hasSchema={schema !== null} />
          </>
        );
      }}
    </Loaded>
  );
}

/** Without the states of indexes, which change while they are built. */
function declarationOf(schema: StoredTableSchema | null): string {
  return JSON.stringify(schema?.fields ?? []);
}
