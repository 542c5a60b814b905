import {describe, expect, test} from 'vitest';
import {checkTableSchema, compileSchema} from '../../engine/storage/table-check.ts';
import type {FieldType, TableSchema} from '../../shared/protocol/schema.ts';
import type {Value} from '../../shared/values/value.ts';

describe('a document against a table schema: undeclared fields pass, null passes where a field is not required', () => {
  const check = (type: FieldType, required: boolean, json: string) =>
    compileSchema({fields: [{name: 'a', field_type: type, required}]})(JSON.parse(json) as Record<string, Value>);

  test.each<[FieldType, boolean, string, string | null]>([
    ['string', true, '{"a":"x","other":1}', null],
    ['string', true, '{"a":1}', 'number'],
    ['string', true, '{"a":null}', 'null'],
    ['string', true, '{}', 'nothing'],
    ['string', false, '{"a":null}', null],
    ['string', false, '{}', null],
    ['string', false, '{"a":[]}', 'array'],
    ['number', true, '{"a":1.5}', null],
    ['number', true, '{"a":"1"}', 'string'],
    ['boolean', true, '{"a":false}', null],
    ['array', true, '{"a":[]}', null],
    ['array', true, '{"a":{}}', 'object'],
    ['object', true, '{"a":{}}', null],
    ['object', true, '{"a":[]}', 'array'],
    ['object', true, '{"a":null}', 'null'],
    ['any', true, '{"a":null}', null],
    ['any', true, '{}', 'nothing'],
    ['any', false, '{}', null],
  ])('%s, required %s, %s: found %s', (type, required, json, found) => {
    expect(check(type, required, json) ?? {found: null}).toMatchObject({found});
  });

  test('only own fields count', () => {
    const schema = compileSchema({fields: [{name: 'constructor', field_type: 'any', required: true}]});
    expect(schema({})).toEqual({field: 'constructor', expected: 'present', found: 'nothing'});
    expect(schema(JSON.parse('{"constructor":1}') as Record<string, Value>)).toBe(null);
  });

  test('the first violation in order of declaration is named', () => {
    const schema = compileSchema({
      fields: [
        {name: 'b', field_type: 'number', required: true},
        {name: 'a', field_type: 'number', required: true},
      ],
    });
    expect(schema({a: 'x', b: 'y'})).toEqual({field: 'b', expected: 'of type number', found: 'string'});
  });
});

describe('a table schema itself', () => {
  const schema = (part: Partial<TableSchema>): TableSchema => ({table: 't', fields: [], indexes: [], ...part});
  const field = (name: string) => ({name, field_type: 'any' as const, required: false});

  test.each<[string, Partial<TableSchema>, string]>([
    ['of another table', {table: 'u'}, 'differs from the path'],
    ['a field twice', {fields: [field('a'), field('a')]}, 'declared twice'],
    ['a system field', {fields: [field('_id')]}, 'cannot be a field'],
    ['a field without a name', {fields: [field('')]}, 'cannot be a field'],
    ['a field with $', {fields: [field('$a')]}, 'cannot be a field'],
    [
      'an index twice',
      {
        indexes: [
          {name: 'i', fields: ['a']},
          {name: 'i', fields: ['b']},
        ],
      },
      'declared twice',
    ],
    [
      'two indexes alike',
      {
        indexes: [
          {name: 'i', fields: ['a', 'b']},
          {name: 'j', fields: ['a', 'b']},
        ],
      },
      'the same fields',
    ],
    ['a field twice in an index', {indexes: [{name: 'i', fields: ['a', 'a']}]}, 'lists a field twice'],
    ['a system field in an index', {indexes: [{name: 'i', fields: ['_creationTime']}]}, 'system fields'],
    ['an empty step', {indexes: [{name: 'i', fields: ['a..b']}]}, 'not a field path'],
    ['by_id', {indexes: [{name: 'by_id', fields: ['a']}]}, 'cannot be an index'],
    ['by_creation_time', {indexes: [{name: 'by_creation_time', fields: ['a']}]}, 'cannot be an index'],
    ['an index with a leading underscore', {indexes: [{name: '_i', fields: ['a']}]}, 'cannot be an index'],
    ['a long name, shown in part', {indexes: [{name: 'x'.repeat(100_000), fields: ['a']}]}, '…'],
  ])('%s is refused', (_, part, message) => {
    try {
      checkTableSchema(schema(part), 't');
      expect.unreachable();
    } catch (caught) {
      expect(caught).toMatchObject({code: 'op.invalid_input', message: expect.stringContaining(message) as string});
      expect((caught as Error).message.length).toBeLessThan(300);
    }
  });

  test.each<[string, Partial<TableSchema>]>([
    [
      'paths and a shared prefix',
      {
        indexes: [
          {name: 'i', fields: ['a.b', 'c']},
          {name: 'j', fields: ['a.b']},
        ],
      },
    ],
    [
      'the same fields in another order',
      {
        indexes: [
          {name: 'i', fields: ['a', 'b']},
          {name: 'j', fields: ['b', 'a']},
        ],
      },
    ],
    [
      'a line feed in a name',
      {
        indexes: [
          {name: 'i', fields: ['a\nb']},
          {name: 'j', fields: ['a', 'b']},
        ],
      },
    ],
    ['__proto__ inside a document', {indexes: [{name: 'i', fields: ['a.__proto__']}]}],
  ])('%s is fine', (_, part) => {
    expect(() => checkTableSchema(schema(part), 't')).not.toThrow();
  });
});
