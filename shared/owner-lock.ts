/**
 * Guarantees one owner of a directory or file at a time, across all processes of the machine.
 *
 * The lock is an SQLite database held in an exclusive transaction. The operating system drops it when the process ends
 * for any reason, so there is no stale lock to detect. (A file with a process id cannot tell a dead owner from another
 * process that got its number.) A note next to it names the owner, for messages only.
 *
 *   <path>.lock    the locked, empty database
 *   <path>.owner   {"pid", "boot_id", "started_at"} of the owner; left behind after a crash, never trusted
 */

import {readFileSync, rmSync, writeFileSync} from 'node:fs';
import {setTimeout as delay} from 'node:timers/promises';
import Database from 'better-sqlite3';
import {assert} from './assert.ts';
import {isNoSpace, isUnwritable} from './disk-errors.ts';
import {OWNER_POLL_MS} from './limits.ts';

export type Owner = {
  pid: number;
  /** Linux: tells an owner's note from before a reboot from one after it. Elsewhere null. */
  boot_id: string | null;
  started_at: string;
};

/** Another process holds the lock. `owner`: which one, according to the note. */
export class OwnerLockHeld extends Error {
  override name = 'OwnerLockHeld';
  readonly path: string;
  readonly owner: Owner | null;

  constructor(path: string, owner: Owner | null) {
    super(`${path} is locked by ${owner === null ? 'another process' : `process ${owner.pid}`}`);
    this.path = path;
    this.owner = owner;
  }
}

export class OwnerLock {
  readonly #path: string;
  readonly #db: Database.Database;

  constructor(path: string, db: Database.Database) {
    this.#path = path;
    this.#db = db;
  }

  /** Releases the lock; a second call is a bug. */
  release(): void {
    assert(this.#db.open, `the lock of ${this.#path} was released before`);
    removeNote(`${this.#path}.owner`);
    this.#db.close();
  }
}

/**
 * Acquires the lock of `path`.
 * @param options.waitMs how long to wait for an earlier owner to exit; 0: not at all
 * @throws OwnerLockHeld if it is still held after that; an error that names the lock if the lock file is damaged;
 * errors of the file system unchanged
 */
export async function acquireOwnerLock(path: string, options: {waitMs: number} = {waitMs: 0}): Promise<OwnerLock> {
  for (let waitedMs = 0; ; waitedMs += OWNER_POLL_MS) {
    const lock = tryAcquire(path);
    if (lock !== null) return lock;
    if (waitedMs >= options.waitMs) throw new OwnerLockHeld(path, readOwner(path));
    await delay(OWNER_POLL_MS);
  }
}

function tryAcquire(path: string): OwnerLock | null {
  const db = new Database(`${path}.lock`, {timeout: 0});
  try {
    // Nothing is ever written to the database, so it needs no journal on disk.
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    const owner: Owner = {pid: process.pid, boot_id: bootId(), started_at: new Date().toISOString()};
    writeNote(`${path}.owner`, owner);
    return new OwnerLock(path, db);
  } catch (caught) {
    db.close();
    if (caught instanceof Database.SqliteError && caught.code.startsWith('SQLITE_BUSY')) return null;
    if (caught instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(caught.code)) {
      // Unchanged, this error would look like damage of the guarded file. The lock is not removed: another process
      // could hold it.
      const hint = `nothing is kept in it; remove it while no process uses ${path}`;
      throw new Error(`the lock ${path}.lock is damaged: ${hint}`, {cause: caught});
    }
    throw caught;
  }
}

/** On a full disk the lock has no note: the owner only appears in messages. */
function writeNote(path: string, owner: Owner): void {
  try {
    writeFileSync(path, `${JSON.stringify(owner)}\n`, {mode: 0o600});
  } catch (caught) {
    if (!isNoSpace(caught)) throw caught;
  }
}

/** A disk that became read-only keeps the note: nothing depends on it. */
function removeNote(path: string): void {
  try {
    rmSync(path, {force: true});
  } catch (caught) {
    if (!isUnwritable(caught)) throw caught;
  }
}

function readOwner(path: string): Owner | null {
  try {
    const owner = JSON.parse(readFileSync(`${path}.owner`, 'utf8')) as Partial<Owner>;
    if (typeof owner.pid !== 'number') return null;
    return {pid: owner.pid, boot_id: owner.boot_id ?? null, started_at: owner.started_at ?? ''};
  } catch {
    return null; // The owner has not written it yet, or has exited. The note only serves a message.
  }
}

export function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null; // Only Linux has one.
  }
}
