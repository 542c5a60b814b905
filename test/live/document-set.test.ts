/** A set of document numbers against the language's own. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {DocumentSet} from '../../engine/live/document-set.ts';

const doc = fc.oneof(
  fc.nat({max: 9_000}).map(at => 2 ** 37 + at),
  fc.nat({max: 3}).map(at => 2 ** 52 + at * 31),
);

test('a set of document numbers holds each once', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), doc), {maxLength: 60}), steps => {
      const set = new DocumentSet();
      const model = new Set<number>();
      for (const [isAdded, one] of steps) {
        if (isAdded) set.add(one);
        else set.delete(one);
        if (isAdded) model.add(one);
        else model.delete(one);
        expect(set.size).toBe(model.size);
      }
      for (const one of model) set.delete(one);
      expect([set.size, set.bytes]).toEqual([0, 0]);
    }),
  );
});

test('a million numbers in a row take less than a byte each', () => {
  const set = new DocumentSet();
  for (let at = 0; at < 1_000_000; at++) set.add(2 ** 37 + at);
  expect(set.bytes).toBeLessThan(1_000_000);
});
