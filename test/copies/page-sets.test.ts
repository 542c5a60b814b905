/** Page sets against a list of pages: any way of cutting and merging the same commits leads to the same file. */
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {mergePageSets} from '../../engine/copies/merge.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {rounds} from '../harness/nightly.ts';
import {digestOf, histories, QUICK_DISK, SMALL, setBytes, setOf} from './model.ts';

const RUNS = rounds({commit: 25, nightly: 100});
const directory = mkdtempSync(join(tmpdir(), 'svc-test-copies-'));
const path = join(directory, 'copy.sqlite');
afterAll(() => rmSync(directory, {recursive: true}));

function merged(sets: readonly PageSet[]): PageSet {
  const sink = new MemorySink();
  mergePageSets(sets, sink);
  return new PageSet(sourceOf(sink.bytes));
}

/** The list in parts: `ends` says after which of them one ends. */
function cut<T>(list: readonly T[], ends: readonly boolean[]): T[][] {
  const parts: T[][] = [];
  for (const [i, one] of list.entries()) {
    if (i === 0 || ends[(i - 1) % ends.length]) parts.push([one]);
    else parts.at(-1)!.push(one);
  }
  return parts;
}

const ends = fc.array(fc.boolean(), {minLength: 1, maxLength: 12});

describe('page sets, cut and merged at random', () => {
  test('applied to a base they make the pages of their last commit', () => {
    fc.assert(
      fc.property(histories, ends, ends, ends, (history, setEnds, mergeEnds, deltas) => {
        const {states} = history;
        const commits = states.map((_, i) => i + 1).slice(1);
        const sets = cut(commits, setEnds).map(part =>
          setOf(history, {first: part[0]!, last: part.at(-1)!, isDelta: page => deltas[page % deltas.length]!}),
        );
        const copy = CopyFile.create(path, setOf(history, {first: 0, last: 1}), QUICK_DISK);
        for (const part of cut(sets, mergeEnds)) {
          copy.apply(merged(part));
          const expected = states[copy.position.commit - 1]!;
          expect(readFileSync(path).equals(Buffer.concat(expected))).toBe(true);
          expect(copy.position.digest.equals(digestOf(expected))).toBe(true);
        }
        expect(copy.position).toMatchObject({commit: states.length, sequence: 10 * states.length});
        copy.verify();
        copy.close();
      }),
      {numRuns: RUNS},
    );
  });

  test('merged with a base they are a base of their last commit', () => {
    fc.assert(
      fc.property(histories, ends, (history, deltas) => {
        const base = setOf(history, {first: 0, last: 1});
        const sets = history.states
          .slice(1)
          .map((_, i) => setOf(history, {first: i + 2, last: i + 2, isDelta: page => deltas[page % deltas.length]!}));
        const inOne = merged([base, ...sets]);
        const inTwo = merged([base, ...(sets.length > 1 ? [merged(sets)] : sets)]);
        for (const set of [inOne, inTwo]) {
          expect(set.isBase).toBe(true);
          const pages = [...set.entries()].map(entry => entry.bytes);
          expect(Buffer.concat(pages).equals(Buffer.concat(history.states.at(-1)!))).toBe(true);
        }
      }),
      {numRuns: RUNS},
    );
  });
});

describe('a page set that does not belong is refused by name, and the file stays as it was', () => {
  const other = {...SMALL, states: SMALL.states.map(pages => pages.map(page => Buffer.from(page).fill(9, 100, 101)))};
  const large = {pageBytes: 1024, states: SMALL.states.map(pages => pages.map(page => Buffer.concat([page, page])))};

  test.each([
    ['its commits come later', 'missing_commits', setBytes(SMALL, {first: 4, last: 4})],
    ['its commits were applied before', 'past_commits', setBytes(SMALL, {first: 2, last: 2})],
    ['its first commit was applied before', 'past_commits', setBytes(SMALL, {first: 2, last: 3})],
    ['it is a base', 'past_commits', setBytes(SMALL, {first: 0, last: 3})],
    ['it is of another timeline', 'other_timeline', setBytes(SMALL, {first: 3, last: 3, timeline: 'f'.repeat(32)})],
    ['a second file has gone on from the same commit', 'other_history', setBytes(other, {first: 3, last: 3})],
    ['its pages have another size', 'other_history', setBytes(large, {first: 3, last: 3})],
  ])('%s', (_, code, bytes) => {
    const copy = CopyFile.create(path, setOf(SMALL, {first: 0, last: 1}), QUICK_DISK);
    copy.apply(setOf(SMALL, {first: 2, last: 2}));
    const refusal = expect.objectContaining({name: 'PageSetError', code});
    expect(() => copy.apply(new PageSet(sourceOf(bytes)))).toThrow(refusal);
    expect(readFileSync(path).equals(Buffer.concat(SMALL.states[1]!))).toBe(true);
    copy.apply(setOf(SMALL, {first: 3, last: 3}));
    copy.close();
  });

  test('sets that do not follow one another are not merged', () => {
    const [second, third, fourth] = [2, 3, 4].map(n => setOf(SMALL, {first: n, last: n}));
    expect(() => merged([second!, fourth!])).toThrow(expect.objectContaining({code: 'missing_commits'}));
    expect(() => merged([third!, second!])).toThrow(expect.objectContaining({code: 'past_commits'}));
  });
});
