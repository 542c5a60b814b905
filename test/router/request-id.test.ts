import {expect, test} from 'vitest';
import {RequestIds} from '../../router/http/reply-head.ts';

test("a client's printable id of up to 64 characters is kept", () => {
  const ids = new RequestIds();
  for (const id of ['a', 'trace:1/2', 'x'.repeat(64)]) expect(ids.next(id)).toBe(id);
});

test.each(['', 'two words', 'x'.repeat(65), 'ü', 'a\tb'])(
  '%j is replaced by an id of our own, new each time',
  given => {
    const ids = new RequestIds();
    const first = ids.next(given);
    expect(first).toMatch(/^[0-9a-f]{10}-[0-9a-z]+$/);
    expect(ids.next(given)).not.toBe(first);
  },
);
