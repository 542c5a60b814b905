/** The filter of a table: typed as text, or built from its fields. */
import {useEffect, useState} from 'react';
import type {FilterClause, FilterOperator, FilterTest} from '../../../shared/protocol/queries.ts';
import {Button} from '../../parts/button.tsx';
import {Field, Select} from '../../parts/field.tsx';
import css from './data.module.css';
import {cellValue} from './document-edit.ts';
import {filterText} from './filter-text.ts';
import {expectedType, type TableField} from './table-fields.ts';
import {parsed} from './table-state.ts';

const OPERATORS: readonly (readonly [FilterOperator, string])[] = [
  ['eq', 'is'],
  ['neq', 'is not'],
  ['gt', 'is more than'],
  ['gte', 'is at least'],
  ['lt', 'is less than'],
  ['lte', 'is at most'],
  ['prefix', 'starts with'],
  ['contains', 'contains'],
  ['exists', 'exists'],
];

export function FilterBar({
  text,
  filters,
  fields,
  onChange,
}: {
  text: string;
  filters: readonly FilterClause[];
  fields: readonly TableField[];
  onChange(text: string): void;
}) {
  const [typed, setTyped] = useState(text);
  const [isBuilding, setBuilding] = useState(false);
  useEffect(() => setTyped(text), [text]);
  const {fault} = parsed(typed);
  return (
    <>
      <form
        className={css.filter}
        onSubmit={event => {
          event.preventDefault();
          if (fault === null) onChange(typed.trim());
        }}
      >
        <Field
          label="Filter"
          isLabelHidden
          type="search"
          placeholder={`Filter: ${exampleOf(fields)}`}
          value={typed}
          fault={typed === '' || typed === text ? null : fault}
          onChange={event => {
            setTyped(event.target.value);
            if (event.target.value === '') onChange('');
          }}
        />
        <Button type="submit" disabled={fault !== null}>
          Apply
        </Button>
        <Button icon="plus" aria-expanded={isBuilding} onClick={() => setBuilding(!isBuilding)}>
          Condition
        </Button>
      </form>
      {isBuilding ? (
        <Builder
          fields={fields}
          onAdd={test => {
            onChange(filterText([...filters, test]));
            setBuilding(false);
          }}
        />
      ) : null}
    </>
  );
}

function exampleOf(fields: readonly TableField[]): string {
  const number = fields.find(field => expectedType(field) === 'number');
  const text = fields.find(field => expectedType(field) === 'string');
  const tests = [number && `${number.name} > 100`, text && `${text.name} = "open"`].filter(Boolean);
  return tests.length === 0 ? '_creationTime > "2026-01-01"' : tests.join(' and ');
}

function Builder({fields, onAdd}: {fields: readonly TableField[]; onAdd(test: FilterTest): void}) {
  const names = [...fields.map(({name}) => name), '_id', '_creationTime', '_updateTime'];
  const [field, setField] = useState(names[0]!);
  const [op, setOp] = useState<FilterOperator>('eq');
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const known = fields.find(({name}) => name === field);
  const add = () => {
    if (op === 'exists') return onAdd({field, op, value: true});
    if (op === 'prefix') return onAdd({field, op, value: text});
    const time = field.endsWith('Time') && field.startsWith('_') ? Date.parse(text) : Number.NaN;
    if (!Number.isNaN(time)) return onAdd({field, op, value: time});
    const type = op === 'contains' ? 'any' : known === undefined ? 'any' : expectedType(known);
    const {value, problem} = cellValue(text, type, '');
    if (value === undefined) return setFault(problem ?? 'a value is needed');
    onAdd({field, op, value});
  };
  return (
    <form
      className={css.builder}
      onSubmit={event => {
        event.preventDefault();
        add();
      }}
    >
      <Select
        label="Field"
        value={field}
        options={names.map(name => [name, name] as const)}
        onChange={event => setField(event.target.value)}
      />
      <Select
        label="Comparison"
        value={op}
        options={OPERATORS}
        onChange={event => setOp(event.target.value as FilterOperator)}
      />
      {op === 'exists' ? null : (
        <Field label="Value" autoFocus value={text} fault={fault} onChange={event => setText(event.target.value)} />
      )}
      <Button type="submit" kind="primary">
        Add
      </Button>
    </form>
  );
}
