/**
 * Page sets that wait for their receiver, in a directory beside the tenant's file, with a limit of bytes.
 *
 *   position ── set ── set ── set          each follows the one before, the first follows the position
 *
 * The position is that of the receiver: what it has confirmed, or the base that it is sent. It is written and synced; the
 * sets are not synced, because after a power cut their SHA-256 and their order show what is missing, and then a base is
 * due. `dropped` is a directory without a position.
 */
import {mkdirSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {type Sink, sourceOf} from './bytes.ts';
import {CopyError} from './copy-error.ts';
import {DISK, type Disk} from './disk.ts';
import {checkFollows, type Position} from './page-set.ts';
import {PageSetError} from './page-set-error.ts';
import {PageSet} from './page-set-reader.ts';
import {readPosition, writePosition} from './position-file.ts';
import {POSITION_FILE, SET_NAME, setName} from './spool-files.ts';

/** `last` names the file, so that names are in the order of the sets. */
type Waiting = {path: string; bytes: number; after: Position};

class SpoolFull extends Error {}

export class Spool {
  readonly #directory: string;
  readonly #bytesMax: number;
  readonly #disk: Disk;
  /** Null: a base is due. */
  #confirmed: Position | null = null;
  #waiting: Waiting[] = [];

  /** @param directory is made if it is missing. A damaged spool is dropped */
  constructor(directory: string, bytesMax: number, disk = DISK) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
    this.#disk = disk;
    mkdirSync(directory, {recursive: true, mode: 0o700});
    try {
      this.#read();
    } catch (caught) {
      if (!(caught instanceof CopyError || caught instanceof PageSetError)) throw caught;
      this.drop();
    }
  }

  /** Where its newest set leads. Null: there is none, and a base is due. */
  get position(): Position | null {
    return this.#waiting.at(-1)?.after ?? this.#confirmed;
  }

  get bytes(): number {
    return this.#waiting.reduce((sum, {bytes}) => sum + bytes, 0);
  }

  /** A base leads here. */
  begin(position: Position): void {
    this.drop();
    writePosition(this.#disk, this.#positionPath, position);
    this.#confirmed = position;
  }

  /** @param write writes a set that follows `position`, and returns where it leads. @returns false: it does not fit */
  add(write: (sink: Sink) => Position): boolean {
    const next = join(this.#directory, 'next');
    let bytes = 0;
    const left = this.#bytesMax - this.bytes;
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
      this.#waiting.push({path, bytes, after});
      return true;
    } catch (caught) {
      if (!(caught instanceof SpoolFull || isNoSpace(caught))) throw caught;
      return false;
    } finally {
      this.#disk.close(fd);
    }
  }

  /** The oldest set that its receiver has not confirmed. */
  oldest(): Buffer | null {
    const [first] = this.#waiting;
    return first === undefined ? null : readFileSync(first.path);
  }

  /** The receiver has stored the oldest set. */
  confirm(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    // Before anything is forgotten: a full disk can refuse it.
    writePosition(this.#disk, this.#positionPath, first.after);
    this.#confirmed = first.after;
    this.#waiting.shift();
    this.#disk.remove(first.path);
  }

  /** A base is due. */
  drop(): void {
    this.#confirmed = null;
    this.#waiting = [];
    // The position first: sets without it are nothing.
    this.#disk.remove(this.#positionPath);
    this.#disk.syncDirectory(this.#directory);
    for (const name of readdirSync(this.#directory)) this.#disk.remove(join(this.#directory, name));
  }

  get #positionPath(): string {
    return join(this.#directory, POSITION_FILE);
  }

  /** @throws CopyError; PageSetError */
  #read(): void {
    this.#confirmed = readPosition(this.#positionPath);
    for (const name of readdirSync(this.#directory)
      .filter(one => SET_NAME.test(one))
      .sort()) {
      const path = join(this.#directory, name);
      // Confirmed, and the process ended before it was removed.
      if (Number(SET_NAME.exec(name)![1]) <= this.#confirmed.commit) this.#disk.remove(path);
      else {
        const set = new PageSet(sourceOf(readFileSync(path)));
        checkFollows(this.position!, set.head);
        this.#waiting.push({path, bytes: statSync(path).size, after: set.after});
      }
    }
  }
}
