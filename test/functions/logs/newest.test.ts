/** The newest entries of a log, compared with a list of all of them. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {lineOf, NewestEntries, UNREAD_ENTRY_CHARS} from '../../../worker/runtime/log/log-entries.ts';

type Entry = {n: number; lines: string};

const entries = fc.array(fc.record({lines: fc.string({maxLength: 1_500}), isRead: fc.boolean()}), {maxLength: 40});

/** What is left of all entries: the last ones that fit both limits, and at least one. */
function left(all: {entry: Entry; chars: number}[], entriesMax: number, charsMax: number): Entry[] {
  const kept: Entry[] = [];
  let chars = 0;
  for (const one of all.toReversed()) {
    chars += one.chars;
    if (kept.length === entriesMax || (kept.length > 0 && chars > charsMax)) break;
    kept.unshift(one.entry);
  }
  return kept;
}

test('the newest entries that fit are kept, whether their lines are made at once or when they are read', () => {
  fc.assert(
    fc.property(
      entries,
      fc.nat(8),
      fc.integer({min: 1, max: 4_000}),
      fc.nat(10),
      (added, entriesMax, charsMax, count) => {
        const newest = new NewestEntries<Entry>(entriesMax, charsMax);
        const all: {entry: Entry; chars: number}[] = [];
        for (const [n, {lines, isRead}] of added.entries()) {
          const entry = {n, lines};
          const text = isRead ? lineOf(entry) : null;
          newest.add(entry, text);
          all.push({entry, chars: text?.length ?? UNREAD_ENTRY_CHARS});
        }
        const kept = left(all, entriesMax, charsMax);
        expect(newest.entries()).toEqual(kept.map(entry => ({entry, text: lineOf(entry)})));
        expect(newest.text(count)).toBe(
          kept
            .slice(Math.max(0, kept.length - count))
            .map(lineOf)
            .join(''),
        );
      },
    ),
  );
});
