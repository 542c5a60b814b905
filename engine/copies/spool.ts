/**
 * Page sets that wait for their receiver, in a directory beside the tenant's file, with a limit of bytes.
 *
 *   position ── set ── set ── set          each follows the one before, the first follows the position
 *
 * The position is a base, or what the receiver has confirmed since. A base writes and syncs it; sets and confirmations are
 * not synced, because after a power cut SHA-256 and order show what is missing, and then a base is due. A directory without
 * a position is a dropped spool. `spool-view.ts` has the names and the part of the receiver.
 */
import {closeSync, lstatSync, mkdirSync, openSync, readdirSync, rmSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {spaceFinding} from '../../shared/free-space.ts';
import {SPOOL_ENTRIES_MAX} from '../limits.ts';
import {type Sink, sourceOfFile} from './bytes.ts';
import {CopyError} from './copy-error.ts';
import {DISK, type Disk} from './disk.ts';
import {checkFollows, type Position} from './page-set.ts';
import {PageSet} from './page-set-reader.ts';
import {readPosition, writePosition} from './position-file.ts';
import {BASE_FILE, CONFIRMED_FILE, POSITION_FILE, SET_NAME, setName, WANT_BASE_FILE} from './spool-files.ts';

/** `last` names the file, so that names are in the order of the sets. */
type Waiting = {path: string; bytes: number; after: Position};

/** Of the receiver. */
const NOT_OURS = [WANT_BASE_FILE, CONFIRMED_FILE].flatMap(name => [name, `${name}.new`]);
/** Of other names than sets. */
const OTHERS_MAX = 10;

class SpoolFull extends Error {}

export class Spool {
  readonly #directory: string;
  readonly #bytesMax: number;
  readonly #disk: Disk;
  /** Null: a base is due. */
  #confirmed: Position | null = null;
  #waiting: Waiting[] = [];
  #bytes = 0;

  /** @param directory is made if it is missing, on a full disk later. A damaged spool is dropped */
  constructor(directory: string, bytesMax: number, disk = DISK) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
    this.#disk = disk;
    if (lstatSync(directory, {throwIfNoEntry: false})?.isDirectory() === false) rmSync(directory, {force: true});
    if (!this.#make()) return;
    try {
      this.#read();
    } catch {
      // A base is due, whatever is wrong with it: what is in the directory can be input from outside.
      this.drop();
    }
  }

  /** Where its newest set leads. Null: there is none, and a base is due. */
  get position(): Position | null {
    return this.#waiting.at(-1)?.after ?? this.#confirmed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of sets. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Files in it while a base is made: its pages, and the base, which gets its name from `baseWritten`. */
  get basePaths(): {pages: string; base: string} {
    return {pages: join(this.#directory, 'base.pages'), base: join(this.#directory, `${BASE_FILE}.new`)};
  }

  /** Null: its disk has space for so many bytes. */
  spaceFinding(bytes: number): string | null {
    return spaceFinding(dirname(this.#directory), bytes);
  }

  /** Of the receiver: it has nothing that the sets follow. */
  get isBaseWanted(): boolean {
    return isThere(join(this.#directory, WANT_BASE_FILE));
  }

  /** A base leads here, which is not written yet. Sets after it can be added. @throws the disk is full */
  begin(position: Position): void {
    // It belongs to what was before, and could be of the same commit.
    this.#disk.remove(join(this.#directory, CONFIRMED_FILE));
    writePosition(this.#disk, this.#positionPath, position);
    this.#confirmed = position;
  }

  /** The base to which `begin` belongs is complete. */
  baseWritten(): void {
    this.#disk.rename(this.basePaths.base, this.#basePath);
    this.#disk.remove(join(this.#directory, WANT_BASE_FILE));
  }

  /** @param write writes a set that follows `position`, and returns where it leads. @returns false: it does not fit */
  add(write: (sink: Sink) => Position): boolean {
    if (this.#waiting.length + OTHERS_MAX >= SPOOL_ENTRIES_MAX) return false;
    const next = join(this.#directory, 'next');
    let bytes = 0;
    const left = this.#bytesMax - this.#bytes;
    try {
      const fd = this.#disk.open(next, 'w');
      try {
        const after = write({
          write: part => {
            bytes += part.length;
            if (bytes > left) throw new SpoolFull();
            this.#disk.write(fd, part, null);
          },
        });
        const path = join(this.#directory, setName(after.commit));
        this.#disk.rename(next, path);
        this.#push({path, bytes, after});
        return true;
      } finally {
        this.#disk.close(fd);
      }
    } catch (caught) {
      if (!(caught instanceof SpoolFull || isNoSpace(caught))) throw caught;
      return false;
    }
  }

  /** Removes what the receiver has confirmed. */
  removeConfirmed(): void {
    const confirmed = this.#confirmedByReceiver();
    const before = this.#confirmed;
    if (before === null) this.#make();
    if (confirmed === null || before === null || confirmed.timeline !== before.timeline) return;
    const isBase = isSame(confirmed, before);
    const sets = this.#waiting.findIndex(({after}) => isSame(after, confirmed)) + 1;
    // It may be older than the base, or of the time before the spool was dropped.
    if (!isBase && sets === 0) return;
    if (isThere(this.#basePath)) this.#disk.remove(this.#basePath);
    this.#confirmed = confirmed;
    for (const {path, bytes} of this.#waiting.splice(0, sets)) {
      this.#bytes -= bytes;
      this.#disk.remove(path);
    }
  }

  /** A base is due. */
  drop(): void {
    this.#confirmed = null;
    this.#waiting = [];
    this.#bytes = 0;
    // The position first: sets without it are nothing.
    this.#disk.remove(this.#positionPath);
    this.#disk.syncDirectory(this.#directory);
    for (const name of readdirSync(this.#directory)) {
      if (!NOT_OURS.includes(name)) this.#disk.remove(join(this.#directory, name));
    }
  }

  /** @returns false: the disk is full. A base is due, and cannot be requested until it is made */
  #make(): boolean {
    try {
      mkdirSync(this.#directory, {recursive: true, mode: 0o700});
      return true;
    } catch (caught) {
      if (!isNoSpace(caught)) throw caught;
      return false;
    }
  }

  get #positionPath(): string {
    return join(this.#directory, POSITION_FILE);
  }

  get #basePath(): string {
    return join(this.#directory, BASE_FILE);
  }

  #confirmedByReceiver(): Position | null {
    const path = join(this.#directory, CONFIRMED_FILE);
    if (!isThere(path)) return null;
    try {
      return readPosition(path);
    } catch {
      return null; // It is damaged, or not a file.
    }
  }

  #push(set: Waiting): void {
    this.#waiting.push(set);
    this.#bytes += set.bytes;
  }

  /** @throws CopyError; PageSetError */
  #read(): void {
    const begun = readPosition(this.#positionPath);
    const confirmed = this.#confirmedByReceiver();
    const isAhead = confirmed !== null && confirmed.timeline === begun.timeline && confirmed.commit > begun.commit;
    this.#confirmed = isAhead ? confirmed : begun;
    for (const name of readdirSync(this.#directory)
      .filter(one => SET_NAME.test(one))
      .sort()) {
      const path = join(this.#directory, name);
      // Confirmed, and the process ended before it was removed.
      if (Number(SET_NAME.exec(name)![1]) <= this.#confirmed.commit) this.#disk.remove(path);
      else this.#push({path, ...readSet(path, this.position!)});
    }
  }
}

/** @throws CopyError; PageSetError */
function readSet(path: string, before: Position): Omit<Waiting, 'path'> {
  if (!lstatSync(path).isFile()) throw new CopyError(`${path} is not a file`);
  const fd = openSync(path, 'r');
  try {
    const source = sourceOfFile(fd);
    const set = new PageSet(source);
    checkFollows(before, set.head);
    return {bytes: source.length, after: set.after};
  } finally {
    closeSync(fd);
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, {throwIfNoEntry: false}) !== undefined;
}

function isSame(a: Position, b: Position): boolean {
  return a.commit === b.commit && a.digest.equals(b.digest);
}
