/** Makes page sets of the commits in a log. */
import {PAGE_HASHES_MAX} from '../limits.ts';
import type {Sink} from './bytes.ts';
import type {LogReader, TakenCommits} from './log-reader.ts';
import {PageHashes, PagesDigest, xorInto} from './page-digest.ts';
import type {PageSetHead, Position} from './page-set.ts';
import {PageSetWriter} from './page-set-writer.ts';

/** What the pages do not say about the last commit. */
export type CommitFacts = Pick<Position, 'commit' | 'sequence' | 'timeMs'>;

/**
 * @param before where the database is before the taken commits, of which there is at least one.
 * @param hashes of pages as the sets before left them
 * @returns where they lead; they can be accepted then
 */
export function writeSet(
  log: LogReader,
  before: Position,
  taken: TakenCommits,
  to: CommitFacts,
  sink: Sink,
  hashes = new PageHashes(PAGE_HASHES_MAX),
): Position {
  const {timeline, pageBytes} = before;
  const pagesAfter = taken.pagesAfter ?? before.pages;
  const digest = new PagesDigest(before.digest);
  const head: PageSetHead = {
    timeline,
    pageBytes,
    first: before.commit + 1,
    last: to.commit,
    sequence: to.sequence,
    timeMs: to.timeMs,
    pagesBefore: before.pages,
    pagesAfter,
    digestBefore: before.digest,
  };
  const numbers = numbersOf(taken, before.pages, pagesAfter);
  // The copier merges it.
  const writer = new PageSetWriter(head, sink, {effort: 'quick', entries: numbers.length});
  const space = Buffer.allocUnsafe(pageBytes);
  for (const number of numbers) {
    const isNew = number > before.pages;
    // No commit has written it: a page that was allocated and freed at once.
    const page = taken.changed.has(number) ? log.pageAfter(number, pageBytes, taken) : Buffer.alloc(pageBytes);
    if (!isNew) {
      const old = log.pageBefore(number, pageBytes, space);
      if (old.equals(page)) continue;
      hashes.change(digest, number, old, page);
      xorInto(old, page);
      writer.add({number, isDelta: true, bytes: old});
    } else {
      hashes.add(digest, number, page);
      writer.add({number, isDelta: false, bytes: page});
    }
  }
  if (pagesAfter < before.pages) hashes.clear();
  for (let number = pagesAfter + 1; number <= before.pages; number++) {
    digest.toggle(number, log.pageBefore(number, pageBytes, space));
  }
  writer.end(digest.value);
  return {timeline, pageBytes, ...to, pages: pagesAfter, digest: digest.value};
}

/** The pages that have changed and remain, and all new ones, in order. */
function numbersOf({changed}: TakenCommits, pagesBefore: number, pagesAfter: number): number[] {
  const numbers = [...changed.keys()].filter(number => number <= Math.min(pagesBefore, pagesAfter));
  numbers.sort((a, b) => a - b);
  for (let number = pagesBefore + 1; number <= pagesAfter; number++) numbers.push(number);
  return numbers;
}
