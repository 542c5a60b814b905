import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {decodeBound, encodeKey, keySuccessor} from '../../shared/values/key-encoding.ts';
import {compareUtf8, compareValues} from '../../shared/values/order.ts';
import type {Value} from '../../shared/values/value.ts';
import {anyValue} from '../harness/values.ts';

const ASCENDING: (Value | undefined)[] = [
  undefined,
  null,
  Number.NEGATIVE_INFINITY,
  -1e308,
  -1,
  -5e-324,
  -0,
  0,
  5e-324,
  0.1,
  1,
  2,
  10,
  1e308,
  Number.POSITIVE_INFINITY,
  Number.NaN,
  false,
  true,
  '',
  '\0',
  '\0\0',
  '\0a',
  'a',
  'a\0',
  'a\0b',
  'aa',
  'b',
  'é',
  '\ud7ff',
  '\ue000',
  '\uff5e',
  '\u{10000}',
  '\u{1f600}',
  [],
  [null],
  [null, null],
  [1],
  [1, 0],
  ['a'],
  ['a', 1],
  ['aa'],
  [[]],
  [[1]],
  [{}],
  {},
  {a: 1},
  {a: 1, b: 0},
  {a: 2},
  {a: 'x'},
  {a: {}},
  {aa: 0},
  {b: 0},
];

describe('the order of all values: missing < null < number < boolean < string < array < object', () => {
  test('every pair of a list in order compares by its places, as values and as keys', () => {
    for (const [i, a] of ASCENDING.entries()) {
      for (const [j, b] of ASCENDING.entries()) {
        expect(Math.sign(compareValues(a, b)), `${i} ${j}`).toBe(Math.sign(i - j));
        expect(Buffer.compare(encodeKey([a]), encodeKey([b])), `${i} ${j}`).toBe(Math.sign(i - j));
      }
    }
  });

  test('strings go by their UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.string({unit: 'binary'}), fc.string({unit: 'binary'}), (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  test('keys of lists of values compare as the lists do, value by value', () => {
    const list = fc.array(anyValue, {minLength: 3, maxLength: 3});
    fc.assert(
      fc.property(list, list, (a, b) => {
        const naive = a.map((value, i) => Math.sign(compareValues(value, b[i]))).find(order => order !== 0) ?? 0;
        expect(Buffer.compare(encodeKey(a), encodeKey(b))).toBe(naive);
      }),
      {numRuns: 2000},
    );
  });

  test('a key says its values again, all the way down', () => {
    fc.assert(
      fc.property(fc.array(anyValue, {maxLength: 4}), values => {
        const again = decodeBound(encodeKey(values)).values;
        expect(again.length).toBe(values.length);
        for (const [i, value] of values.entries()) expect(compareValues(again[i], value)).toBe(0);
        expect(encodeKey(again).equals(encodeKey(values))).toBe(true);
      }),
      {numRuns: 2000},
    );
    expect(decodeBound(encodeKey([undefined, null, -0, 'a\0b', [true, {}]])).values).toEqual([
      undefined,
      null,
      -0,
      'a\0b',
      [true, {}],
    ]);
  });

  test('the successor of a prefix is above all that continue it, and below all other keys above it', () => {
    fc.assert(
      fc.property(anyValue, anyValue, anyValue, (a, b, rest) => {
        const successor = keySuccessor(encodeKey([a]));
        const continued = encodeKey([b, rest]);
        expect(Buffer.compare(continued, successor)).toBe(compareValues(b, a) <= 0 ? -1 : 1);
      }),
      {numRuns: 2000},
    );
  });
});
