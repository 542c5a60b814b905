/** Renames and drops a table. */
import {useState} from 'react';
import {useLocation} from 'wouter';
import {Field} from '../../parts/field.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {pathOf, Section, Toolbar} from '../../parts/page.tsx';

export function TableSection({tenant, table, hasSchema}: {tenant: string; table: string; hasSchema: boolean}) {
  const [to, setTo] = useState(table);
  const [, navigate] = useLocation();
  return (
    <Section title="Table">
      <Toolbar>
        <Field
          label="Name"
          value={to}
          hint="Documents keep their ids. Code, keys and clients that name the table have to be changed by you."
          onChange={event => setTo(event.target.value)}
        />
        <OperationButton
          operation="tables.rename"
          input={{tenant, params: {table}, body: {to}}}
          refresh={['tables.list', 'schema.all']}
          done={`${table} is now ${to}`}
          onDone={() => navigate(pathOf(tenant, 'schema', to))}
          disabled={to === '' || to === table}
        >
          Rename
        </OperationButton>
        {hasSchema ? (
          <OperationButton
            operation="schema.delete"
            input={{tenant, params: {table}}}
            refresh={['schema.all']}
            done={`${table} has no schema any more`}
            question={{
              title: `Delete the schema of ${table}`,
              text: 'Its indexes are dropped, and documents are no longer checked. Documents stay.',
              name: table,
            }}
          >
            Delete the schema
          </OperationButton>
        ) : null}
        <OperationButton
          operation="tables.drop"
          input={{tenant, params: {table}}}
          refresh={['tables.list', 'schema.all']}
          done={`${table} is being dropped`}
          onDone={() => navigate(pathOf(tenant, 'data'))}
          kind="danger"
          question={{
            title: `Drop ${table}`,
            text: 'Deletes all its documents, its schema and its indexes. This cannot be undone.',
            name: table,
          }}
        >
          Drop the table
        </OperationButton>
      </Toolbar>
    </Section>
  );
}
