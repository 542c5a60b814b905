import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {DOCUMENT_BYTES_MAX, NESTING_LEVELS_MAX} from '../../shared/limits.ts';
import {checkDocumentSize, checkFields, mergeFields, parseJson, storedText} from '../../shared/values/json.ts';
import type {Value} from '../../shared/values/value.ts';
import {nativeValue} from '../harness/values.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('stored text', () => {
  const fields = fc.dictionary(fc.string(), nativeValue, {maxKeys: 5});

  test('holds the same values, with keys sorted by code unit at every depth', () => {
    fc.assert(
      fc.property(fields, value => {
        const text = storedText(value);
        const again = JSON.parse(text) as Value;
        expect(storedText(again as object)).toBe(text);
        expect(sortedEntries(again)).toEqual(sortedEntries(JSON.parse(JSON.stringify(value)) as Value));
        const keys = [...text.matchAll(/^\{("(?:[^"\\]|\\.)*"):/g)].map(match => match[1]!);
        expect(keys).toEqual([...keys].sort());
      }),
    );
  });

  test('does not depend on the order in which keys were written', () => {
    expect(storedText({b: 1, a: {d: 1, c: 2}, 10: 0, 9: 0})).toBe('{"10":0,"9":0,"a":{"c":2,"d":1},"b":1}');
  });

  test('writes -0 as 0 and keeps __proto__ as data', () => {
    const value = JSON.parse('{"z":-0,"__proto__":{"admin":true}}') as object;
    expect(storedText(value)).toBe('{"__proto__":{"admin":true},"z":0}');
    const merged = mergeFields(value, JSON.parse('{"__proto__":1,"constructor":2}') as object);
    expect(storedText(merged)).toBe('{"__proto__":1,"constructor":2,"z":0}');
    expect(Object.getPrototypeOf(merged)).toBe(null);
  });
});

describe('a body', () => {
  test.each([
    ['', 'a JSON body is required'],
    ['{', 'not JSON'],
    ['{"a":1}x', 'not JSON'],
    ['\ufeff{}', 'not JSON'],
    [nested(70), 'nests deeper'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parseJson(Buffer.from(text))).toThrow(message);
  });

  test('that is not UTF-8 is refused', () => {
    expect(() => parseJson(Buffer.from([0x22, 0xc3, 0x22]))).toThrow('not valid UTF-8');
  });

  test('may hold brackets inside strings without end', () => {
    const text = JSON.stringify({a: '[{'.repeat(1000), b: '\\"[[['.repeat(1000)});
    expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text));
  });
});

describe('native fields', () => {
  const check = (text: string) => checkFields(JSON.parse(text) as object, 'fields');

  test.each([
    ['{"a":1e999}', 'fields.a is a number beyond the range'],
    ['{"a":{"b":[1,{"c":-1e999}]}}', 'fields.a.b[1].c is a number beyond'],
    ['{"a":"\\ud800"}', 'fields.a is not valid Unicode'],
    ['{"\\udfff":1}', 'has a key that is not valid Unicode'],
    ['{"a":{"$x":1}}', 'fields.a.$x has a key that begins with $'],
    ['{"$":1}', 'begins with $'],
    ['{"_id":"x"}', 'fields._id begins with an underscore'],
    ['{"__proto__":1}', 'begins with an underscore'],
  ])('%s is refused: %s', (text, message) => {
    expect(() => check(text)).toThrow(message);
  });

  test.each([
    '{"a":{"_b":1}}',
    '{"a":{"__proto__":{"x":1}},"constructor":1}',
    '{"":1}',
    '{"a.b":1}',
    '{"a\\u0000":"\\u0000"}',
    '{"é":"😀"}',
  ])('%s is data', text => {
    expect(() => check(text)).not.toThrow();
  });

  test.each([
    [NESTING_LEVELS_MAX - 1, true],
    [NESTING_LEVELS_MAX, false],
  ])('%i arrays inside the document object: accepted %s', (levels, accepted) => {
    const attempt = () => check(`{"a":${nested(levels)}}`);
    if (accepted) expect(attempt).not.toThrow();
    else expect(attempt).toThrow('nests deeper');
  });

  test.each([
    [DOCUMENT_BYTES_MAX - 1, true],
    [DOCUMENT_BYTES_MAX, true],
    [DOCUMENT_BYTES_MAX + 1, false],
  ])('a stored text of %i bytes: accepted %s', (bytes, accepted) => {
    const attempt = () => checkDocumentSize(`é${'x'.repeat(bytes - 2)}`);
    if (accepted) expect(attempt).not.toThrow();
    else expect(attempt).toThrow(/takes 1048577 bytes/);
  });
});

/** A shape that compares `__proto__` like any other key. */
function sortedEntries(value: Value): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortedEntries);
  const keys = Object.keys(value).sort();
  return keys.map(key => [key, sortedEntries(value[key]!)]);
}
