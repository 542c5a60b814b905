/** A tenant at a glance: what it holds, and what needs attention. */
import {useOperation} from '../../api/queries.ts';
import {Facts, Page, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {countText} from '../../parts/values.tsx';

export default function Overview({tenant}: TenantPageProps) {
  const tables = useOperation('tables.list', {tenant});
  return (
    <Page title={tenant}>
      <Loaded query={tables}>
        {({tables: all}) => (
          <>
            <Facts
              facts={[
                ['Tables', countText(all.length)],
                ['Documents', countText(all.reduce((sum, table) => sum + table.documents, 0))],
              ]}
            />
            {all.length === 0 ? (
              <Empty title="No documents yet" icon="data">
                Insert one with the API, a client or <code>svc import</code>: a table begins with its first document.
              </Empty>
            ) : (
              <Table
                label="Tables"
                rows={all}
                keyOf={({name}) => name}
                columns={[
                  {title: 'Table', grows: true, cell: ({name}) => name},
                  {title: 'Documents', align: 'end', cell: ({documents}) => countText(documents)},
                ]}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
