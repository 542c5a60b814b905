import {describe, expect, test} from 'vitest';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import type {Value} from '../../shared/values/value.ts';
import {compileFilters, matches} from '../../worker/reads/filter.ts';

type Clause = QueryObject['filters'][number];

function holds(json: string, ...clauses: [field: string, op: Clause['op'], value: string][]): boolean {
  const filters = clauses.map(([field, op, value]) => ({field, op, value: JSON.parse(value) as unknown}));
  return matches(compileFilters(filters))(JSON.parse(json) as Record<string, Value>);
}

describe('filters compare by the one order of all values', () => {
  test.each<[string, Clause['op'], string, boolean]>([
    ['{"a":1}', 'eq', '1', true],
    ['{"a":0}', 'eq', '-0', true],
    ['{"a":[0]}', 'eq', '[-0]', true],
    ['{"a":"1"}', 'eq', '1', false],
    ['{"a":{"x":1,"y":2}}', 'eq', '{"y":2,"x":1}', true],
    ['{"a":null}', 'eq', 'null', true],
    ['{}', 'eq', 'null', false],
    ['{}', 'neq', 'null', true],
    ['{}', 'neq', '1', true],
    ['{}', 'lt', '1', true],
    ['{}', 'lt', 'null', true],
    ['{"a":null}', 'lt', '1', true],
    ['{"a":null}', 'lte', '1', true],
    ['{"a":null}', 'lt', 'null', false],
    ['{}', 'gte', 'null', false],
    ['{"a":"x"}', 'gt', '1', true],
    ['{"a":true}', 'gt', '1', true],
    ['{"a":{}}', 'gt', '[9]', true],
    ['{"a":"\\ud83d\\ude00"}', 'gt', '"\\uff5e"', true],
  ])('%s: a %s %s is %s', (document, op, value, expected) => {
    expect(holds(document, ['a', op, value])).toBe(expected);
  });

  test('all clauses must hold, also several of one field', () => {
    expect(holds('{"a":5}', ['a', 'gt', '1'], ['a', 'lt', '9'])).toBe(true);
    expect(holds('{"a":5}', ['a', 'gt', '1'], ['a', 'lt', '5'])).toBe(false);
    expect(holds('{"a":5}')).toBe(true);
  });

  test.each<[string, string, boolean]>([
    ['{"a":{"b":1}}', 'a.b', true],
    ['{"a.b":1}', 'a.b', false],
    ['{"a":[1]}', 'a.0', false],
    ['{"a":"x"}', 'a.length', false],
    ['{"__proto__":{"x":1}}', '__proto__.x', true],
    ['{"constructor":1}', 'constructor', true],
  ])('%s: the path %s holds 1: %s', (document, path, expected) => {
    expect(holds(document, [path, 'eq', '1'])).toBe(expected);
  });

  test.each(['constructor', '__proto__', 'toString.name'])('%s is missing from an empty document', path => {
    expect(holds('{}', [path, 'gte', 'null'])).toBe(false);
  });

  test.each(['', '.', 'a.', '.a', 'a..b', '\ud800', 'x'.repeat(1025)])('%j is not a path', field => {
    expect(() => compileFilters([{field, op: 'eq', value: 1}])).toThrow('not a field path');
  });

  test.each<[string, string]>([
    ['1e999', 'filters[0].value is a number beyond'],
    ['{"a":[{"$b":1}]}', 'filters[0].value.a[0].$b has a key that begins with $'],
    ['"\\udc00"', 'filters[0].value is not valid Unicode'],
  ])('the value %s is refused', (value, message) => {
    expect(() => compileFilters([{field: 'a', op: 'eq', value: JSON.parse(value) as unknown}])).toThrow(message);
  });
});
