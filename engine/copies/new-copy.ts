/**
 * Makes a database file of a base and the sets after it, as fast as the disk takes pages. Only `verify` says whether it
 * has become the file that was copied: a process that ends before leaves one that is worth nothing. `copy-file.ts`
 * makes copies that stay.
 */
import {closeSync, fsync, ftruncateSync, openSync, writev} from 'node:fs';
import {promisify} from 'node:util';
import {assert} from '../../shared/assert.ts';
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
    for await (const batch of set.batches()) {
      await Promise.all(runsOf(batch).map(run => this.#write(run, pageBytes)));
    }
    if (pagesAfter < (this.#position?.pages ?? 0)) ftruncateSync(this.#fd, pagesAfter * pageBytes);
    this.#position = set.after;
  }

  /** Syncs the file, and meanwhile reads all pages and compares their digest. @throws CopyError */
  async finish(): Promise<void> {
    const {pages, pageBytes, digest, commit} = this.position;
    const {length} = sourceOfFile(this.#fd);
    const synced = sync(this.#fd);
    // Nothing uses the file any more when this ends, also if one of the two fails.
    const [found] = await Promise.allSettled([digestOfLargeFile(this.#fd, pages, pageBytes), synced]);
    await synced;
    if (found.status === 'rejected') throw found.reason;
    if (length !== pages * pageBytes || !found.value.equals(digest)) {
      throw new CopyError(`the pages of ${this.#path} are not those of commit ${commit}`);
    }
  }

  close(): void {
    closeSync(this.#fd);
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
