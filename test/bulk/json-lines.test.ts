/** JSON lines are the same lines however the network cuts them up. */
import {Buffer, isUtf8} from 'node:buffer';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {jsonLines} from '../../worker/api/bulk/import/json-lines.ts';

type Seen = [line: number, what: 'document' | 'refused' | 'end'];

const LINE_FEED = Buffer.from('\n');
const line = fc.oneof(
  fc
    .constantFrom('', ' \t\r', '{"n":1}', '{"n":1}\r', ' {"text":"ä€😀"} ', '{"n":', '[1]', 'null')
    .map(text => Buffer.from(text)),
  fc.nat(400).map(length => Buffer.from(JSON.stringify({text: 'x'.repeat(length)}))),
  fc.constant(Buffer.from('{"text":"\xff"}', 'latin1')),
);
/** Lengths of pieces; the last one takes what is left. */
const cuts = fc.array(fc.integer({min: 1, max: 40}), {maxLength: 60});

/** Line by line. */
function naive(lines: readonly Buffer[], isEnded: boolean, from: number): Seen[] {
  const all = lines.flatMap((bytes, i): Seen[] => {
    const text = bytes.toString();
    if (i + 1 < from || /^[\0-\x20]*$/.test(text)) return [];
    return [[i + 1, isUtf8(bytes) && isObject(text) ? 'document' : 'refused']];
  });
  const isCut = !isEnded && (lines.at(-1)?.length ?? 0) === 0; // nothing behind the last line feed
  const last = lines.length === 0 ? Number(isEnded) : lines.length - Number(isCut);
  return last > 0 && last >= from ? [...all, [last, 'end']] : all;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

async function* chunksOf(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (const length of lengths) {
    if (at < bytes.length) yield bytes.subarray(at, at + length);
    at += length;
  }
  if (at < bytes.length) yield bytes.subarray(at);
}

async function seen(chunks: AsyncIterable<Buffer>, from: number): Promise<Seen[]> {
  const all: Seen[] = [];
  for await (const some of jsonLines(chunks, {table: 't', mode: 'insert'}, 1, from)) {
    for (const one of some) all.push([one.line, 'error' in one ? 'refused' : 'isEnd' in one ? 'end' : 'document']);
  }
  return all;
}

test('each line is what it is alone, in order, with its number; the last number ends them, if blank lines do', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, {maxLength: 12}),
      fc.boolean(),
      fc.integer({min: 1, max: 5}),
      cuts,
      async (lines, isEnded, from, lengths) => {
        const bytes = Buffer.concat(
          lines.flatMap((one, i) => (i === 0 ? [one] : [LINE_FEED, one])).concat(isEnded ? [LINE_FEED] : []),
        );
        expect(await seen(chunksOf(bytes, lengths), from)).toEqual(naive(lines, isEnded, from));
      },
    ),
    {numRuns: 300},
  );
});

test('a line that comes byte by byte is one line', async () => {
  const bytes = Buffer.from(`{"text":"${'ä'.repeat(50_000)}"}\n[]`);
  expect(await seen(chunksOf(bytes, Array(bytes.length).fill(1)), 1)).toEqual([
    [1, 'document'],
    [2, 'refused'],
    [2, 'end'],
  ]);
});
