/**
 * A copy of a tenant's database: a file made from a base, to which page sets are applied in place. No process has it
 * open as a database meanwhile. Beside it is its position, and while a set is applied the pages to write.
 *
 *   absent ──create: pages to a new file, sync, rename──▶ unnamed ──position──▶ at a commit
 *                                                                                │      ▲
 *                                       apply: pages to `.applying`, sync, rename │      │ position, remove `.applying`
 *                                                                                ▼      │
 *                                                                               applying ┘  pages to the file, sync
 *
 * A process that ends before `.applying` has its name leaves the file as it was. One that ends later leaves a file with
 * pages of two commits, and `open` writes all of them again: `.applying` has whole pages only, so that can be repeated.
 * `unnamed` is refused, as is a file without a position: a base has to be copied again.
 */
import {existsSync} from 'node:fs';
import {dirname} from 'node:path';
import {readAt, type Sink, sourceOfFile} from './bytes.ts';
import {CopyError} from './copy-error.ts';
import {DISK, type Disk} from './disk.ts';
import {digestOfFile, PagesDigest, xorInto} from './page-digest.ts';
import {checkFollows, type PageEntry, type Position} from './page-set.ts';
import {PageSetError} from './page-set-error.ts';
import {PageSet} from './page-set-reader.ts';
import {PageSetWriter} from './page-set-writer.ts';
import {positionPath, readPosition, writePosition} from './position-file.ts';

type Paths = {file: string; newFile: string; position: string; applying: string; newApplying: string};

export class CopyFile {
  readonly #disk: Disk;
  readonly #paths: Paths;
  readonly #fd: number;
  #position: Position;
  /** A change of the files has failed in between: they are whatever the next `open` makes of them. */
  #isBroken = false;

  private constructor(disk: Disk, paths: Paths, fd: number, position: Position) {
    this.#disk = disk;
    this.#paths = paths;
    this.#fd = fd;
    this.#position = position;
  }

  /** Makes the file, in place of an earlier copy. @throws PageSetError */
  static create(path: string, base: PageSet, disk = DISK): CopyFile {
    if (!base.isBase)
      throw new PageSetError('missing_commits', `commit ${base.head.first} is its first, and not a base`);
    const paths = pathsOf(path);
    const fd = disk.open(paths.newFile, 'w');
    try {
      writeBase(disk, fd, base);
    } finally {
      disk.close(fd);
    }
    // From here on until the last step nothing says what the file is.
    for (const left of [paths.position, paths.applying]) disk.remove(left);
    disk.syncDirectory(dirname(path));
    disk.rename(paths.newFile, path);
    disk.syncDirectory(dirname(path));
    writePosition(disk, paths.position, base.after);
    return CopyFile.open(path, disk);
  }

  /** Completes what a process that ended has begun. @throws CopyError; PageSetError */
  static open(path: string, disk = DISK): CopyFile {
    const paths = pathsOf(path);
    const position = readPosition(paths.position);
    const fd = disk.open(path, 'r+');
    const copy = new CopyFile(disk, paths, fd, position);
    try {
      copy.#complete();
      copy.#checkLength();
      return copy;
    } catch (caught) {
      copy.close();
      throw caught;
    }
  }

  get position(): Position {
    return this.#position;
  }

  /** Applies the set. Nothing has changed when it throws a PageSetError. @throws PageSetError */
  apply(set: PageSet): void {
    if (this.#isBroken) throw new CopyError(`an earlier set was not applied to ${this.#paths.file} in full`);
    checkFollows(this.#position, set.head);
    this.#isBroken = true;
    try {
      this.#prepare(set);
    } catch (caught) {
      // Nothing but the file of pages that has no name yet has been written.
      this.#isBroken = !(caught instanceof PageSetError);
      throw caught;
    }
    this.#complete();
    this.#isBroken = false;
  }

  /** Reads all pages, and compares their digest. @throws CopyError */
  verify(): void {
    const {pages, pageBytes, digest} = this.#position;
    if (!digestOfFile(this.#fd, pages, pageBytes).equals(digest)) throw this.#otherPages();
  }

  /** A base of all pages, which are compared with their digest meanwhile. @throws CopyError: the base is worth nothing */
  writeBase(sink: Sink): void {
    const {timeline, pageBytes, pages, commit, sequence, timeMs, digest: expected} = this.#position;
    const digest = new PagesDigest();
    const head = {timeline, pageBytes, first: 0, last: commit, sequence, timeMs, pagesBefore: 0, pagesAfter: pages};
    const writer = new PageSetWriter({...head, digestBefore: digest.value}, sink);
    for (let number = 1; number <= pages; number++) {
      const bytes = this.#page(number, pageBytes);
      digest.toggle(number, bytes);
      writer.add({number, isDelta: false, bytes});
    }
    if (!digest.value.equals(expected)) throw this.#otherPages();
    writer.end(expected);
  }

  /**
   * The set that leads from this copy to the database of a base: it has the commits in between as one.
   * @throws PageSetError: the base is of another timeline, or not later
   */
  writeDifference(base: PageSet, sink: Sink): void {
    const {timeline, pageBytes, commit, pages, digest} = this.#position;
    const {after} = base;
    const head = {...base.head, first: commit + 1, pagesBefore: pages, digestBefore: digest};
    if (after.timeline !== timeline) throw new PageSetError('other_timeline', `${after.timeline}, not ${timeline}`);
    if (after.commit <= commit || after.pageBytes !== pageBytes) {
      throw new PageSetError('past_commits', `commit ${after.commit} does not follow commit ${commit}`);
    }
    const writer = new PageSetWriter(head, sink);
    for (const {number, bytes} of base.entries()) {
      const isNew = number > pages;
      if (isNew || !this.#page(number, pageBytes).equals(bytes)) writer.add({number, isDelta: false, bytes});
    }
    writer.end(after.digest);
  }

  close(): void {
    this.#disk.close(this.#fd);
  }

  /** Writes the pages as they will be to `.applying`. */
  #prepare(set: PageSet): void {
    const {newApplying, applying} = this.#paths;
    const fd = this.#disk.open(newApplying, 'w');
    try {
      const writer = new PageSetWriter(set.head, {write: bytes => this.#disk.write(fd, bytes, null)}, {effort: 'none'});
      const digest = new PagesDigest(this.#position.digest);
      for (const entry of set.entries()) writer.add(this.#whole(entry, digest));
      for (let number = set.head.pagesAfter + 1; number <= this.#position.pages; number++) {
        digest.toggle(number, this.#page(number, set.head.pageBytes));
      }
      checkDigest(set, digest);
      writer.end(set.after.digest);
      this.#disk.sync(fd);
    } finally {
      this.#disk.close(fd);
    }
    this.#disk.rename(newApplying, applying);
    this.#disk.syncDirectory(dirname(applying));
  }

  /** @param digest from the page before to the page after */
  #whole({number, isDelta, bytes}: PageEntry, digest: PagesDigest): PageEntry {
    const page = isDelta ? Buffer.from(bytes) : bytes;
    if (number <= this.#position.pages) {
      const before = this.#page(number, page.length);
      digest.toggle(number, before);
      if (isDelta) xorInto(page, before);
    }
    digest.toggle(number, page);
    return {number, isDelta: false, bytes: page};
  }

  /** Writes the pages of `.applying`, if it is there. */
  #complete(): void {
    const {applying, newApplying, newFile} = this.#paths;
    if (existsSync(applying)) {
      const pages = this.#disk.open(applying, 'r');
      try {
        this.#writePages(new PageSet(sourceOfFile(pages)));
      } finally {
        this.#disk.close(pages);
      }
      this.#disk.remove(applying);
    }
    for (const left of [newApplying, newFile]) this.#disk.remove(left);
  }

  #writePages(set: PageSet): void {
    if (set.head.last <= this.#position.commit) return; // a process ended after the position was written
    checkFollows(this.#position, set.head);
    const {pageBytes, pagesAfter} = set.head;
    for (const {number, bytes} of set.entries()) this.#disk.write(this.#fd, bytes, (number - 1) * pageBytes);
    this.#disk.truncate(this.#fd, pagesAfter * pageBytes);
    this.#disk.sync(this.#fd);
    writePosition(this.#disk, this.#paths.position, set.after);
    this.#position = set.after;
  }

  #otherPages(): CopyError {
    return new CopyError(`the pages of ${this.#paths.file} are not those of commit ${this.#position.commit}`);
  }

  #checkLength(): void {
    const {pages, pageBytes} = this.#position;
    const {length} = sourceOfFile(this.#fd);
    if (length === pages * pageBytes) return;
    throw new CopyError(`${this.#paths.file} has ${length} bytes, not ${pages} pages of ${pageBytes}`);
  }

  #page(number: number, pageBytes: number): Buffer {
    const page = readAt(this.#fd, (number - 1) * pageBytes, pageBytes);
    if (page.length === pageBytes) return page;
    throw new CopyError(`${this.#paths.file} ends in page ${number}`);
  }
}

function pathsOf(file: string): Paths {
  const applying = `${file}.applying`;
  return {file, newFile: `${file}.new`, position: positionPath(file), applying, newApplying: `${applying}.new`};
}

function writeBase(disk: Disk, fd: number, base: PageSet): void {
  const digest = new PagesDigest();
  for (const {number, bytes} of base.entries()) {
    digest.toggle(number, bytes);
    disk.write(fd, bytes, null);
  }
  checkDigest(base, digest);
  disk.sync(fd);
}

/** @throws PageSetError */
function checkDigest(set: PageSet, found: PagesDigest): void {
  if (found.value.equals(set.after.digest)) return;
  throw new PageSetError('wrong_pages', `${found.value.toString('hex')}, not ${set.after.digest.toString('hex')}`);
}
