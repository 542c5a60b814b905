/** Edits of a document: values of cells, checks, patches, their undo and conflicts. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {
  cellText,
  cellValue,
  checkDocument,
  differences,
  type Fields,
  isSame,
  onTop,
  parseDocument,
  patchOf,
} from '../../../dashboard/pages/data/document-edit.ts';
import {planShown} from '../../../dashboard/pages/data/query-plan.ts';
import type {Doc} from '../../../dashboard/pages/data/row-order.ts';
import {expectedType, tableFields} from '../../../dashboard/pages/data/table-fields.ts';
import type {StoredTableSchema} from '../../../shared/protocol/schema.ts';
import type {Value} from '../../../shared/values/value.ts';
import {fields, withoutNegativeZero} from '../../harness/naive-query.ts';

const documents = fields.map(one => withoutNegativeZero(one) as Fields);

const schema: StoredTableSchema = {
  table: 'orders',
  fields: [
    {name: 'amount', field_type: 'number', required: true},
    {name: 'status', field_type: 'string', required: false},
  ],
  indexes: [],
};

/** As the server applies a patch. */
function patched(before: Fields, changes: ReturnType<typeof patchOf>): Fields {
  const after: Record<string, Value> = {...before, ...(changes?.patch as Fields | undefined)};
  for (const name of changes?.unset ?? []) delete after[name];
  return after;
}

describe('an edit', () => {
  test('is a patch of the fields that differ, and its undo the patch back', () => {
    fc.assert(
      fc.property(documents, documents, (before, after) => {
        expect(isSame(patched(before, patchOf(before, after)), after)).toBe(true);
        expect(isSame(patched(after, patchOf(after, before)), before)).toBe(true);
        expect(patchOf(after, after)).toBeNull();
      }),
    );
  });

  test('on top of a write of others keeps both, and names the fields that both changed', () => {
    const base = {a: 1, b: 1, c: 1};
    const mine = {a: 2, b: 1};
    const theirs = {a: 3, b: 4, c: 1};
    expect(onTop(base, mine, theirs)).toEqual({a: 2, b: 4});
    expect(differences(base, mine, theirs).map(({field, isConflict}) => [field, isConflict])).toEqual([
      ['a', true],
      ['b', false],
      ['c', false],
    ]);
  });

  test('of a cell reads text as the field holds it', () => {
    expect(cellValue('12', 'string', 'x')).toEqual({value: '12', problem: null});
    expect(cellValue('12', 'number', 1)).toEqual({value: 12, problem: null});
    expect(cellValue('x', 'any', 1)).toEqual({value: 'x', problem: null});
    expect(cellValue('', 'number', 1).value).toBeUndefined();
    expect(cellValue('', 'string', 'x').value).toBe('');
    expect(cellValue('twelve', 'number', 1).problem).toBe('twelve is not a number');
    expect([cellText('12', 'string'), cellText('12', 'any'), cellText(null, 'number')]).toEqual(['12', '"12"', 'null']);
  });

  test('is checked against schema and limits before it is sent', () => {
    expect(checkDocument(schema, {amount: 1, status: null, more: [{}]})).toEqual([]);
    const messages = checkDocument(schema, {
      amount: 'x',
      status: 1,
      _id: 'x',
      deep: {$a: 1},
      long: 'x'.repeat(2 ** 20),
    });
    expect(messages.map(({field}) => field)).toEqual(['_id', 'deep', 'amount', 'status', null]);
    expect(messages[2]!.message).toBe('must be a number, not a string');
    expect(checkDocument(schema, {})).toEqual([{field: 'amount', message: 'is required'}]);
    expect(parseDocument('[1]').problem).toMatch(/JSON object/);
  });
});

describe('a table', () => {
  test('without a schema has the fields that its documents have', () => {
    const docs = [{a: 1, b: 'x'}, {a: 2, b: null}, {a: 'x'}].map(one => ({_id: 'x', ...one}) as unknown as Doc);
    const found = tableFields(null, docs);
    expect(found.map(field => [field.name, expectedType(field), field.found])).toEqual([
      ['a', 'any', ['number', 'string']],
      ['b', 'string', ['string', 'null']],
    ]);
    expect(tableFields(schema, docs).map(({name}) => name)).toEqual(['amount', 'status', 'a', 'b']);
  });

  test('is reported as read whole when an index would help', () => {
    const filters = [
      {field: 'amount', op: 'gt', value: 1},
      {field: 'status', op: 'eq', value: 'open'},
    ] as const;
    const order = {field: '_creationTime', direction: 'desc'} as const;
    const read = {by: 'table', index: null, fields: [], range: [], stretches: 1, is_filtered: true} as const;
    const numbers = {is_sorted: false, read: 100_000, returned: 3, time_ms: 1};
    const plan = planShown({...numbers, reads: [{...read}] as never}, filters, order, []);
    expect(plan.text).toBe(
      'Reads the table and checks each document, reads 100,000 to return 3: add an index on status, amount',
    );
    expect(plan.index).toEqual({name: 'by_status_amount', fields: ['status', 'amount']});
    const indexed = {...read, by: 'index', index: 'by_status', fields: ['status'], is_filtered: false} as const;
    expect(planShown({...numbers, reads: [{...indexed}] as never}, filters, order, [])).toEqual({
      text: 'Uses the index by_status, reads 100,000 to return 3',
      isSlow: false,
      index: null,
    });
  });
});
