/**
 * Makes commits durable. SQLite writes its WAL without waiting for the disk (`synchronous=NORMAL`). This module syncs
 * the WAL with a separate descriptor, in the thread pool or, on a quick disk, in the serving thread
 * (`commit/sync-place.ts`).
 *
 * The descriptor refers to the WAL that the writer has open: SQLite creates it at the open and removes it when the last
 * connection closes. SQLite takes no locks on it, so closing another descriptor of it releases none.
 */

import {closeSync, fdatasync, fdatasyncSync, fsync, fsyncSync, openSync} from 'node:fs';
import {dirname} from 'node:path';
import {assert} from '../../shared/assert.ts';

/** Syncs everything written so far, then calls back; after an error, the state of the disk is unknown. */
export type Sync = (done: (error: Error | null) => void) => void;
/** The same, in the calling thread. @throws Error where `Sync` reports one */
export type SyncNow = () => void;

export class LogSync {
  readonly #log: number;
  /** Null: the WAL's directory entry is on disk. */
  #directory: number | null;
  /** The pool makes a sync. */
  #isSyncing = false;

  /**
   * @param path of the tenant's file, which the writer has open. The earlier content of its WAL is on disk
   *   (`rewriteFile`)
   */
  constructor(path: string) {
    this.#log = openSync(`${path}-wal`, 'r');
    this.#directory = openSync(dirname(path), 'r');
  }

  readonly sync: Sync = done => {
    assert(!this.#isSyncing, 'there is one sync at a time');
    this.#isSyncing = true;
    const ended = (error: Error | null): void => {
      this.#isSyncing = false;
      done(error);
    };
    fdatasync(this.#log, error => {
      if (error !== null || this.#directory === null) ended(error);
      else this.#syncDirectory(this.#directory, ended);
    });
  };

  readonly syncNow: SyncNow = () => {
    assert(!this.#isSyncing, 'there is one sync at a time');
    fdatasyncSync(this.#log);
    if (this.#directory === null) return;
    fsyncSync(this.#directory);
    closeSync(this.#directory);
    this.#directory = null;
  };

  /** Call it when no sync is running. */
  close(): void {
    assert(!this.#isSyncing, 'no sync is running at the close');
    closeSync(this.#log);
    if (this.#directory !== null) closeSync(this.#directory);
    this.#directory = null;
  }

  /** Runs with the first sync, because the WAL was created when the file was opened. */
  #syncDirectory(directory: number, done: (error: Error | null) => void): void {
    this.#directory = null;
    fsync(directory, error => {
      closeSync(directory);
      done(error);
    });
  }
}
