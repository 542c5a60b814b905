/** The fields of a table: declared ones can be changed, found ones declared. A preview counts what would be refused. */
import {useQueries} from '@tanstack/react-query';
import {useState} from 'react';
import {Link} from 'wouter';
import {FIELD_TYPES, type FieldEntry, type FieldType, type StoredTableSchema} from '../../../shared/protocol/schema.ts';
import {call} from '../../api/client.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Check, Field, Select} from '../../parts/field.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {pathOf, Section, Toolbar} from '../../parts/page.tsx';
import {Empty} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {plural} from '../../parts/values.tsx';
import {filterText} from '../data/filter-text.ts';
import {expectedType, type TableField} from '../data/table-fields.ts';
import {declaredIndexes} from './declared-indexes.ts';
import {refusedFilters} from './refused.ts';

type Shown = {readonly field: TableField; readonly entry: FieldEntry | null};

export function FieldsSection({
  tenant,
  table,
  schema,
  found,
}: {
  tenant: string;
  table: string;
  schema: StoredTableSchema | null;
  found: readonly TableField[];
}) {
  const saved = schema?.fields ?? [];
  const [entries, setEntries] = useState<readonly FieldEntry[]>(saved);
  const [name, setName] = useState('');
  const isChanged = JSON.stringify(entries) !== JSON.stringify(saved);
  const refused = useRefused(tenant, table, entries, saved);
  const set = (field: string, change: Partial<FieldEntry>) =>
    setEntries(entries.map(entry => (entry.name === field ? {...entry, ...change} : entry)));
  const declare = (field: string, type: FieldType) =>
    setEntries([...entries, {name: field, field_type: type, required: false}]);
  const known = new Set(found.map(one => one.name));
  const added = entries.filter(entry => !known.has(entry.name));
  const rows: Shown[] = [
    ...found.map(field => ({field, entry: entries.find(entry => entry.name === field.name) ?? null})),
    ...added.map(entry => ({
      field: {name: entry.name, declared: entry.field_type, isRequired: entry.required, found: [], share: 0},
      entry,
    })),
  ];

  return (
    <Section
      title="Fields"
      actions={
        <>
          <Button disabled={!isChanged} onClick={() => setEntries(saved)}>
            Revert
          </Button>
          <OperationButton
            operation="schema.put"
            input={{tenant, params: {table}, body: {table, fields: [...entries], indexes: declaredIndexes(schema)}}}
            refresh={['schema.all']}
            done="The schema is set"
            kind="primary"
            disabled={!isChanged}
          >
            Save the schema
          </OperationButton>
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty title="No fields found">Insert a document, or declare a field below.</Empty>
      ) : (
        <Table
          label="Fields"
          rows={rows}
          keyOf={({field}) => field.name}
          columns={[
            {title: 'Field', cell: ({field}) => <code>{field.name}</code>},
            {
              title: 'Found',
              cell: ({field}) =>
                field.found.length === 0 ? '–' : `${field.found.join(', ')} in ${Math.round(field.share * 100)} %`,
            },
            {
              title: 'Declared type',
              cell: ({field, entry}) =>
                entry === null ? (
                  <Button kind="quiet" icon="plus" onClick={() => declare(field.name, expectedType(field))}>
                    Declare as {expectedType(field)}
                  </Button>
                ) : (
                  <Select
                    label={`Type of ${field.name}`}
                    isLabelHidden
                    value={entry.field_type}
                    options={FIELD_TYPES.map(type => [type, type] as const)}
                    onChange={event => set(field.name, {field_type: event.target.value as FieldType})}
                  />
                ),
            },
            {
              title: 'Required',
              cell: ({field, entry}) =>
                entry === null ? null : (
                  <Check
                    label="required"
                    aria-label={`${field.name} is required`}
                    checked={entry.required}
                    onChange={event => set(field.name, {required: event.target.checked})}
                  />
                ),
            },
            {
              title: 'Would be refused',
              grows: true,
              cell: ({field}) => {
                const one = refused.get(field.name);
                if (one === undefined) return null;
                if (one.count === undefined) return 'Counting…';
                if (one.count === 0) return <Badge tone="good">none</Badge>;
                const filter = encodeURIComponent(one.filter);
                return (
                  <Link href={`${pathOf(tenant, 'data', table)}?filter=${filter}`}>
                    {plural(one.count, 'document')}
                  </Link>
                );
              },
            },
            {
              title: 'Remove',
              isTitleHidden: true,
              align: 'end',
              cell: ({field, entry}) =>
                entry === null ? null : (
                  <Button
                    kind="quiet"
                    icon="close"
                    aria-label={`Do not declare ${field.name}`}
                    onClick={() => setEntries(entries.filter(other => other.name !== field.name))}
                  />
                ),
            },
          ]}
        />
      )}
      <form
        onSubmit={event => {
          event.preventDefault();
          if (name !== '' && !rows.some(({field}) => field.name === name)) declare(name, 'string');
          setName('');
        }}
      >
        <Toolbar>
          <Field
            label="Another field"
            isLabelHidden
            placeholder="Name of another field"
            value={name}
            onChange={event => setName(event.target.value)}
          />
          <Button type="submit" icon="plus" disabled={name === ''}>
            Declare
          </Button>
        </Toolbar>
      </form>
    </Section>
  );
}

/** How many documents each changed declaration would refuse; those that are saved refuse none. */
function useRefused(tenant: string, table: string, entries: readonly FieldEntry[], saved: readonly FieldEntry[]) {
  const isSaved = (entry: FieldEntry) => saved.some(other => JSON.stringify(other) === JSON.stringify(entry));
  const changed = entries.flatMap(entry => {
    const filters = isSaved(entry) ? null : refusedFilters(entry);
    return filters === null ? [] : [{name: entry.name, filters}];
  });
  const counts = useQueries({
    queries: changed.map(({filters}) => ({
      queryKey: ['query.count', {tenant}, table, filters],
      queryFn: async ({signal}: {signal: AbortSignal}) =>
        (await call('query.count', {tenant, body: {table, filters}}, {signal})).count,
    })),
  });
  return new Map(
    changed.map(({name, filters}, i) => [name, {count: counts[i]?.data, filter: filterText(filters)}] as const),
  );
}
