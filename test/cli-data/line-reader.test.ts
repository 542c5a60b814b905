import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {type Lines, readLines, upToLine} from '../../cli/transfer/line-reader.ts';

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

describe('a stream is cut into pieces of whole lines', () => {
  async function piecesOf(chunks: Buffer[], bytesMax: number): Promise<Lines[]> {
    async function* stream(): AsyncGenerator<Buffer, void, void> {
      yield* chunks;
    }
    const pieces: Lines[] = [];
    for await (const lines of readLines(stream(), bytesMax)) pieces.push(lines);
    return pieces;
  }

  test('however it is cut into chunks', async () => {
    const texts = fc.array(fc.stringMatching(/^[ a-z"{}\t]{0,20}$/), {maxLength: 20});
    await fc.assert(
      fc.asyncProperty(texts, cuts, fc.boolean(), async (all, lengths, endsWithFeed) => {
        const bytes = Buffer.from(all.join('\n') + (endsWithFeed ? '\n' : ''));
        const expected = bytes.toString().split('\n');
        if (expected.at(-1) === '') expected.pop();
        let line = 1;
        let endsAt = 0;
        for (const piece of await piecesOf(cut(bytes, lengths), 1_000)) {
          const text = expected.slice(line - 1, line - 1 + piece.count).map(each => `${each}\n`);
          expect([piece.first, piece.bytes.toString()]).toEqual([line, text.join('')]);
          const middle = Math.ceil(text.length / 2);
          expect(upToLine(piece, line - 1 + middle).toString()).toBe(text.slice(0, middle).join(''));
          line += piece.count;
          endsAt += piece.bytes.length;
          expect(piece.endsAt).toBe(Math.min(endsAt, bytes.length));
        }
        expect(line).toBe(expected.length + 1);
      }),
    );
  });

  test.each([
    ['at the limit', 10, 10],
    ['over it: so much and a byte', 25, 11],
  ])('a line %s', async (_, length, delivered) => {
    const chunks = cut(Buffer.from(`a\n${'x'.repeat(length)}\nb\n`), [4, 4]);
    const pieces = await piecesOf(chunks, 10);
    expect(pieces.map(({bytes}) => bytes.toString()).join('')).toBe(`a\n${'x'.repeat(delivered)}\nb\n`);
    expect(pieces.map(({first, endsAt}) => [first, endsAt])).toEqual([
      [1, 2],
      [2, 5 + length],
    ]);
  });
});
