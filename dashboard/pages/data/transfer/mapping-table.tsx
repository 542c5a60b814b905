/** The columns of a file with the fields that they become, and the first rows with what is wrong with them. */
import {FIELD_TYPES, type FieldType, type StoredTableSchema} from '../../../../shared/protocol/schema.ts';
import {Field, Select} from '../../../parts/field.tsx';
import {Note} from '../../../parts/states.tsx';
import {plural} from '../../../parts/values.tsx';
import type {FileRow} from './file-rows.ts';
import {type ColumnMapping, mappedRow} from './import-mapping.ts';
import css from './transfer.module.css';

const BAD_ROWS_SHOWN = 5;

export function MappingTable({
  rows,
  mapping,
  schema,
  onMapping,
}: {
  rows: readonly FileRow[];
  mapping: readonly ColumnMapping[];
  schema: StoredTableSchema | null;
  onMapping(mapping: readonly ColumnMapping[]): void;
}) {
  const bad = rows.map(row => mappedRow(row, mapping, schema)).filter(({problems}) => problems.length > 0);
  const set = (at: number, change: Partial<ColumnMapping>) =>
    onMapping(mapping.map((one, i) => (i === at ? {...one, ...change} : one)));
  return (
    <>
      <div className={css.frame}>
        <table className={css.mapping}>
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">First value</th>
              <th scope="col">Field</th>
              <th scope="col">Type</th>
            </tr>
          </thead>
          <tbody>
            {mapping.map(({column, field, type}, i) => (
              <tr key={column}>
                <th scope="row">{column}</th>
                <td className={css.sample}>{sampleOf(rows, column)}</td>
                <td>
                  <Field
                    label={`Field for ${column}`}
                    isLabelHidden
                    placeholder="left out"
                    value={field ?? ''}
                    onChange={event => set(i, {field: event.target.value === '' ? null : event.target.value})}
                  />
                </td>
                <td>
                  <Select
                    label={`Type of ${column}`}
                    isLabelHidden
                    value={type}
                    options={FIELD_TYPES.map(name => [name, name] as const)}
                    onChange={event => set(i, {type: event.target.value as FieldType})}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {bad.length === 0 ? (
        <Note tone="good">The first {plural(rows.length, 'row')} can be imported.</Note>
      ) : (
        <Note tone="warn">
          {bad.length} of the first {plural(rows.length, 'row')} will be left out:
          <ul>
            {bad.slice(0, BAD_ROWS_SHOWN).map(({line, problems}) => (
              <li key={line}>
                Line {line}: {problems.join('; ')}
              </li>
            ))}
          </ul>
        </Note>
      )}
    </>
  );
}

function sampleOf(rows: readonly FileRow[], column: string): string {
  const value = rows.find(({values}) => values[column] !== undefined && values[column] !== '')?.values[column];
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}
