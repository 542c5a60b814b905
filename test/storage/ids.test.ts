import {describe, expect, test} from 'vitest';
import {checkChosenId, decodeId, IdFactory} from '../../engine/storage/ids.ts';

describe('an id that the caller chose has 1 to 128 printable characters without /, and is not like ours', () => {
  test.each([
    ...['a', 'x'.repeat(127), 'x'.repeat(128), 'order 7', 'é', '日本', '__proto__', '%2F', 'z'.repeat(32)],
    ...['...', '.a', '👩‍🚀', '❤️‍🔥', 'می‌خواهم'],
  ])('%j is one', id => {
    expect(() => checkChosenId(id)).not.toThrow();
  });

  test.each(['.', '..'])('%j is not: no client could send it in a path', id => {
    expect(() => checkChosenId(id)).toThrow('is not . or ..');
  });

  test.each(['', 'x'.repeat(129), 'a/b', 'a\0', 'a\nb', '\u2028', '\ud800', '\u202e', new IdFactory(Date.now).next(1)])(
    '%j is not',
    id => {
      expect(() => checkChosenId(id)).toThrow('printable characters');
    },
  );
});

describe('document ids', () => {
  test('are 32 characters of lower-case base32, and say their table and time', () => {
    const ids = new IdFactory(() => 1_800_000_000_123);
    for (const table of [1, 2, 255, 256, 65_535]) {
      const id = ids.next(table);
      expect(id).toMatch(/^[0-9a-z]{32}$/);
      expect(decodeId(id)).toEqual({tableNumber: table, createdMs: 1_800_000_000_123});
    }
  });

  test('take their randomness from the given source', () => {
    const make = (byte: number) =>
      new IdFactory(
        () => 1_800_000_000_123,
        bytes => bytes.fill(byte),
      ).next(1);
    expect(make(1)).toBe(make(1));
    expect(make(1)).not.toBe(make(2));
  });

  test('of later milliseconds sort behind earlier ones', () => {
    let now = 1_700_000_000_000;
    const ids = new IdFactory(() => now++);
    const made = Array.from({length: 2000}, () => ids.next(3));
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(made.length);
  });

  test('with any one character changed are not ids', () => {
    const id = new IdFactory(Date.now).next(7);
    for (let i = 0; i < id.length; i++) {
      for (const other of '0123456789abcdefghjkmnpqrstvwxyzilou-A') {
        if (other === id[i]) continue;
        expect(decodeId(id.slice(0, i) + other + id.slice(i + 1))).toBe(null);
      }
    }
  });

  test.each(['', 'x', 'a'.repeat(31), 'a'.repeat(33), '/'.repeat(32)])('%j is not an id', text => {
    expect(decodeId(text)).toBe(null);
  });
});
