import {isDeepStrictEqual} from 'node:util';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {Value} from '../../../shared/values/value.ts';
import {
  checkedWireText,
  checkWireValue,
  decodeValue,
  encodeDocument,
  encodePatch,
  encodeValue,
} from '../../../shared/values/wire-value.ts';

const key = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', '10', '9', 'a', 'B', ''),
  fc.string({unit: 'grapheme-ascii', maxLength: 5}).filter(text => !text.startsWith('$')),
);
const value = fc.letrec<{value: Value}>(tie => ({
  value: fc.oneof(
    {depthSize: 'small'},
    fc.constantFrom<Value>(null, true, false, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0),
    fc.double(),
    fc.string({unit: 'grapheme'}).filter(text => text.isWellFormed()),
    fc.array(tie('value'), {maxLength: 4}),
    fc.array(fc.tuple(key, tie('value')), {maxLength: 4}).map(fields => Object.fromEntries(fields)),
  ),
})).value;

/** The same value with every object's keys in another order. */
function shuffled(of: Value): Value {
  if (typeof of !== 'object' || of === null) return of;
  if (Array.isArray(of)) return of.map(shuffled);
  return Object.fromEntries(
    Object.entries(of)
      .reverse()
      .map(([name, field]) => [name, shuffled(field)]),
  );
}

function nested(levels: number): Value {
  let inner: Value = [];
  for (let i = 1; i < levels; i++) inner = [inner];
  return inner;
}

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return 'nothing was thrown';
}

describe('encoding', () => {
  test('decoding gives the value back, NaN, infinities and -0 included', () => {
    fc.assert(fc.property(value, original => isDeepStrictEqual(decodeValue(encodeValue(original)), original)));
  });
  test('one value has one text, whatever the order of its keys', () => {
    fc.assert(fc.property(value, original => encodeValue(shuffled(original)) === encodeValue(original)));
  });
  test('keys are sorted by code unit at every depth', () => {
    expect(encodeValue({b: 1, a: {10: 1, 9: 2, B: 3}})).toBe('{"a":{"10":1,"9":2,"B":3},"b":1}');
  });
  test('the text is also what an untrusted reader accepts', () => {
    fc.assert(
      fc.property(value, original => isDeepStrictEqual(checkWireValue(JSON.parse(encodeValue(original))), original)),
    );
  });
  test('an untrusted reader gets the same text from the check, whatever the order of keys', () => {
    fc.assert(
      fc.property(value, original => {
        const text = encodeValue(original);
        const parsed: unknown = JSON.parse(text);
        expect(checkedWireText(shuffled(parsed as Value))).toEqual({value: original, text});
      }),
    );
  });
  test('numbers that JSON cannot hold are eight bytes', () => {
    expect(encodeValue([Number.NaN, -0])).toBe('[{"$float":"AAAAAAAA+H8="},{"$float":"AAAAAAAAAIA="}]');
  });
  test('undefined fields are dropped', () => expect(encodeValue({a: undefined, b: 1})).toBe('{"b":1}'));
  test('getters and null prototypes are plain objects', () => {
    expect(encodeValue(Object.assign(Object.create(null), {a: 1}))).toBe('{"a":1}');
  });
});

describe('what is no value', () => {
  class Point {}
  test.each<[unknown, RegExp]>([
    [undefined, /^undefined is not a valid svc value$/],
    [
      {a: {b: [new Date(0)]}},
      /^Date 1970-01-01T00:00:00.000Z is not a supported svc type \(present at path \.a\.b\[0\] in/,
    ],
    [{a: {b: new Map()}}, /^Map is not a supported .*path \.a\.b in original object/],
    [{a: {b: 1n}}, /^bigint 1n is not a supported .*path \.a\.b in/],
    [{a: new Set()}, /^Set is/],
    [{a: /x/}, /^RegExp is/],
    [{a: new Point()}, /^Point is/],
    [{a: () => 1}, /^function .*is not a supported/],
    [{a: Symbol('s')}, /^symbol Symbol\(s\) is/],
    [{a: Promise.resolve()}, /^Promise is/],
    [{a: new Uint8Array(1)}, /^Uint8Array is/],
    [{a: new ArrayBuffer(1)}, /^ArrayBuffer is/],
    [{a: [1, undefined]}, /^undefined is not a valid svc value \(present at path \.a\[1\]/],
    [Array(2), /path \[0\]/],
    [{a: '\ud800'}, /valid Unicode.*path \.a in/],
    [{$a: 1}, /starts with '\$', which is reserved/],
    [{é: 1}, /printable ASCII/],
    [{['a'.repeat(1025)]: 1}, /too long \(maximum length 1024\)/],
    [Array(8193).fill(0), /Array length is too long \(8193 > maximum length 8192\)/],
    [Object.fromEntries(Array.from({length: 1025}, (_, i) => [`k${i}`, 1])), /Object has too many fields \(1025/],
  ])('%o is refused', (bad, message) => expect(messageOf(() => encodeValue(bad))).toMatch(message));

  test.each<[unknown, string]>([
    [{a: {x: 1, $b: 2}}, 'path .a.$b in'],
    [{a: [{b: {}}, {$b: 1}], c: 1}, 'path .a[1].$b in'],
    [{a: 1, é: 2}, 'path ["é"] in'],
    [{a: {x: {y: 1}, [`${'k'.repeat(1025)}`]: 2}}, 'path .a["kkk'],
  ])('an error names the place of the key that is wrong, not of the one before: %j', (bad, path) => {
    expect(messageOf(() => encodeValue(bad))).toContain(path);
    expect(messageOf(() => checkWireValue(structuredClone(bad)))).toContain(path);
  });
  test('the limits themselves are allowed', () => {
    expect(() => encodeValue({['a'.repeat(1024)]: Array(8192).fill(0)})).not.toThrow();
    expect(() => encodeValue(Object.fromEntries(Array.from({length: 1024}, (_, i) => [`k${i}`, 1])))).not.toThrow();
  });
  test('64 levels pass, 65 do not', () => {
    expect(encodeValue(nested(64))).toBe('['.repeat(64) + ']'.repeat(64));
    expect(messageOf(() => encodeValue(nested(65)))).toMatch(/too nested/);
    expect(messageOf(() => checkWireValue(nested(65)))).toMatch(/too nested/);
    expect(checkWireValue(nested(64))).toEqual(nested(64));
  });
  test('a number in 64 levels is not a level of its own, however it is written', () => {
    const wire = `${'['.repeat(64)}{"$float":"AAAAAAAA8H8="}${']'.repeat(64)}`;
    expect(decodeValue(encodeValue(checkWireValue(JSON.parse(wire))))).toEqual(decodeValue(wire));
  });
  test('a cycle is refused', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(messageOf(() => encodeValue(cyclic))).toMatch(/too nested/);
  });
  test('a quoted value is cut at 16 KiB', () => {
    const message = messageOf(() => encodeValue({a: 'x'.repeat(100_000), b: new Map()}));
    expect(message.length).toBeLessThan(17_000);
    expect(message).toContain('[...truncated]');
  });
});

describe('documents and patches', () => {
  test('documents may have keys of any Unicode and long arrays', () => {
    expect(encodeDocument({é: Array(9000).fill(0)})).toContain('"é"');
    expect(messageOf(() => encodeDocument({a: {$b: 1}}))).toMatch(/reserved/);
    expect(messageOf(() => encodeDocument({'\ud800': 1}))).toMatch(/Unicode/);
  });
  test('undefined at the top of a patch removes a field, deeper it is absence', () => {
    expect(encodePatch({a: undefined, o: {x: undefined}, b: 1})).toEqual({set: '{"b":1,"o":{}}', removed: ['a']});
  });
  test.each([[null], [[]], ['x'], [new Date()], [undefined]])('%o is no patch', bad =>
    expect(messageOf(() => encodePatch(bad))).toBe('Value must be an Object'),
  );
});

describe('outside input', () => {
  test.each<[string, RegExp]>([
    ['{"$float":5}', /Malformed \$float/],
    ['{"$float":"abc"}', /Malformed \$float/],
    ['{"$float":"AAAAAAAA8H9="}', /Malformed \$float/],
    ['{"$float":"AAAAAAAA8D8="}', /\$float 1 should be encoded as a number/],
    ['{"$float":"AAAAAAAAAAA="}', /\$float 0 should/],
    ['{"a":{"$float":"AAAAAAAA8H8=","b":1}}', /reserved/],
    ['{"$undefined":true}', /reserved/],
    ['1e999', /beyond the range/],
    ['{"a":["\\ud800"]}', /valid Unicode.*\.a\[0\]/],
    ['{"é":1}', /printable ASCII/],
  ])('%s is refused', (text, message) => expect(messageOf(() => checkWireValue(JSON.parse(text)))).toMatch(message));

  test('$float is read where it stands', () => {
    expect(checkWireValue(JSON.parse('{"a":[{"$float":"AAAAAAAA8P8="}]}'))).toEqual({a: [Number.NEGATIVE_INFINITY]});
  });
  test('__proto__ is data', () => {
    const read = checkWireValue(JSON.parse('{"__proto__":{"a":{"$float":"AAAAAAAA8P8="}}}')) as Record<string, Value>;
    expect(Object.keys(read)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });
});
