/** Differences between texts, line by line. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {unifiedDiff} from '../../shared/line-diff.ts';

/** What `patch` makes of it. */
function patched(before: string[], diff: string[]): string[] {
  const after: string[] = [];
  let at = 0;
  for (const line of diff) {
    const [, start, count] = /^@@ -(\d+),(\d+) /.exec(line) ?? [];
    if (start !== undefined) {
      const from = Number(count) === 0 ? Number(start) : Number(start) - 1;
      while (at < from) after.push(before[at++]!);
    } else if (line[0] === '+') after.push(line.slice(1));
    else {
      expect(line.slice(1)).toBe(before[at++]);
      if (line[0] === ' ') after.push(line.slice(1));
    }
  }
  return [...after, ...before.slice(at)];
}

const text = (lines: string[]) => lines.map(line => `${line}\n`).join('');

test('applied to the one text, they give the other', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', '', '@@ -1,1 +1,1', '-x'), {maxLength: 30});
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      expect(patched(before, unifiedDiff(text(before), text(after)))).toEqual(after);
    }),
    {numRuns: 500},
  );
});

test('have three lines of context, and as few edits as possible', () => {
  const before = Array.from({length: 30}, (_, n) => `line ${n}`);
  const after = before.toSpliced(4, 1, 'other').toSpliced(20, 0, 'new');
  expect(unifiedDiff(text(before), text(after))).toEqual([
    '@@ -2,7 +2,7 @@',
    ...[' line 1', ' line 2', ' line 3', '-line 4', '+other', ' line 5', ' line 6', ' line 7'],
    '@@ -18,6 +18,7 @@',
    ...[' line 17', ' line 18', ' line 19', '+new', ' line 20', ' line 21', ' line 22'],
  ]);
  expect(unifiedDiff('a\n', 'a\n')).toEqual([]);
  expect(unifiedDiff('', 'a\nb\n')).toEqual(['@@ -0,0 +1,2 @@', '+a', '+b']);
});

test('of texts that have nothing in common are one replacement', () => {
  const many = (name: string) => Array.from({length: 3_000}, (_, n) => `${name}${n}`);
  const diff = unifiedDiff(text(many('a')), text(many('b')));
  expect(diff[0]).toBe('@@ -1,3000 +1,3000 @@');
  expect(patched(many('a'), diff)).toEqual(many('b'));
});
