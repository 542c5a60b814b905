import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {BODY_NESTING_LEVELS_MAX, DOCUMENT_BYTES_MAX} from '../../shared/limits.ts';
import {
  checkDocumentSize,
  checkFields,
  checkValue,
  mergeFields,
  parseJson,
  storedText,
} from '../../shared/values/json.ts';
import type {Value} from '../../shared/values/value.ts';
import {NESTING_LEVELS_MAX} from '../../shared/values/value-limits.ts';
import {checkWireDocument, encodeDocument} from '../../shared/values/wire-value.ts';
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

  test('is the plain serialisation with sorted keys, whichever way it is made', () => {
    const key = fc.oneof(fc.constantFrom('__proto__', '10', '9', '09', '', 'a', 'b', 'toJSON'), fc.string());
    const tree = fc.dictionary(key, fc.oneof(nativeValue, fc.dictionary(key, nativeValue, {maxKeys: 4})), {maxKeys: 6});
    fc.assert(
      fc.property(tree, value => {
        expect(storedText(value)).toBe(plainText(value));
      }),
      {numRuns: 1000},
    );
  });

  test('is what a function would store of the same values, and what was said of it while it was checked changes nothing', () => {
    fc.assert(
      fc.property(fields, value => {
        const taken = JSON.parse(JSON.stringify(value)) as Record<string, Value>;
        fc.pre(Object.keys(taken).every(key => !key.startsWith('$') && !key.startsWith('_') && key.isWellFormed()));
        const text = storedText(taken);
        expect(storedText(taken, checkFields(taken, 'fields'))).toBe(text);
        expect(encodeDocument(taken)).toBe(text);
        expect(encodeDocument(checkWireDocument(JSON.parse(text)))).toBe(text);
      }),
    );
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
  ])('%j is refused: %s', (text, message) => {
    expect(() => parseJson(Buffer.from(text))).toThrow(message);
  });

  test.each([
    [BODY_NESTING_LEVELS_MAX - 1, true],
    [BODY_NESTING_LEVELS_MAX, true],
    [BODY_NESTING_LEVELS_MAX + 1, false],
    [100_000, false],
  ])('of %i levels: accepted %s', (levels, accepted) => {
    const attempt = () => parseJson(Buffer.from(nested(levels)));
    if (accepted) expect(attempt).not.toThrow();
    else expect(attempt).toThrow('nests deeper');
  });

  test('that is refused is not echoed at length', () => {
    try {
      parseJson(Buffer.from(`{"a": ${'x'.repeat(5000)}`));
      expect.unreachable();
    } catch (caught) {
      expect((caught as Error).message.length).toBeLessThan(160);
    }
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
    ['{"a":-0}', '{"a":0}'],
    ['{"a":-1e-400}', '{"a":0}'],
    ['{"a":[-0,{"b":-0,"__proto__":-0}]}', '{"a":[0,{"b":0,"__proto__":0}]}'],
  ])('%s is taken as %s, so that index keys agree with the stored text', (text, taken) => {
    const fields = JSON.parse(text) as object;
    checkFields(fields, 'fields');
    expect(fields).toStrictEqual(JSON.parse(taken));
    expect(zeros(fields as Value).every(zero => Object.is(zero, 0))).toBe(true);
    const list = [JSON.parse(text)] as Value;
    checkValue(list, 'value');
    expect(zeros(list).every(zero => Object.is(zero, 0))).toBe(true);
  });

  test.each([
    [NESTING_LEVELS_MAX - 2, true],
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

function zeros(value: Value): Value[] {
  if (value === 0) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(zeros) : [];
}

function plainText(value: Value): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(plainText).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${plainText(field)}`).join(',')}}`;
}

/** A shape that compares `__proto__` like any other key. */
function sortedEntries(value: Value): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortedEntries);
  const keys = Object.keys(value).sort();
  return keys.map(key => [key, sortedEntries(value[key]!)]);
}
