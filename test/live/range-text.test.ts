/** A key range as text says which documents are in it. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {rangesOf} from '../../engine/live/query-ranges.ts';
import {rangeText} from '../../engine/live/range-text.ts';
import {compileFilters} from '../../engine/reads/filter.ts';
import {orderOf} from '../../engine/reads/order.ts';
import {creationPlace, entryPlace, oneByte} from '../../engine/reads/read-set.ts';
import {encodeKey, keySuccessor} from '../../shared/values/key-encoding.ts';

const LONG = 'x'.repeat(200);

describe('of a native query', () => {
  test.each([
    [[['country', 'eq', 'CH']], 'country = "CH"'],
    [[['country', 'eq', 'C\0H']], 'country = "C\\u0000H"'],
    [
      [
        ['n', 'gt', 5],
        ['n', 'lte', 7],
      ],
      'n > 5 and n <= 7',
    ],
    [
      [
        ['a', 'eq', null],
        ['n', 'gte', -1],
        ['n', 'lt', 0],
      ],
      'a = null and n >= -1 and n < 0',
    ],
    [[['name', 'prefix', 'Zü']], 'name begins with "Zü"'],
    [[['name', 'exists', false]], 'name = missing'],
    [[['tags', 'eq', ['a', {b: 1}]]], 'tags = ["a",{"b":1}]'],
    [[['name', 'eq', LONG]], `name = "${LONG.slice(0, 99)}…`],
    [[['n', 'neq', 1]], 'any document'],
  ] as [unknown[][], string][])('with the filters %j', (tests, text) => {
    const query = {table: 't', filters: tests.map(([field, op, value]) => ({field, op, value}) as never)};
    const filters = compileFilters(query.filters);
    const [range] = rangesOf(query, filters, orderOf(query, filters));
    expect(rangeText({index: null, ...range!.upTo(null)!})).toBe(text);
  });
});

test('of an index, also where a page begins and ends at documents', () => {
  const fields = ['a', 'b'];
  const from = encodeKey(['x', 2]);
  const range = {index: 'by_a', fields, lower: oneByte(from), upper: oneByte(keySuccessor(encodeKey(['x'])))};
  expect(rangeText(range)).toBe('a = "x" and b >= 2');
  const page = {
    ...range,
    lower: oneByte(entryPlace(from, 2 ** 40 + 7)),
    upper: oneByte(entryPlace(encodeKey(['x', 9]), 5)),
  };
  expect(rangeText(page)).toBe('a = "x" and b >= 2 and b < 9');
});

test('of any values', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({maxDepth: 3}), {minLength: 1, maxLength: 3}), fc.boolean(), (values, isEnd) => {
      const key = encodeKey(values as never);
      const upper = oneByte(isEnd ? key : keySuccessor(key));
      const range = {index: 'i', fields: ['a', 'b', 'c'], lower: '', upper};
      expect(rangeText(range)).toMatch(isEnd ? /^a < / : /^a <=? /);
      const point = {...range, lower: oneByte(key), upper: oneByte(keySuccessor(key))};
      expect(rangeText(point).split(' = ').length).toBeGreaterThan(values.length);
    }),
  );
});

test('of ids and creation times', () => {
  expect(rangeText({index: 'by_id', fields: ['_id'], lower: 'bern', upper: 'bern\0'})).toBe('_id = "bern"');
  const at = {index: 'by_creation_time', fields: ['_creationTime']};
  expect(rangeText({...at, lower: '', upper: '\u00ff'})).toBe('any document');
  expect(rangeText({...at, lower: oneByte(creationPlace(9)), upper: '\u00ff'})).toBe('a range of creation times');
});
