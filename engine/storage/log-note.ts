/**
 * Maintains the file `tenant.logged` beside a tenant's file, which records that the WAL contains commits. Without it,
 * the loss of a WAL while the file is closed (a clean-up of "temporary" files, a copy without it) would go unnoticed,
 * because the file alone is intact, only older.
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

export class LogNote {
  readonly #path: string;
  readonly #log: string;
  readonly #sync: (directory: string) => void;
  #isThere: boolean;

  /** @param sync makes a change of the directory durable */
  constructor(directory: string, sync = syncDirectory) {
    this.#sync = sync;
    this.#path = join(directory, LOGGED_FILE);
    this.#log = join(directory, `${TENANT_FILE}-wal`);
    this.#isThere = existsSync(this.#path);
  }

  /** A commit is in the WAL. Without space for the note there is none, and the next commit retries. */
  make(): void {
    if (this.#isThere) return;
    try {
      closeSync(openSync(this.#path, 'w', 0o600));
    } catch (caught) {
      if (isNoSpace(caught)) return;
      throw caught;
    }
    this.#sync(dirname(this.#path));
    this.#isThere = true;
  }

  /** The content of the WAL is about to be moved into the file. */
  remove(): void {
    if (!this.#isThere) return;
    rmSync(this.#path, {force: true});
    // Before the WAL is emptied: otherwise a power cut could leave the note with an empty WAL.
    this.#sync(dirname(this.#path));
    this.#isThere = false;
  }

  /** The WAL could not be emptied, and may still contain commits. */
  makeIfLogged(): void {
    if ((statSync(this.#log, {throwIfNoEntry: false})?.size ?? 0) > 0) this.make();
    else this.remove();
  }
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
