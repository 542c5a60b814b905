/** What is made of a plain line without making values of it is what is made of its values. */
import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {DOCUMENT_BYTES_MAX} from '../../shared/limits.ts';
import {checkFields, storedText} from '../../shared/values/json.ts';
import {NESTING_LEVELS_MAX} from '../../shared/values/value-limits.ts';
import {CanonicalTexts} from '../../worker/api/bulk/import/canonical-line.ts';

/** Of each line; null: it takes the long way. */
function taken(lines: readonly string[]): (string | null)[] {
  const source = Buffer.from(lines.map(line => `${line}\n`).join(''));
  const texts = new CanonicalTexts(source);
  let start = 0;
  return lines.map(line => {
    const text = texts.take(start);
    start += Buffer.byteLength(line) + 1;
    if (text === null) return null;
    expect(texts.next).toBe(start);
    const bytes = texts.bytes.subarray(text.start, text.end);
    expect(text.isAscii).toBe(bytes.every(byte => byte < 0x80));
    return bytes.toString();
  });
}

/** Null: it is refused. */
function stored(line: string): string | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return storedText(value, checkFields(value, 'fields'));
  } catch {
    return null;
  }
}

const space = fc.constantFrom('', '', '', ' ', '\t\r');
const number = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '-0.5',
    '0.000001',
    '0.0000012',
    '0.0000001',
    '1.0',
    '01',
    '1.',
    '.5',
    '-',
    '1e3',
    '1E400',
  ),
  fc.constantFrom('999999999999999', '9007199254740993', '123456789.012345', '0.1234567890123456'),
  fc.stringMatching(/^-?(0|[1-9]\d{0,17})(\.\d{1,18})?(e[+-]?\d{1,3})?$/),
  fc.double({noNaN: true, noDefaultInfinity: true}).map(String),
);
const text = fc.oneof(
  fc.string({unit: 'binary'}).map(value => JSON.stringify(value)),
  fc.constantFrom(
    '"\\/"',
    '"\\u0041"',
    '"\\u001f"',
    '"\\n\\"\\\\"',
    '"\\x"',
    '"\u007f\u2028"',
    '"a\tb"',
    '"',
    '"ä€😀"',
  ),
);
const key = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'ab',
    'a!',
    'a b',
    'B',
    'é',
    '',
    '_a',
    '$a',
    '1',
    '10',
    '9',
    '__proto__',
    'toJSON',
    'a"',
    '~',
  ),
  fc.string({maxLength: 3}),
);
const {value} = fc.letrec<{value: string; object: string}>(tie => ({
  value: fc.oneof(
    {maxDepth: 4, withCrossShrink: true},
    number,
    text,
    fc.constantFrom('true', 'false', 'null', 'nul', 'True', '{}', '[]', '[,]', '{"a":1,}', ''),
    fc
      .tuple(space, fc.array(tie('value'), {maxLength: 3}))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},`)}${gap}]`),
    tie('object'),
  ),
  object: fc
    .tuple(space, fc.array(fc.tuple(key, tie('value')), {maxLength: 5}))
    .map(
      ([gap, members]) =>
        `{${gap}${members.map(([name, v]) => `${JSON.stringify(name)}${gap}:${v}`).join(`,${gap}`)}${gap}}`,
    ),
}));
const line = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.array(fc.tuple(key, value), {maxLength: 6}), space)
      .map(
        ([members, gap]) =>
          `${gap}{${members.map(([name, v]) => `${JSON.stringify(name)}:${gap}${v}`).join(',')}}${gap}`,
      ),
  },
  value,
);

test('a text that is made is that of the values; a line that is refused, or that says something twice, is never taken', () => {
  fc.assert(
    fc.property(fc.array(line, {maxLength: 4}), lines => {
      for (const [i, made] of taken(lines).entries()) if (made !== null) expect(made).toBe(stored(lines[i]!));
    }),
    {numRuns: 3_000},
  );
});

const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
/** What it takes to sort them in the way that is fastest for a few grows with the square of how many there are. */
const backwards = (keys: number, chars: number) =>
  `{${Array.from({length: keys}, (_, i) => `"${'k'.repeat(chars)}${9_999 - i}":1`).join(',')}}`;
const CITY =
  '{"cityId":3040132,"name":"la Massana é","altName":"","loc":{"type":"Point","coordinates":[1.51483,-42.5]},"a":{"b":{},"a":[]}}';
test.each([
  ['the keys in order', true, '{"a":1,"b":"x"}'],
  ['keys out of order at every depth', true, CITY],
  ['space between its parts, and CR LF', true, ' { "b" : [ 1 , true , null ] ,"a":false } \r'],
  ['the escapes of JSON.stringify', true, '{"a":"\\"\\\\\\b\\f\\n\\r\\t"}'],
  ['other escapes', false, '{"a":"\\u0041\\/"}'],
  ['15 digits', true, '{"a":-12345678.9012345,"b":0.000001}'],
  ['16 digits', false, '{"a":1234567890123456}'],
  ['a number that is written otherwise', false, '{"a":1.0}'],
  ['negative zero', false, '{"a":-0}'],
  ['a key twice', false, '{"b":1,"a":1,"c":1,"a":2}'],
  ['a system field', false, '{"_id":"x"}'],
  ['a field of that name further in', false, '{"a":{"_id":"x"}}'],
  ['as many levels as may be', true, nested(NESTING_LEVELS_MAX - 1)],
  ['one level more', false, nested(NESTING_LEVELS_MAX)],
  ['as long as may be', true, `{"a":"${'x'.repeat(DOCUMENT_BYTES_MAX - 8)}"}`],
  ['longer', false, `{"a":"${'x'.repeat(DOCUMENT_BYTES_MAX - 7)}"}`],
  ['many members', false, `{${Array.from({length: 2_000}, (_, i) => `"k${i}":1`).join(',')}}`],
  ['many keys that are long, and sorted backwards', false, backwards(1_000, 1_000)],
  ['a few of them', true, backwards(20, 1_000)],
  ['more behind it', false, '{"a":1}{"b":2}'],
  ['nothing', false, ''],
])('plain or not: %s: %s', (_, isPlain, text) => {
  expect(taken([text, '{"a":1}'])).toEqual([isPlain ? stored(text) : null, '{"a":1}']);
});
