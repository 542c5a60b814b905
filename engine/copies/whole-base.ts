/** A base in one go, of a database that does not change meanwhile. */
import type {Sink} from './bytes.ts';
import type {CommitFacts} from './captured-set.ts';
import type {LogReader} from './log-reader.ts';
import {PagesDigest} from './page-digest.ts';
import type {Position} from './page-set.ts';
import {PageSetWriter} from './page-set-writer.ts';

/** @param pages of the database, which is at these facts. @returns the position of the base */
export function writeBase(
  log: LogReader,
  of: Pick<Position, 'timeline' | 'pageBytes' | 'pages'> & CommitFacts,
  sink: Sink,
): Position {
  const {timeline, pageBytes, pages, commit, sequence, timeMs} = of;
  const digest = new PagesDigest();
  const head = {timeline, pageBytes, first: 0, last: commit, sequence, timeMs, pagesBefore: 0, pagesAfter: pages};
  const writer = new PageSetWriter({...head, digestBefore: digest.value}, sink);
  for (let number = 1; number <= pages; number++) {
    const bytes = log.pageBefore(number, pageBytes);
    digest.toggle(number, bytes);
    writer.add({number, isDelta: false, bytes});
  }
  writer.end(digest.value);
  return {...of, digest: digest.value};
}
