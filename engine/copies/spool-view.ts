/**
 * The spool of a tenant as the copier sees it: a directory that the tenant's user can write, so everything in it is
 * input from outside. Links are never followed, nothing but regular files is opened, and sizes and counts have limits.
 *
 *   position                where the first set begins: what was confirmed, or the base (`spool.ts`)
 *   NNNNNNNNNNNNNNNN.set    page sets in order, named by their last commit
 *   base.set                a base, complete when it has this name. The sets follow it
 *   want-base               of the copier: it has nothing that the sets follow. The worker removes it with the new base
 *   confirmed               of the copier: everything up to this position is stored, and has been read back
 *   *.new, next             being written
 *
 * Only the worker removes sets. So a reader can meet a set that is gone at the next moment: `open` returns null then.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import {basename, join} from 'node:path';
import {openDirectory, openFile} from '../../shared/outside-files.ts';
import {SPOOL_DIRECTORY} from '../../shared/tenant-directory.ts';
import {POSITION_BYTES_MAX, SPOOL_ENTRIES_MAX} from '../limits.ts';
import {readAt, type Source, sourceOfFile, writeAll} from './bytes.ts';
import {CopyError} from './copy-error.ts';
import {checkFormat, decodeHead, HEADER_BYTES, type PageSetHead, type Position} from './page-set.ts';
import {PageSet} from './page-set-reader.ts';
import {decodePosition, encodePosition} from './position-file.ts';
import {BASE_FILE, CONFIRMED_FILE, POSITION_FILE, SET_NAME, WANT_BASE_FILE} from './spool-files.ts';

/** A page set that has a name. `last`: its last commit, which its content has to confirm; of a base null. */
export type SpooledFile = {name: string; last: number | null; bytes: number; modifiedMs: number};

export type SpoolList = {
  /** Null: the worker has dropped the spool, or its position is damaged: nothing follows anything. */
  position: Position | null;
  /** What the copier has confirmed since that position. Null: nothing. */
  confirmed: Position | null;
  base: SpooledFile | null;
  /** In order. */
  sets: SpooledFile[];
  /** A base has been requested, and is not written yet. */
  isBaseWanted: boolean;
};

export type OpenSet = {set: PageSet; bytes: number; fd: number; close(): void};

/** `head` is what the file says; its SHA-256 was not compared. The caller closes it. */
export type UnreadSet = {head: PageSetHead; bytes: number; fd: number};

const {O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY} = constants;

export class SpoolView {
  readonly #fd: number;
  /** Leads to the directory that was opened, whatever its name leads to now. */
  readonly #path: string;

  private constructor(fd: number) {
    this.#fd = fd;
    this.#path = `/proc/self/fd/${fd}`;
  }

  /** @param directory of the tenant. @returns null: it has no spool, or has something else in its place */
  static open(directory: string): SpoolView | null {
    const parent = openDirectory(directory);
    if (parent === null) return null;
    try {
      const fd = openDirectory(`/proc/self/fd/${parent}/${SPOOL_DIRECTORY}`);
      return fd === null ? null : new SpoolView(fd);
    } finally {
      closeSync(parent);
    }
  }

  /** @throws CopyError: it has more entries than a worker makes */
  list(): SpoolList {
    const found: SpoolList = {position: null, confirmed: null, base: null, sets: [], isBaseWanted: false};
    for (const name of this.#names()) {
      const match = SET_NAME.exec(name);
      if (name === WANT_BASE_FILE) found.isBaseWanted = true;
      if (name !== BASE_FILE && match === null) continue;
      const stat = lstatSync(join(this.#path, name), {throwIfNoEntry: false});
      if (stat?.isFile() !== true) continue;
      const file = {name, last: match === null ? null : Number(match[1]), bytes: stat.size, modifiedMs: stat.mtimeMs};
      if (match === null) found.base = file;
      else found.sets.push(file);
    }
    found.sets.sort((a, b) => a.last! - b.last!);
    found.position = this.#positionIn(POSITION_FILE);
    found.confirmed = this.#positionIn(CONFIRMED_FILE);
    return found;
  }

  /**
   * Opens a set or the base, and compares its SHA-256. Whether it follows what came before is for the caller to check.
   * @param bytesMax a larger file is refused before any of it is read
   * @returns null: it is gone. @throws PageSetError; CopyError: it is not a file, too large, or has another last commit
   */
  open(file: SpooledFile, bytesMax: number): OpenSet | null {
    return this.#opened(file, bytesMax, (fd, source) => {
      const set = new PageSet(source);
      checkCommits(file, set.head);
      return {set, bytes: source.length, fd, close: () => closeSync(fd)};
    });
  }

  /** Opens a file whose SHA-256 is compared later, because that takes long. @throws as `open` */
  openUnread(file: SpooledFile, bytesMax: number): UnreadSet | null {
    return this.#opened(file, bytesMax, (fd, source) => {
      const header = source.read(0, HEADER_BYTES);
      checkFormat(header);
      const head = decodeHead(header);
      checkCommits(file, head);
      return {head, bytes: source.length, fd};
    });
  }

  /** Requests a base. The capture withdraws the request when it has begun one. */
  wantBase(): void {
    this.#write(WANT_BASE_FILE, Buffer.alloc(0));
  }

  /** Everything up to here is stored and has been read back. Not synced: an older one costs a copy at most. */
  confirm(position: Position): void {
    this.#write(CONFIRMED_FILE, encodePosition(position));
  }

  close(): void {
    closeSync(this.#fd);
  }

  #opened<Opened>({name}: SpooledFile, bytesMax: number, read: (fd: number, source: Source) => Opened): Opened | null {
    const fd = openSpooled(join(this.#path, name));
    if (fd === null) return null;
    try {
      const source = sourceOfFile(fd);
      if (source.length > bytesMax) throw new CopyError(`${name} has ${source.length} bytes, and ${bytesMax} at most`);
      return read(fd, source);
    } catch (caught) {
      closeSync(fd);
      throw caught;
    }
  }

  /** Null: it is missing or damaged. */
  #positionIn(name: string): Position | null {
    const fd = openSpooled(join(this.#path, name));
    if (fd === null) return null;
    try {
      return decodePosition(readAt(fd, 0, POSITION_BYTES_MAX).toString(), name);
    } catch (caught) {
      if (caught instanceof CopyError) return null;
      throw caught;
    } finally {
      closeSync(fd);
    }
  }

  /** @throws CopyError */
  #names(): string[] {
    const names: string[] = [];
    const directory = opendirSync(this.#path);
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        if (names.length === SPOOL_ENTRIES_MAX) throw new CopyError(`the spool has more than ${names.length} entries`);
        names.push(entry.name);
      }
    } finally {
      directory.closeSync();
    }
    return names;
  }

  /** The worker can read it, and sees all of it or nothing. A link with its temporary name is replaced, not followed. */
  #write(name: string, bytes: Buffer): void {
    const next = join(this.#path, `${name}.new`);
    removeFile(next);
    const fd = openSync(next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
    try {
      fchmodSync(fd, 0o644); // whatever the umask is
      writeAll(fd, bytes, null);
    } finally {
      closeSync(fd);
    }
    renameSync(next, join(this.#path, name));
  }
}

/** @throws CopyError: they are not those of its name */
function checkCommits({name, last}: SpooledFile, head: PageSetHead): void {
  if ((head.first === 0) === (last === null) && (last === null || head.last === last)) return;
  throw new CopyError(`${name} has the commits ${head.first} to ${head.last}`);
}

/** Never what is in a directory: the tenant's user owns it, and could put a link there meanwhile. @throws CopyError */
function removeFile(path: string): void {
  try {
    rmSync(path, {force: true});
  } catch (caught) {
    throw new CopyError(`${basename(path)} cannot be removed: ${(caught as Error).message}`);
  }
}

/** Null: it is missing. @throws CopyError: it is not a regular file */
function openSpooled(path: string): number | null {
  const fd = openFile(path);
  if (fd === null || fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new CopyError(`${basename(path)} is not a file`);
}
