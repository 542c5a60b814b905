/**
 * Makes what is committed durable: SQLite writes its log without waiting for the disk (`synchronous=NORMAL`), and this syncs the
 * log, on a descriptor of its own, in the thread pool, so that the thread that serves never stands still in an fsync.
 *
 * The descriptor is of the log that the writer has open: SQLite makes it at the open and removes it when the last connection
 * closes. SQLite takes no locks on it, so closing another descriptor of it gives none up.
 */
import {closeSync, fdatasync, fdatasyncSync, fsync, fsyncSync, openSync} from 'node:fs';
import {dirname} from 'node:path';

/** Syncs what has been written so far, and then says so; an error means that nobody knows what is on disk. */
export type Sync = (done: (error: Error | null) => void) => void;
/** The same in the thread that calls. @throws Error where `Sync` reports one */
export type SyncNow = () => void;

export class LogSync {
  readonly #log: number;
  /** Null: the log's entry in its directory is on disk. */
  #directory: number | null;

  /** @param path of the tenant's file, which the writer has open. What its log had before is on disk (`rewriteFile`) */
  constructor(path: string) {
    this.#log = openSync(`${path}-wal`, 'r');
    this.#directory = openSync(dirname(path), 'r');
  }

  readonly sync: Sync = done => {
    fdatasync(this.#log, error => {
      if (error !== null || this.#directory === null) done(error);
      else this.#syncDirectory(this.#directory, done);
    });
  };

  readonly syncNow: SyncNow = () => {
    fdatasyncSync(this.#log);
    if (this.#directory === null) return;
    fsyncSync(this.#directory);
    closeSync(this.#directory);
    this.#directory = null;
  };

  /** When nothing is being synced. */
  close(): void {
    closeSync(this.#log);
    if (this.#directory !== null) closeSync(this.#directory);
    this.#directory = null;
  }

  /** With the first sync: the log was made when the file was opened. */
  #syncDirectory(directory: number, done: (error: Error | null) => void): void {
    this.#directory = null;
    fsync(directory, error => {
      closeSync(directory);
      done(error);
    });
  }
}
