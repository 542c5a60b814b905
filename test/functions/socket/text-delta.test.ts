import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {applyTextDelta} from '../../../sdk/client/text-delta.ts';
import {textDelta} from '../../../worker/functions/sync/session/text-delta.ts';

/** Texts that share much, as results that follow each other do, of halves of surrogate pairs, too. */
const text = fc.string({unit: fc.constantFrom('a', 'b', '"', '\ud83d', '\ude00', 'é'), maxLength: 30});

describe('a change of a text', () => {
  test('gives the text after, over JSON as well', () => {
    fc.assert(
      fc.property(text, text, text, text, (head, before, after, tail) => {
        const [from, to] = [head + before + tail, head + after + tail];
        const delta = JSON.parse(JSON.stringify(textDelta(from, to)));
        expect(applyTextDelta(from, delta)).toBe(to);
      }),
    );
  });

  test('is as short as what is new between what both begin and end with', () => {
    fc.assert(
      fc.property(text, text, text, text, (head, before, after, tail) => {
        const inserted = textDelta(head + before + tail, head + after + tail).reduce(
          (sum, [, , {length}]) => sum + length,
          0,
        );
        expect(inserted).toBeLessThanOrEqual(after.length);
      }),
    );
  });

  test('of equal texts is none', () => expect(textDelta('same', 'same')).toEqual([]));
});
