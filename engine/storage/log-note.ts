/**
 * `tenant.logged` beside a tenant's file says that commits are in its log. A log that is lost while nobody has the file open (a
 * clean-up of "temporary" files, a copy without it) would otherwise go unnoticed: the file alone is whole, and older.
 *
 *   first commit after an open, before its replies   made
 *   close in order, before the log is emptied        removed
 *
 * So a file with the note and without a log, or with an empty one, has lost commits that were acknowledged. The log of an
 * open file never shrinks to nothing: a checkpoint lets it begin anew in place.
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

  /** A commit is in the log. Without space for the note there is none, and the next commit tries again. */
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

  /** What is in the log is about to be moved into the file. */
  remove(): void {
    if (!this.#isThere) return;
    rmSync(this.#path, {force: true});
    // Before the log is emptied: else a power cut could leave the note with an empty log.
    this.#sync(dirname(this.#path));
    this.#isThere = false;
  }

  /** The log could not be emptied, and may not have been since. */
  makeIfLogged(): void {
    if ((statSync(this.#log, {throwIfNoEntry: false})?.size ?? 0) > 0) this.make();
    else this.remove();
  }
}

/**
 * Empty files in place of those that SQLite removed with the log: without them a file cannot be opened on a disk that became
 * read-only, or has no inodes left. Nothing rests on them.
 */
export function keepLogFiles(path: string): void {
  try {
    const {mode} = statSync(path);
    for (const suffix of ['-wal', '-shm']) closeSync(openSync(path + suffix, 'a', mode & 0o777));
  } catch (caught) {
    if (!isNoSpace(caught) && !isReadOnly(caught)) throw caught;
  }
}

/** What is lost; null: nothing. */
export function findLostLog(directory: string): string | null {
  if (!existsSync(join(directory, LOGGED_FILE))) return null;
  const log = join(directory, `${TENANT_FILE}-wal`);
  const size = statSync(log, {throwIfNoEntry: false})?.size;
  if (size !== undefined && size > 0) return null;
  return `${log} is ${size === undefined ? 'missing' : 'empty'}, and had commits that the file may not have`;
}

/** Makes what was created, renamed or removed in it durable. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
