/** The digest of a large file is made by two threads, and is the one that a single thread makes. */
import {closeSync, mkdtempSync, openSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import fc from 'fast-check';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {digestOfLargeFile} from '../../engine/copies/large-digest.ts';
import {digestOfFile} from '../../engine/copies/page-digest.ts';
import {DIGEST_PART_BYTES} from '../../engine/limits.ts';

const PAGE_BYTES = 4096;
const PAGES = Math.floor((3.5 * DIGEST_PART_BYTES) / PAGE_BYTES);
const BUILT = pathToFileURL(join(import.meta.dirname, '../../dist/digest.thread.js'));

let directory: string;
let fd: number;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const path = join(directory, 'file');
  const words = new Uint32Array((PAGES * PAGE_BYTES) / 4);
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i, 2_654_435_761);
  writeFileSync(path, words);
  fd = openSync(path, 'r');
});
afterAll(() => {
  closeSync(fd);
  rmSync(directory, {recursive: true});
});

test('of any number of pages, also of more than the file has', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({max: PAGES + 2_000}), async pages => {
      const digest = await digestOfLargeFile(fd, pages, PAGE_BYTES, {thread: BUILT, leastBytes: 0});
      expect(digest).toEqual(digestOfFile(fd, pages, PAGE_BYTES));
    }),
    {numRuns: 10},
  );
});

test.each([
  ['that cannot be made', ''],
  ['that fails', "throw new Error('no memory');"],
  ['that ends with parts that it took', "Atomics.add(require('worker_threads').workerData.taken, 0, 2);"],
])('without a second thread, or with one %s', async (_what, source) => {
  const thread = join(directory, 'thread.cjs');
  if (source === '') rmSync(thread, {force: true});
  else writeFileSync(thread, source);
  const division = {thread: pathToFileURL(thread), leastBytes: 0};
  expect(await digestOfLargeFile(fd, PAGES, PAGE_BYTES, division)).toEqual(digestOfFile(fd, PAGES, PAGE_BYTES));
});

test('a file that cannot be read is an error, and no thread uses it any more', async () => {
  const directoryFd = openSync(directory, 'r');
  const division = {thread: BUILT, leastBytes: 0};
  await expect(digestOfLargeFile(directoryFd, PAGES, PAGE_BYTES, division)).rejects.toThrow('EISDIR');
  closeSync(directoryFd);
});
