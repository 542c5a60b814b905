/** A process that ends at any step of a copy leaves a file that is refused, or one at a whole commit. */
import {mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeEach, describe, expect, test} from 'vitest';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import type {Disk} from '../../engine/copies/disk.ts';
import type {PageSet} from '../../engine/copies/page-set-reader.ts';
import {Ended, endsAt} from './ending-disk.ts';
import {QUICK_DISK, SMALL, setOf} from './model.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-test-copy-'));
const path = join(directory, 'copy.sqlite');
afterAll(() => rmSync(directory, {recursive: true}));
beforeEach(() => {
  for (const name of readdirSync(directory)) rmSync(join(directory, name));
});

/** Runs with an end at each of its changes in turn. @returns how many ended, with what was found after each */
function atEach(run: (disk: Disk) => void, found: () => string): Map<string, number> {
  const outcomes = new Map<string, number>();
  for (let change = 0; ; change++) {
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
    try {
      run(endsAt(change));
      return outcomes;
    } catch (caught) {
      if (!(caught instanceof Ended)) throw caught;
    }
    const outcome = found();
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
}

function opened(): string {
  try {
    const copy = CopyFile.open(path, QUICK_DISK);
    copy.verify();
    const {commit} = copy.position;
    copy.close();
    expect(readFileSync(path).equals(Buffer.concat(SMALL.states[commit - 1]!))).toBe(true);
    expect(readdirSync(directory).sort()).toEqual(['copy.sqlite', 'copy.sqlite.position']);
    return `commit ${commit}`;
  } catch (caught) {
    return (caught as Error).name;
  }
}

test('while it is made: there is no copy, or a whole one', () => {
  const outcomes = atEach(disk => CopyFile.create(path, setOf(SMALL, {first: 0, last: 1}), disk).close(), opened);
  expect([...outcomes.keys()]).toEqual(['CopyError', 'commit 1']);
});

test('while it takes the place of an earlier one: the earlier one, none, or the new one', () => {
  const outcomes = atEach(disk => {
    CopyFile.create(path, setOf(SMALL, {first: 0, last: 2}), QUICK_DISK).close();
    CopyFile.create(path, setOf(SMALL, {first: 0, last: 3}), disk).close();
  }, opened);
  expect([...outcomes.keys()]).toEqual(['commit 2', 'CopyError', 'commit 3']);
});

// The third commit makes the file longer, the fourth shorter.
test.each([
  [2, 2],
  [3, 3],
  [4, 4],
  [2, 5],
])('while commits %i to %i are applied: the commit before, or the last of them', (first, last) => {
  const outcomes = atEach(disk => {
    CopyFile.create(path, setOf(SMALL, {first: 0, last: first - 1}), QUICK_DISK).close();
    apply(setOf(SMALL, {first, last, isDelta: page => page % 2 === 0}), disk);
  }, opened);
  expect([...outcomes.keys()]).toEqual([`commit ${first - 1}`, `commit ${last}`]);
});

test('while an open completes it: a later open does', () => {
  const outcomes = atEach(disk => {
    leaveHalfApplied();
    CopyFile.open(path, disk).close();
  }, opened);
  expect([...outcomes.keys()]).toEqual(['commit 3']);
});

/** Leaves the file as a process does that ended with some of the pages written. */
function leaveHalfApplied(): void {
  for (let change = 0; ; change++) {
    CopyFile.create(path, setOf(SMALL, {first: 0, last: 2}), QUICK_DISK).close();
    expect(() => apply(setOf(SMALL, {first: 3, last: 3}), endsAt(change))).toThrow(Ended);
    const pages = readFileSync(path);
    if (!SMALL.states.some(state => pages.equals(Buffer.concat(state)))) return;
  }
}

function apply(set: PageSet, disk: Disk): void {
  const copy = CopyFile.open(path, disk);
  try {
    copy.apply(set);
  } finally {
    copy.close();
  }
}

describe('a copy whose files have changed is refused', () => {
  beforeEach(() => {
    CopyFile.create(path, setOf(SMALL, {first: 0, last: 2}), QUICK_DISK).close();
  });

  test('its position is missing or has changed', () => {
    const bytes = readFileSync(`${path}.position`);
    bytes[3]! ^= 1;
    writeFileSync(`${path}.position`, bytes);
    expect(opened()).toBe('CopyError');
    rmSync(`${path}.position`);
    expect(opened()).toBe('CopyError');
  });

  test('its file is shorter', () => {
    truncateSync(path, 2 * 512);
    expect(opened()).toBe('CopyError');
  });

  test('a page of it has changed: noticed by a set that changes that page, and by a full check', () => {
    const pages = readFileSync(path);
    pages[512]! ^= 1;
    writeFileSync(path, pages);
    const copy = CopyFile.open(path, QUICK_DISK);
    expect(() => copy.verify()).toThrow('are not those of commit 2');
    expect(() => copy.apply(setOf(SMALL, {first: 3, last: 3}))).toThrow(expect.objectContaining({code: 'wrong_pages'}));
    expect(readFileSync(path).equals(pages)).toBe(true);
    copy.close();
  });
});
