/**
 * Makes a database file of a base and the sets after it, as fast as the disk takes pages. Only `finish` says whether it
 * has become the file that was copied: a process that ends before leaves one that is worth nothing. `copy-file.ts`
 * makes copies that stay.
 */
import {closeSync, fsync, ftruncateSync, openSync, writev} from 'node:fs';
import {promisify} from 'node:util';
import {assert} from '../../shared/assert.ts';
import {CHUNKS_WRITTEN_MAX} from '../limits.ts';
import {readAt, sourceOfFile, writeAll} from './bytes.ts';
import {CopyError} from './copy-error.ts';
import {digestOfLargeFile} from './large-digest.ts';
import {xorInto} from './page-digest.ts';
import {checkFollows, type PageEntry, type Position} from './page-set.ts';
import {PageSetError} from './page-set-error.ts';
import type {PageSet} from './page-set-reader.ts';

const writeParts = promisify(writev);
const sync = promisify(fsync);

export class NewCopy {
  readonly #path: string;
  readonly #fd: number;
  #position: Position | null = null;
  /** Batches that are being written. */
  #under: Promise<void>[] = [];

  /** @param path of a new file */
  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, 'wx+', 0o600);
  }

  get position(): Position {
    assert(this.#position !== null, 'a base was applied');
    return this.#position;
  }

  /** @param set a base first, and then sets that follow. @throws PageSetError: the file is worth nothing */
  async apply(set: PageSet): Promise<void> {
    const {pageBytes, pagesAfter, first} = set.head;
    if (this.#position !== null) checkFollows(this.#position, set.head);
    else if (!set.isBase) throw new PageSetError('missing_commits', `commit ${first} is its first, and not a base`);
    let isFirst = true;
    for await (const batch of set.batches()) {
      // No page is in two batches of a set, so they can be written at the same time.
      await this.#underWay(isFirst ? 0 : CHUNKS_WRITTEN_MAX - 1);
      isFirst = false;
      const written = this.#writeRuns(runsOf(batch), pageBytes);
      // Awaited later; without this, a failure meanwhile would count as unhandled.
      written.catch(() => undefined);
      this.#under.push(written);
    }
    if (pagesAfter < (this.#position?.pages ?? 0)) {
      await this.#underWay(0);
      ftruncateSync(this.#fd, pagesAfter * pageBytes);
    }
    this.#position = set.after;
  }

  /**
   * Reads all pages and compares their digest. @throws CopyError
   * @param isKept syncs the file meanwhile; false: it is removed soon, and nothing waits for the disk
   */
  async finish(isKept: boolean): Promise<void> {
    const {pages, pageBytes, digest, commit} = this.position;
    await this.#underWay(0);
    const {length} = sourceOfFile(this.#fd);
    const synced = isKept ? sync(this.#fd) : undefined;
    // Nothing uses the file any more when this ends, also if one of the two fails.
    const [found] = await Promise.allSettled([digestOfLargeFile(this.#fd, pages, pageBytes), synced]);
    await synced;
    if (found.status === 'rejected') throw found.reason;
    if (length !== pages * pageBytes || !found.value.equals(digest)) {
      throw new CopyError(`the pages of ${this.#path} are not those of commit ${commit}`);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#under);
    closeSync(this.#fd);
  }

  /** Resolves when at most so many batches are still being written. */
  async #underWay(most: number): Promise<void> {
    while (this.#under.length > most) await this.#under.shift();
  }

  /** No write is under way when it ends, also if one fails: it would go to whatever file gets this descriptor next. */
  async #writeRuns(runs: readonly PageEntry[][], pageBytes: number): Promise<void> {
    const written = await Promise.allSettled(runs.map(run => this.#write(run, pageBytes)));
    const failed = written.find(outcome => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #write(run: readonly PageEntry[], pageBytes: number): Promise<void> {
    const at = (run[0]!.number - 1) * pageBytes;
    const pages = run.map(entry => this.#whole(entry));
    const {bytesWritten} = await writeParts(this.#fd, pages, at);
    if (bytesWritten === run.length * pageBytes) return;
    writeAll(this.#fd, Buffer.concat(pages).subarray(bytesWritten), at + bytesWritten);
  }

  /** No other entry of the set is of this page, so the file has it as it was before the set. */
  #whole({number, isDelta, bytes}: PageEntry): Buffer {
    if (!isDelta) return bytes;
    const page = Buffer.from(bytes);
    xorInto(page, readAt(this.#fd, (number - 1) * bytes.length, bytes.length));
    return page;
  }
}

/** Entries of pages that follow one another in the file. */
function runsOf(entries: readonly PageEntry[]): PageEntry[][] {
  const runs: PageEntry[][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    if (run === undefined || run.at(-1)!.number + 1 !== entry.number) runs.push([entry]);
    else run.push(entry);
  }
  return runs;
}
