/** The bytes of a page set: whatever has changed in them, or breaks a rule of the format, is refused by name. */
import {createHash} from 'node:crypto';
import {deflateRawSync} from 'node:zlib';
import {describe, expect, test} from 'vitest';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {SMALL, setBytes} from './model.ts';

/** Two pages of four; the others are as before. */
const SET = setBytes(SMALL, {first: 4, last: 4, isDelta: page => page === 1});
const BASE = setBytes(SMALL, {first: 0, last: 2});
const HEADER = 128;
const TRAILER = 68;

function codeOf(bytes: Buffer): string {
  try {
    return String([...new PageSet(sourceOf(bytes)).entries()].length);
  } catch (caught) {
    return (caught as {code: string}).code;
  }
}

/** As a writer with a fault would have made it: the SHA-256 matches. */
function resealed(bytes: Buffer): Buffer {
  const end = bytes.length - 32;
  createHash('sha256').update(bytes.subarray(0, end)).digest().copy(bytes, end);
  return bytes;
}

function changed(bytes: Buffer, change: (copy: Buffer) => unknown): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return resealed(copy);
}

/** The set with one uncompressed chunk of these entries. */
function withEntries(entries: [number: number, kind: number][], said = entries.length): Buffer {
  const raw = Buffer.alloc(entries.length * 520);
  for (const [i, [number, kind]] of entries.entries()) {
    raw.writeUInt32BE(number, i * 520);
    raw.writeUInt32BE(kind, i * 520 + 4);
  }
  return withChunk(raw, raw.length / 520, 0, said);
}

function withChunk(bytes: Buffer, entries: number, method: number, said = entries): Buffer {
  const chunk = Buffer.alloc(9);
  chunk.writeUInt32BE(entries, 0);
  chunk.writeUInt32BE(bytes.length, 4);
  chunk[8] = method;
  const trailer = Buffer.from(SET.subarray(-TRAILER));
  trailer.writeUInt32BE(said, 0);
  return resealed(Buffer.concat([SET.subarray(0, HEADER), chunk, bytes, Buffer.alloc(9), trailer]));
}

test('a set with any bit changed is refused', () => {
  const codes = new Map<string, number>();
  for (let bit = 0; bit < SET.length * 8; bit += 3) {
    const flipped = Buffer.from(SET);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    codes.set(codeOf(flipped), 1);
  }
  expect([...codes.keys()].sort()).toEqual(['damaged', 'not_a_page_set', 'unknown_format']);
});

test('a set that is cut anywhere, or continued, is refused', () => {
  const codes = new Set<string>();
  for (let length = 0; length < SET.length; length++) codes.add(codeOf(SET.subarray(0, length)));
  expect([...codes].sort()).toEqual(['damaged', 'not_a_page_set']);
  expect(codeOf(Buffer.concat([SET, Buffer.alloc(1)]))).toBe('damaged');
});

test('chunks are read as their own byte says: stored, zstd or deflate', () => {
  const raw = Buffer.alloc(520);
  raw.writeUInt32BE(2, 0);
  expect(codeOf(withChunk(raw, 1, 0))).toBe('1');
  expect(codeOf(withChunk(deflateRawSync(raw), 1, 2))).toBe('1');
  expect(codeOf(withChunk(deflateRawSync(raw), 1, 3))).toBe('invalid');
});

describe('a set whose SHA-256 matches, but not the rules, is invalid', () => {
  const word = (at: number, value: number) => (copy: Buffer) => copy.writeUInt32BE(value, at);

  test.each([
    ['pages of no power of two', changed(SET, word(12, 513))],
    ['pages too large', changed(SET, word(12, 131_072))],
    ['a last commit before its first', changed(SET, word(44, 3))],
    ['a commit number beyond 2^53', changed(SET, word(40, 0x200000))],
    ['no pages after it', changed(SET, word(68, 0))],
    ['pages before a base', changed(BASE, word(64, 4))],
    ['a digest before a base', changed(BASE, word(72, 4))],
    ['no pages before a set', changed(SET, word(64, 0))],
    ['more behind its header', changed(SET, word(124, 1))],
    ['another number of entries than it says', withEntries([[1, 0]], 2)],
    ['a page 0', withEntries([[0, 0]])],
    ['a page above those after it', withEntries([[5, 0]])],
    ['a page twice', withEntries([[2, 0], [2, 0]])], // biome-ignore format: as it reads
    ['pages out of order', withEntries([[2, 0], [1, 0]])], // biome-ignore format: as it reads
    ['an unknown encoding', withEntries([[1, 2]])],
    ['a base without a page', changed(BASE, word(68, 4))],
    ['a delta of a page that was not there', changed(withEntries([[4, 1]]), word(64, 3))],
    ['no end of its chunks', changed(withEntries([[1, 0]]), copy => copy.writeUInt32BE(1, copy.length - TRAILER - 9))],
    ['bytes behind its chunks', changed(withEntries([[1, 0]]), word(HEADER, 0))],
    ['a chunk beyond its end', changed(SET, word(HEADER + 4, 0xffffff))],
    ['a chunk of too many pages', changed(SET, word(HEADER, 0xffffff))],
    ['a chunk that holds fewer pages', withChunk(deflateRawSync(Buffer.alloc(519)), 1, 2)],
    ['a chunk that holds far more', withChunk(deflateRawSync(Buffer.alloc(2 ** 24)), 1, 2)],
    ['a chunk that is not compressed as it says', withChunk(Buffer.alloc(100), 1, 1)],
  ])('%s', (_, bytes) => {
    expect(codeOf(bytes)).toBe('invalid');
  });
});
