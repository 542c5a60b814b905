/** The indexes of a table with their states, a form for another one, and why one failed. */
import {useState} from 'react';
import {Link} from 'wouter';
import type {StoredIndex, StoredTableSchema} from '../../../shared/protocol/schema.ts';
import {useOperation} from '../../api/queries.ts';
import {INDEX_BUILD_REFRESH_MS, REFRESH_MS} from '../../limits.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Check, Field} from '../../parts/field.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {pathOf, Section, Toolbar} from '../../parts/page.tsx';
import {Empty, Note} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {Time} from '../../parts/values.tsx';
import {declaredIndexes} from './declared-indexes.ts';

const TONES: Readonly<Record<StoredIndex['state'], Tone>> = {building: 'warn', enabled: 'good', failed: 'bad'};

type SectionProps = {
  tenant: string;
  table: string;
  schema: StoredTableSchema | null;
  /** Names of fields that the table has. */
  fields: readonly string[];
};

export function IndexesSection({tenant, table, schema, fields}: SectionProps) {
  const indexes = schema?.indexes ?? [];
  const isBuilding = indexes.some(({state}) => state === 'building');
  const figures = useOperation('schema.indexes', {tenant}, {every: isBuilding ? INDEX_BUILD_REFRESH_MS : REFRESH_MS});
  const figureOf = ({name}: StoredIndex) =>
    figures.data?.indexes.find(index => index.table === table && index.name === name);
  const failed = indexes.filter(({state}) => state === 'failed');
  const without = (index: StoredIndex) => declaredIndexes(schema).filter(({name}) => name !== index.name);
  return (
    <Section title="Indexes">
      {indexes.length === 0 ? (
        <Empty title="No indexes">Queries with filters or an order read the whole table until they have one.</Empty>
      ) : (
        <Table
          label="Indexes"
          rows={indexes}
          keyOf={({name}) => name}
          columns={[
            {title: 'Name', cell: ({name}) => <code>{name}</code>},
            {title: 'Fields', grows: true, cell: index => index.fields.join(', ')},
            {title: 'Unique', cell: ({unique}) => (unique ? 'unique' : '')},
            {title: 'State', cell: index => <State index={index} built={figureOf(index)?.built ?? null} />},
            {
              title: 'Last read',
              cell: index => (
                <LastRead
                  at={figureOf(index)?.last_read_at}
                  since={figures.data?.since}
                  isUnique={index.unique === true}
                />
              ),
            },
            {
              title: 'Actions',
              isTitleHidden: true,
              align: 'end',
              cell: index => (
                <OperationButton
                  operation="schema.put"
                  input={{
                    tenant,
                    params: {table},
                    body: {table, fields: schema?.fields ?? [], indexes: without(index)},
                  }}
                  refresh={['schema.all']}
                  done={`Dropped ${index.name}`}
                  kind="quiet"
                  question={{
                    title: `Drop the index ${index.name}`,
                    text: 'Queries that use it will read more documents. It can be built again at any time.',
                  }}
                >
                  Drop
                </OperationButton>
              ),
            },
          ]}
        />
      )}
      {failed.map(({name, failure}) => (
        <Note key={name} tone="bad">
          {name} is to be unique, but these documents have the same values:
          <ul>
            {(failure?.offenders ?? []).map(({id, same_as: other}) => (
              <li key={id}>
                <Link href={`${pathOf(tenant, 'data', table)}?document=${encodeURIComponent(id)}`}>{id}</Link> and{' '}
                <Link href={`${pathOf(tenant, 'data', table)}?document=${encodeURIComponent(other)}`}>{other}</Link>
              </li>
            ))}
          </ul>
        </Note>
      ))}
      <NewIndex tenant={tenant} table={table} schema={schema} fields={fields} />
    </Section>
  );
}

function State({index: {state}, built}: {index: StoredIndex; built: number | null}) {
  if (state !== 'building') return <Badge tone={TONES[state]}>{state}</Badge>;
  return (
    <>
      <Badge tone={TONES[state]}>{state}</Badge>{' '}
      <progress value={built ?? 0} aria-label="Part of the table that is in the index" />{' '}
      {built === null ? '' : `${Math.floor(built * 100)} %`}
    </>
  );
}

type LastReadProps = {at: number | null | undefined; since: number | undefined; isUnique: boolean};

/** Writes check a unique index, whether queries read it or not. */
function LastRead({at, since, isUnique}: LastReadProps) {
  if (at === undefined || since === undefined) return null;
  if (at !== null) return <Time at={at} />;
  return (
    <span title="Since the tenant’s worker started: drop it if it stays that way">
      {isUnique ? 'by no query since ' : 'not since '}
      <Time at={since} />
    </span>
  );
}

function NewIndex({tenant, table, schema, fields: known}: SectionProps) {
  const [text, setText] = useState('');
  const [isUnique, setUnique] = useState(false);
  const fields = text.split(',').flatMap(field => (field.trim() === '' ? [] : [field.trim()]));
  const names = new Set((schema?.indexes ?? []).map(({name}) => name));
  const plain = `by_${fields.join('_').replaceAll(/\W/g, '_')}`.slice(0, 60);
  const name = names.has(plain) ? `${plain}_${names.size}` : plain;
  return (
    <Toolbar>
      <Field
        label="Fields of a new index, in order"
        placeholder={known.slice(0, 2).join(', ')}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <Check label="Unique" checked={isUnique} onChange={event => setUnique(event.target.checked)} />
      <OperationButton
        operation="schema.put"
        input={{
          tenant,
          params: {table},
          body: {
            table,
            fields: schema?.fields ?? [],
            indexes: [...declaredIndexes(schema), {name, fields, ...(isUnique ? {unique: true} : {})}],
          },
        }}
        refresh={['schema.all']}
        done={`${name} is being built`}
        onDone={() => setText('')}
        icon="plus"
        disabled={fields.length === 0}
      >
        Add the index
      </OperationButton>
    </Toolbar>
  );
}
