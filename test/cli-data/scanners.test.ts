import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {BootstrapDocuments} from '../../cli/transfer/bootstrap-documents.ts';
import {topLevelMembers, withoutMembers} from '../../cli/transfer/json-members.ts';
import {type Line, readLines} from '../../cli/transfer/line-reader.ts';

const SYSTEM = new Set(['_id', '_creationTime', '_updateTime']);
const key = fc.oneof(fc.constantFrom('_id', '_creationTime', 'a', '', '__proto__', '"', '\\', '{'), fc.string());
const spaces = fc.constantFrom(undefined, 1, '\t');
const jsonObject = fc
  .array(fc.tuple(key, fc.jsonValue({maxDepth: 3})), {maxLength: 6})
  .map(entries => Object.fromEntries(entries));

/** `bytes` in pieces of the given lengths, which may be zero; the last piece has the rest. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(bytes.subarray(at, at + length));
    at = Math.min(at + length, bytes.length);
  }
  return [...pieces, bytes.subarray(at)];
}
const cuts = fc.array(fc.nat({max: 40}), {maxLength: 30});

describe('members of a JSON line are found in its bytes', () => {
  test('dropping members gives what parsing, deleting and writing gives', () => {
    fc.assert(
      fc.property(jsonObject, spaces, (object, space) => {
        const text = Buffer.from(JSON.stringify(object, null, space));
        const left = withoutMembers(text, topLevelMembers(text)!, SYSTEM);
        const expected = Object.fromEntries(Object.entries(object).filter(([name]) => !SYSTEM.has(name)));
        expect(JSON.parse(left.toString())).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
    );
  });

  test('what is kept is kept byte for byte', () => {
    const text = Buffer.from('{"_id":"x","a":1e999,"b":12345678901234567890,"c":"\\u00e9" }');
    expect(withoutMembers(text, topLevelMembers(text)!, SYSTEM).toString()).toBe(
      '{"a":1e999,"b":12345678901234567890,"c":"\\u00e9"}',
    );
  });

  test('a system field with an escaped name is dropped too', () => {
    const text = Buffer.from('{"\\u005fid":1,"a":2}');
    expect(withoutMembers(text, topLevelMembers(text)!, SYSTEM).toString()).toBe('{"a":2}');
  });

  test.each([
    '',
    '[]',
    '1',
    '"{}"',
    '{',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a":1}}',
    '{"a":1} {"b":2}',
    '{"a":1},"table":"other"',
    '{a:1}',
    '{"a":"',
    '{"a":[}',
    '{"\\x":1}',
  ])('%s is not one object', text => {
    expect(topLevelMembers(Buffer.from(text))).toBeNull();
  });
});

describe('documents of a bootstrap payload are found while it arrives', () => {
  test('however it is cut into chunks', () => {
    const documents = fc.dictionary(key, fc.array(jsonObject, {maxLength: 4}), {maxKeys: 4});
    fc.assert(
      fc.property(documents, jsonObject, cuts, spaces, (tables, schema, lengths, space) => {
        const payload = {
          snapshot: {
            version: 1,
            schema: {documents: {fake: [schema]}, ...schema},
            documents: tables,
            scheduled_execution_ids: ['documents', '{', '"'],
          },
          documents: {fake: [[schema]]},
        };
        const scanner = new BootstrapDocuments();
        const found = cut(Buffer.from(JSON.stringify(payload, null, space)), lengths).flatMap(chunk =>
          scanner.feed(chunk).map(({table, text}) => [table, JSON.parse(text.toString())]),
        );
        const expected = Object.entries(tables).flatMap(([table, all]) => all.map(document => [table, document]));
        expect(found).toEqual(JSON.parse(JSON.stringify(expected)));
        expect(scanner.ended).toBe(true);
      }),
    );
  });

  test('a payload that was cut off has not ended', () => {
    const scanner = new BootstrapDocuments();
    expect(scanner.feed(Buffer.from('{"snapshot":{"documents":{"t":[{"a":1}]}'))).toHaveLength(1);
    expect(scanner.ended).toBe(false);
  });
});

describe('a stream is cut into lines', () => {
  async function linesOf(chunks: Buffer[], bytesMax: number): Promise<Line[]> {
    async function* stream(): AsyncGenerator<Buffer, void, void> {
      yield* chunks;
    }
    const lines: Line[] = [];
    for await (const line of readLines(stream(), bytesMax)) lines.push(line);
    return lines;
  }

  test('however it is cut into chunks', async () => {
    const texts = fc.array(fc.stringMatching(/^[ a-z"{}\t]{0,20}$/), {maxLength: 20});
    await fc.assert(
      fc.asyncProperty(texts, cuts, fc.boolean(), async (all, lengths, endsWithFeed) => {
        const bytes = Buffer.from(all.join('\n') + (endsWithFeed ? '\n' : ''));
        const lines = await linesOf(cut(bytes, lengths), 1_000);
        const expected = all.flatMap((text, i) => (text.trim() === '' ? [] : [[i + 1, text]]));
        expect(lines.map(line => [line.number, line.bytes?.toString()])).toEqual(expected);
      }),
    );
  });

  test.each([
    ['at the limit', 10, 'x'.repeat(10)],
    ['over it', 11, null],
  ])('a line %s', async (_, length, expected) => {
    const chunks = cut(Buffer.from(`a\n${'x'.repeat(length)}\nb\n`), [4, 4]);
    const lines = await linesOf(chunks, 10);
    expect(lines.map(line => line.bytes?.toString() ?? null)).toEqual(['a', expected, 'b']);
    expect(lines.map(line => line.endsAt)).toEqual([2, 3 + length, 5 + length]);
  });
});
