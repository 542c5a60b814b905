/**
 * Merges page sets that follow one another into one, which has the pages after the last of them. A base can be the
 * first, so that a base and the sets after it become a newer base.
 *
 *   before │ page  page: the later one     page  delta: page XOR delta     delta  delta: delta XOR delta
 */
import {setImmediate as nextTurn} from 'node:timers/promises';
import {assert} from '../../shared/assert.ts';
import {PAGE_SETS_MERGED_MAX} from '../limits.ts';
import type {Sink} from './bytes.ts';
import {xorInto} from './page-digest.ts';
import {checkFollows, entriesMax, type PageEntry, type PageSetHead} from './page-set.ts';
import type {PageSet} from './page-set-reader.ts';
import {PageSetWriter} from './page-set-writer.ts';

/** @returns the SHA-256 of the merged set. @throws PageSetError */
export function mergePageSets(sets: readonly PageSet[], sink: Sink): Buffer {
  const steps = mergeSteps(sets, sink);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Like `mergePageSets`, with a pause after each chunk, in which the process does other things. */
export async function mergePageSetsInTurns(sets: readonly PageSet[], sink: Sink): Promise<Buffer> {
  const steps = mergeSteps(sets, sink);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}

function* mergeSteps(sets: readonly PageSet[], sink: Sink): Generator<void, Buffer> {
  const head = mergedHead(sets);
  const writer = new PageSetWriter(head, sink);
  let entries = 0;
  for (const entry of mergedEntries(sets)) {
    // A later set has made the database shorter.
    if (entry.number <= head.pagesAfter) writer.add(entry);
    if (++entries % entriesMax(head.pageBytes) === 0) yield;
  }
  return writer.end(sets.at(-1)!.after.digest);
}

function mergedHead(sets: readonly PageSet[]): PageSetHead {
  assert(sets.length > 0 && sets.length <= PAGE_SETS_MERGED_MAX, `${sets.length} page sets are merged`);
  for (const [i, set] of sets.entries()) if (i > 0) checkFollows(sets[i - 1]!.after, set.head);
  const {head} = sets[0]!;
  const {commit, sequence, timeMs, pages} = sets.at(-1)!.after;
  return {...head, last: commit, sequence, timeMs, pagesAfter: pages};
}

/** One entry for each page that a set has, in the order of their numbers. */
function* mergedEntries(sets: readonly PageSet[]): Generator<PageEntry> {
  const readers = sets.map(set => set.entries());
  const next = readers.map(takenFrom);
  for (;;) {
    const number = next.reduce((least, entry) => Math.min(least, entry?.number ?? least), Number.POSITIVE_INFINITY);
    if (number === Number.POSITIVE_INFINITY) return;
    let merged: PageEntry | null = null;
    for (const [i, entry] of next.entries()) {
      if (entry?.number !== number) continue;
      merged = merged === null ? entry : combined(merged, entry);
      next[i] = takenFrom(readers[i]!);
    }
    yield merged!;
  }
}

function takenFrom(entries: Generator<PageEntry>): PageEntry | null {
  const {done, value} = entries.next();
  return done === true ? null : value;
}

function combined(earlier: PageEntry, later: PageEntry): PageEntry {
  if (!later.isDelta) return later;
  const bytes = Buffer.from(later.bytes);
  xorInto(bytes, earlier.bytes);
  return {number: later.number, isDelta: earlier.isDelta, bytes};
}
