/**
 * Guards a tenant's files from outside changes while its worker has them open, and their log from being lost while it
 * is closed.
 *
 * Open: notices that a file was removed, replaced or truncated. Otherwise the worker would acknowledge writes into files
 * that no longer have a name. A check costs a system call for each file, some 5 µs. Only this worker writes the files:
 * SQLite shrinks a database only in a VACUUM and truncates its WAL only at the close. SQLite does not notice a truncated
 * WAL: it writes at the old end, after a hole, and a checkpoint copies zeros from the hole into the file. So the size of
 * the WAL is compared before each commit, and all files before each checkpoint.
 *
 * The index of the WAL (`-shm`) contains nothing that the WAL lacks. Losing it loses no commit, so commits do not check
 * it. But any later connection, such as a query thread's, would create another one and read an old state for ever.
 *
 * Closed: the file `tenant.logged` records that the WAL contains commits. Without it, the loss of a WAL (a clean-up of
 * "temporary" files, a copy without it) would go unnoticed, because the file alone is intact, only older.
 *
 *   first commit after an open, before its replies     created
 *   close in order, before the WAL is emptied          removed
 *
 * So a file with the note and without a WAL, or with an empty one, has lost acknowledged commits. The WAL of an open
 * file never shrinks to nothing: after a checkpoint it starts over in place.
 */
import {closeSync, existsSync, fsyncSync, openSync, rmSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {isNoSpace, isReadOnly} from '../../shared/disk-errors.ts';
import {LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';

type Seen = {dev: number; ino: number; size: number};

export class FileGuard {
  readonly #log: string;
  /** The files with commits. */
  readonly #paths: readonly string[];
  readonly #logIndex: string;
  readonly #note: string;
  readonly #onChange: (finding: string) => void;
  readonly #sync: (directory: string) => void;
  readonly #seen = new Map<string, Seen>();
  #isNoted: boolean;

  /**
   * @param directory of the tenant, whose file is open
   * @param onChange the process must end: the files are not those that were opened
   * @param sync makes a change of the directory durable
   */
  constructor(directory: string, onChange: (finding: string) => void, sync = syncDirectory) {
    const path = join(directory, TENANT_FILE);
    this.#log = `${path}-wal`;
    this.#paths = [path, this.#log];
    this.#logIndex = `${path}-shm`;
    this.#note = join(directory, LOGGED_FILE);
    this.#onChange = onChange;
    this.#sync = sync;
    this.#isNoted = existsSync(this.#note);
    this.check();
  }

  /** Nothing of the commit is in the WAL yet. */
  beforeCommit(): void {
    this.#check([this.#log]);
  }

  /** A stage of each commit: the commit is in the file that was opened, and its WAL is noted. */
  committed(): void {
    this.#check(this.#paths);
    this.#makeNote();
  }

  /** Checks all files, including the index of the WAL. */
  check(): void {
    this.#check([...this.#paths, this.#logIndex]);
  }

  #check(paths: readonly string[]): void {
    for (const path of paths) {
      const seen = this.#seen.get(path);
      const now = statSync(path, {throwIfNoEntry: false});
      if (seen === undefined && now === undefined) continue; // The first write creates the WAL.
      const change = seen === undefined ? null : changeOf(seen, now);
      if (change !== null) this.#onChange(`${path} was ${change}`);
      if (now !== undefined) this.#seen.set(path, {dev: now.dev, ino: now.ino, size: now.size});
    }
  }

  /** A commit is in the WAL. Without space for the note there is none, and the next commit retries. */
  #makeNote(): void {
    if (this.#isNoted) return;
    try {
      closeSync(openSync(this.#note, 'w', 0o600));
    } catch (caught) {
      if (isNoSpace(caught)) return;
      throw caught;
    }
    this.#sync(dirname(this.#note));
    this.#isNoted = true;
  }

  /** The content of the WAL is about to be moved into the file. */
  removeNote(): void {
    if (!this.#isNoted) return;
    rmSync(this.#note, {force: true});
    // Before the WAL is emptied: otherwise a power cut could leave the note with an empty WAL.
    this.#sync(dirname(this.#note));
    this.#isNoted = false;
  }

  /** The WAL could not be emptied, and may still contain commits. */
  noteIfLogged(): void {
    if ((statSync(this.#log, {throwIfNoEntry: false})?.size ?? 0) > 0) this.#makeNote();
    else this.removeNote();
  }
}

function changeOf(seen: Seen, now: Seen | undefined): string | null {
  if (now === undefined) return 'removed';
  if (now.ino !== seen.ino || now.dev !== seen.dev) return 'replaced';
  return now.size < seen.size ? `cut to ${now.size} bytes` : null;
}

/**
 * Creates empty files instead of those that SQLite removed with the WAL. Without them a file cannot be opened on a disk
 * that became read-only, or has no inodes left. Nothing depends on them otherwise.
 */
export function keepLogFiles(path: string): void {
  try {
    const {mode} = statSync(path);
    for (const suffix of ['-wal', '-shm']) closeSync(openSync(path + suffix, 'a', mode & 0o777));
  } catch (caught) {
    if (!isNoSpace(caught) && !isReadOnly(caught)) throw caught;
  }
}

/** A description of the loss; null: nothing is lost. */
export function findLostLog(directory: string): string | null {
  if (!existsSync(join(directory, LOGGED_FILE))) return null;
  const log = join(directory, `${TENANT_FILE}-wal`);
  const size = statSync(log, {throwIfNoEntry: false})?.size;
  if (size !== undefined && size > 0) return null;
  return `${log} is ${size === undefined ? 'missing' : 'empty'}, and had commits that the file may not have`;
}

/** Makes creations, renames and removals in the directory durable. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
