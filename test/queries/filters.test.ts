import {describe, expect, test} from 'vitest';
import {FILTER_VALUES_MAX} from '../../engine/limits.ts';
import {compileFilters, matches} from '../../engine/reads/filter.ts';
import {FILTERS_MAX} from '../../shared/limits.ts';
import type {FilterClause, FilterOperator} from '../../shared/protocol/queries.ts';
import type {Value} from '../../shared/values/value.ts';

function holds(json: string, ...clauses: [field: string, op: FilterOperator, value: string][]): boolean {
  const filters = clauses.map(([field, op, value]) => ({field, op, value: JSON.parse(value) as unknown}));
  return matches(compileFilters(filters))(JSON.parse(json) as Record<string, Value>);
}

describe('filters compare by the one order of all values', () => {
  test.each<[string, FilterOperator, string, boolean]>([
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

describe('what filters ask beside comparisons', () => {
  test.each<[string, FilterOperator, string, boolean]>([
    ['{"a":2}', 'in', '[1,2]', true],
    ['{"a":3}', 'in', '[1,2]', false],
    ['{"a":[1]}', 'in', '[[1],2]', true],
    ['{"a":0}', 'in', '[-0]', true],
    ['{"a":null}', 'in', '[null]', true],
    ['{}', 'in', '[null]', false],
    ['{"a":1}', 'in', '[]', false],
    ['{"a":3}', 'not_in', '[1,2]', true],
    ['{"a":2}', 'not_in', '[1,2]', false],
    ['{}', 'not_in', '[1,null]', true],
    ['{"a":"Bern"}', 'prefix', '"Be"', true],
    ['{"a":"Bern"}', 'prefix', '"be"', false],
    ['{"a":"Be"}', 'prefix', '"Bern"', false],
    ['{"a":1}', 'prefix', '""', false],
    ['{"a":""}', 'prefix', '""', true],
    ['{"a":[1,"x",[2]]}', 'contains', '"x"', true],
    ['{"a":[1,"x",[2]]}', 'contains', '[2]', true],
    ['{"a":[1,"x",[2]]}', 'contains', '2', false],
    ['{"a":["xyz"]}', 'contains', '"y"', false],
    ['{"a":"xyz"}', 'contains', '"y"', true],
    ['{"a":"123"}', 'contains', '2', false],
    ['{"a":{"x":1}}', 'contains', '"x"', false],
    ['{}', 'contains', 'null', false],
    ['{"a":null}', 'exists', 'true', true],
    ['{}', 'exists', 'true', false],
    ['{}', 'exists', 'false', true],
  ])('%s: a %s %s is %s', (document, op, value, expected) => {
    expect(holds(document, ['a', op, value])).toBe(expected);
  });

  const eq = (field: string, value: unknown): FilterClause => ({field, op: 'eq', value});
  const isMatch = (clause: FilterClause, json: string) =>
    matches(compileFilters([clause]))(JSON.parse(json) as Record<string, Value>);

  test('or: one of its members, of a list all in it', () => {
    const either: FilterClause = {or: [eq('a', 1), [eq('a', 2), eq('b', 2)]]};
    const found = ['{"a":1}', '{"a":2}', '{"a":2,"b":2}', '{"b":2}'].map(json => isMatch(either, json));
    expect(found).toEqual([true, false, true, false]);
    expect(isMatch({or: [[eq('b', 2), {or: [eq('a', 1), eq('a', 3)]}]]}, '{"a":3,"b":2}')).toBe(true);
  });

  test.each<[string, FilterClause, string]>([
    ['in without a list', {field: 'a', op: 'in', value: 1}, 'filters[0].value of in must be a list of values'],
    ['a list that is too long', {field: 'a', op: 'not_in', value: Array(FILTER_VALUES_MAX + 1).fill(1)}, '1000 values'],
    ['prefix of no text', {field: 'a', op: 'prefix', value: 1}, 'filters[0].value of prefix must be a string'],
    [
      'exists of no boolean',
      {field: 'a', op: 'exists', value: null},
      'filters[0].value of exists must be true or false',
    ],
    ['or beside a field', {or: [eq('a', 1)], field: 'a'} as FilterClause, 'filters[0] has either or'],
    ['too many in all', {or: Array<FilterClause>(FILTERS_MAX).fill(eq('a', 1))}, `${FILTERS_MAX} at most`],
    ['a value inside of or', {or: [[eq('a', 1), eq('b', {$x: 1})]]}, 'filters[0].or[0][1].value.$x'],
  ])('%s is refused', (_, clause, message) => {
    expect(() => compileFilters([clause])).toThrow(message);
  });
});
