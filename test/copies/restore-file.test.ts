/** A restored file is the state of the newest commit at or before the target, or there is no file. */
import {createHash} from 'node:crypto';
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, beforeEach, describe, expect, test} from 'vitest';
import type {Target} from '../../copies/repository/plan.ts';
import {addItem, type CopyItem, type Item, type TenantCopies} from '../../copies/repository/tenant-copies.ts';
import {type CopiesReader, restoreFile, scratchOf} from '../../copies/restore/restore-file.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {type History, histories, SMALL, setBytes} from './model.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-test-restore-'));
const path = join(directory, 'tenant.sqlite');
afterAll(() => rmSync(directory, {recursive: true}));
beforeEach(() => {
  for (const name of readdirSync(directory)) rmSync(join(directory, name), {recursive: true});
});

/** A repository in memory. */
class Copies implements CopiesReader {
  readonly #bytes = new Map<string, Buffer>();
  readonly #copies: TenantCopies = {tenant: 'acme', timelines: [], files: [], unreadable: []};

  add(history: History, first: number, last: number): void {
    const bytes = setBytes(history, {first, last, isDelta: page => (page + last) % 2 === 0});
    const {head, after} = new PageSet(sourceOf(bytes));
    const item: CopyItem = {
      kind: first === 0 ? 'base' : 'set',
      timeline: head.timeline,
      ...{first, last, sequence: head.sequence, timeMs: head.timeMs, pageBytes: head.pageBytes, pages: head.pagesAfter},
      digestBefore: head.digestBefore.toString('hex'),
      digestAfter: after.digest.toString('hex'),
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      place: {pack: `${first}-${last}`, at: 0, sealedBytes: 0},
    };
    addItem(this.#copies, item, {atMs: 0, origin: null, isMerged: false});
    this.change(first, last, () => bytes);
  }

  /** Changes the bytes that are downloaded. */
  change(first: number, last: number, change: (bytes: Buffer) => Buffer): void {
    const name = `${first}-${last}`;
    this.#bytes.set(name, change(this.#bytes.get(name) ?? Buffer.alloc(0)));
  }

  async copies(): Promise<TenantCopies> {
    return this.#copies;
  }

  async fetch(_tenant: string, item: Item, to: string): Promise<void> {
    await writeFile(to, this.#bytes.get(item.place.pack)!, {flag: 'wx'});
  }
}

function restored(repository: CopiesReader, target: Target) {
  return restoreFile({repository, tenant: 'acme', target, path, isKept: true});
}

/** Ends of sets, and which of them are bases as well. */
const cuts = fc.record({ends: fc.array(fc.nat(11)), bases: fc.array(fc.nat(11)), target: fc.nat(11)});

test('at any commit, sequence and time: the state of the newest end of a set at or before it', async () => {
  await fc.assert(
    fc.asyncProperty(histories, cuts, async (history, {ends, bases, target}) => {
      const commits = history.states.length;
      const points = [...new Set([1, commits, ...ends.map(end => 1 + (end % commits))])].sort((a, b) => a - b);
      const repository = new Copies();
      for (const [i, last] of points.entries()) {
        if (i === 0 || bases.includes(last)) repository.add(history, 0, last);
        if (i > 0) repository.add(history, points[i - 1]! + 1, last);
      }
      const commit = 1 + (target % commits);
      const expected = points.findLast(point => point <= commit)!;
      for (const asked of [{commit}, {sequence: 10 * commit + 9}, {timeMs: 1_700_000_000_000 + commit}] as Target[]) {
        const found = await restored(repository, asked);
        expect(found).toMatchObject({
          commit: expected,
          sequence: 10 * expected,
          pages: history.states[expected - 1]!.length,
        });
        expect(readFileSync(path).equals(Buffer.concat(history.states[expected - 1]!))).toBe(true);
        expect(readdirSync(directory)).toEqual(['tenant.sqlite']);
        rmSync(path);
      }
    }),
    {numRuns: 40},
  );
});

test('a newer state that was stored and cannot be read is named, with the objects that are lost', async () => {
  const copies = new Copies();
  copies.add(SMALL, 0, 2);
  copies.add(SMALL, 3, 3);
  expect(await restored(copies, 'newest')).toMatchObject({commit: 3, gap: null});
  rmSync(path);
  copies.add(SMALL, 5, 5);
  const {timeline} = new PageSet(sourceOf(setBytes(SMALL, {first: 5, last: 5}))).head;
  expect(await restored(copies, 'newest')).toMatchObject({
    commit: 3,
    gap: {
      finding: `only commit 3 can be restored, and commit 5 of timeline ${timeline} was stored; a page set before it is missing`,
      newest: {timeline, commit: 5},
    },
  });
  rmSync(path);
  // For an earlier moment nothing is missing.
  expect(await restored(copies, {commit: 4})).toMatchObject({commit: 3, gap: null});
  rmSync(path);
  (await copies.copies()).unreadable.push('packs/lost');
  for (const target of ['newest', {commit: 4}] as const) {
    const {gap} = await restored(copies, target);
    expect(gap).toMatchObject({unreadable: ['packs/lost'], finding: expect.stringContaining('packs/lost')});
    rmSync(path);
  }
});

describe('what is refused leaves no file', () => {
  const all = () => {
    const copies = new Copies();
    copies.add(SMALL, 0, 2);
    for (const commit of [3, 4, 5]) copies.add(SMALL, commit, commit);
    return copies;
  };

  test.each<[string, (copies: Copies) => void, string]>([
    [
      'a base with a changed bit',
      copies => copies.change(0, 2, flipped),
      'the base at commit 2 in 0-2: its bytes do not match',
    ],
    [
      'a set with a changed bit',
      copies => copies.change(4, 4, flipped),
      'commits 4 to 4 in 4-4: its bytes do not match',
    ],
    [
      'a set without its end',
      copies => copies.change(4, 4, bytes => bytes.subarray(0, 200)),
      'commits 4 to 4 in 4-4: its bytes',
    ],
    [
      'an empty object',
      copies => copies.change(4, 4, () => Buffer.alloc(0)),
      'commits 4 to 4 in 4-4: it is not a page set',
    ],
    [
      'another set',
      copies => copies.change(4, 4, () => setBytes(SMALL, {first: 3, last: 3})),
      'commits 4 to 4 in 4-4: its first is 3, and the repository lists 4',
    ],
    [
      "another tenant's set",
      copies => copies.change(4, 4, () => setBytes(SMALL, {first: 4, last: 4, timeline: 'f'.repeat(32)})),
      `commits 4 to 4 in 4-4: its timeline is ${'f'.repeat(32)}, and`,
    ],
  ])('%s', async (_, damage, message) => {
    const copies = all();
    damage(copies);
    await expect(restored(copies, 'newest')).rejects.toMatchObject({
      code: 'damaged',
      object: message.includes('base') ? '0-2' : '4-4',
      message: expect.stringContaining(message),
    });
    expect(readdirSync(directory)).toEqual([]);
    // What comes before the damage can be restored.
    if (!message.includes('base')) expect(await restored(copies, {commit: 3})).toMatchObject({commit: 3});
  });

  test('a failed download, one that is ahead of it too', async () => {
    const copies = all();
    copies.fetch = (_tenant, {place}) => Promise.reject(new Error(`no object ${place.pack}`));
    await expect(restored(copies, 'newest')).rejects.toThrow('no object 0-2');
    expect(readdirSync(directory)).toEqual([]);
  });

  test('a target before the first copy', async () => {
    await expect(restored(all(), {commit: 1})).rejects.toMatchObject({code: 'no_copies'});
  });

  test('a tenant for which the disk has no space, before anything is downloaded', async () => {
    const copies = all();
    const {timelines} = await copies.copies();
    timelines[0]!.bases[0] = {...timelines[0]!.bases[0]!, pages: 2 ** 40};
    copies.fetch = () => Promise.reject(new Error('it was downloaded'));
    const message =
      /cannot be restored in .+: the disk has \d+ MiB free: \d+ MiB are needed, and \d+ MiB have to stay free/;
    await expect(restored(copies, 'newest')).rejects.toMatchObject({
      code: 'no_space',
      message: expect.stringMatching(message),
    });
    expect(readdirSync(directory)).toEqual([]);
  });

  test('a file that is there', async () => {
    writeFileSync(path, 'mine');
    await expect(restored(all(), 'newest')).rejects.toMatchObject({code: 'exists'});
    expect(readFileSync(path, 'utf8')).toBe('mine');
  });
});

test('files of a restore that was killed are removed by the next one', async () => {
  const copies = new Copies();
  copies.add(SMALL, 0, 5);
  mkdirSync(scratchOf(path));
  writeFileSync(join(scratchOf(path), 'copy'), 'half');
  writeFileSync(join(scratchOf(path), '0.set'), 'half');
  expect(await restored(copies, 'newest')).toMatchObject({commit: 5});
  expect(readdirSync(directory)).toEqual(['tenant.sqlite']);
});

function flipped(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  changed[bytes.length >> 1]! ^= 4;
  return changed;
}
