/**
 * Makes a base of a database that goes on changing, in steps between which the commits are taken: a base that kept the
 * checkpoints of a large tenant waiting would let its log grow without bound.
 *
 *   copying ── each step: the next pages to a file; each commit: its pages that are in the file, again ──▶ copied
 *   copied: the file has the database at one commit, and the digest is known, so sets after it can be made
 *   copied ── each step: the next pages of the file as a page set ──▶ written
 *
 * The base is at the commit that was taken before the last page was copied.
 */
import {assert} from '../../shared/assert.ts';
import {BASE_STEP_PAGES} from '../limits.ts';
import {readAt, type Sink} from './bytes.ts';
import type {CommitFacts} from './captured-set.ts';
import type {Disk} from './disk.ts';
import type {LogReader, TakenCommits} from './log-reader.ts';
import {PagesDigest} from './page-digest.ts';
import type {Position} from './page-set.ts';
import {PageSetWriter} from './page-set-writer.ts';

/** The database at the newest commit that was taken. */
export type DatabaseState = CommitFacts & Pick<Position, 'timeline' | 'pageBytes' | 'pages'>;

export class BaseCopy {
  readonly #disk: Disk;
  readonly #paths: {pages: string; base: string};
  readonly #pageBytes: number;
  readonly #pages: number;
  /** Of the pages that are in the file. */
  #digest = new PagesDigest();
  /** Pages in the file. */
  #copied = 0;
  #base: number | null = null;
  #writer: PageSetWriter | null = null;
  #written = 0;

  constructor(disk: Disk, paths: {pages: string; base: string}, pageBytes: number) {
    this.#disk = disk;
    this.#paths = paths;
    this.#pageBytes = pageBytes;
    this.#pages = disk.open(paths.pages, 'w+');
  }

  /** Copies the next pages. @param pages of the database. @returns whether all are copied */
  copySome(log: LogReader, pages: number): boolean {
    const [copied, digest] = [this.#copied, this.#digest.value];
    const end = Math.min(pages, copied + BASE_STEP_PAGES);
    log.turn();
    for (let number = copied + 1; number <= end; number++) this.#put(number, log.pageBefore(number, this.#pageBytes));
    this.#copied = Math.max(copied, end);
    if (log.turn()) {
      // The log has begun a new round, and may have overwritten what was read.
      this.#copied = copied;
      this.#digest = new PagesDigest(digest);
      return false;
    }
    return this.#copied >= pages;
  }

  /** Commits have been taken and accepted: the pages that they changed are copied again. */
  took(log: LogReader, {changed, pagesAfter}: TakenCommits): void {
    for (const number of changed.keys()) {
      if (number > this.#copied) continue;
      this.#digest.toggle(number, this.#page(number));
      this.#put(number, log.pageBefore(number, this.#pageBytes));
    }
    for (; pagesAfter !== null && this.#copied > pagesAfter; this.#copied--) {
      this.#digest.toggle(this.#copied, this.#page(this.#copied));
    }
  }

  /** All pages are copied: the file is the database at this state, and not changed any more. */
  begin(at: DatabaseState): Position {
    assert(this.#base === null && this.#copied === at.pages, 'all pages are copied');
    const {timeline, pageBytes, pages, commit, sequence, timeMs} = at;
    const base = this.#disk.open(this.#paths.base, 'w');
    this.#base = base;
    const sink: Sink = {write: bytes => this.#disk.write(base, bytes, null)};
    const head = {timeline, pageBytes, first: 0, last: commit, sequence, timeMs, pagesBefore: 0, pagesAfter: pages};
    this.#writer = new PageSetWriter({...head, digestBefore: new PagesDigest().value}, sink);
    return {timeline, pageBytes, pages, commit, sequence, timeMs, digest: this.#digest.value};
  }

  get hasBegun(): boolean {
    return this.#writer !== null;
  }

  /** Writes the next pages of the base. @returns whether it is complete */
  writeSome(): boolean {
    assert(this.#writer !== null, 'all pages are copied');
    const end = Math.min(this.#copied, this.#written + BASE_STEP_PAGES);
    while (this.#written < end) {
      const number = ++this.#written;
      this.#writer.add({number, isDelta: false, bytes: this.#page(number)});
    }
    if (this.#written < this.#copied) return false;
    this.#writer.end(this.#digest.value);
    return true;
  }

  /** Closes its files, and removes that of the pages. */
  close(): void {
    this.#disk.close(this.#pages);
    if (this.#base !== null) this.#disk.close(this.#base);
    this.#disk.remove(this.#paths.pages);
  }

  #page(number: number): Buffer {
    return readAt(this.#pages, (number - 1) * this.#pageBytes, this.#pageBytes);
  }

  #put(number: number, page: Buffer): void {
    this.#digest.toggle(number, page);
    this.#disk.write(this.#pages, page, (number - 1) * this.#pageBytes);
  }
}
