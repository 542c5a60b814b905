/**
 * Opens a tenant's SQLite file. Every setting that durability depends on is made explicitly and read back: a file that
 * does not accept them is not opened at all.
 *
 * There is one writer connection, which only the commit pipeline uses, and read-only connections for everything else.
 * The engine makes its own checkpoints (automatic ones are off), so a checkpoint never hides inside a client's commit.
 */

import {dirname} from 'node:path';
import Database from 'better-sqlite3';
import {unwritableError} from '../../shared/disk-errors.ts';
import {ServiceError} from '../../shared/errors.ts';
import {READER_CACHE_KIB, READER_MMAP_BYTES, ROWS_SUMMED_MAX, WRITER_CACHE_KIB} from '../limits.ts';
import type {Connection} from './connection.ts';
import {isEngineDamage} from './damage.ts';
import {syncDirectory} from './file-guard.ts';
import {damagedError} from './identity.ts';
import {LAYOUT_VERSION, migrate, STORAGE_VERSION} from './migrations.ts';
import {layoutFinding, smallTablesFinding} from './row-sums.ts';
import {APPLICATION_ID} from './tables.sql.ts';

/** Older versions have a WAL bug that can corrupt a file. */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;

type Pragma = [name: string, set: string, readBack: string | number];

const PRAGMAS: Pragma[] = [
  ['journal_mode', 'WAL', 'wal'],
  ['synchronous', 'FULL', 2],
  ['fullfsync', 'ON', 1],
  ['checkpoint_fullfsync', 'ON', 1],
  ['foreign_keys', 'ON', 1],
  ['trusted_schema', 'OFF', 0],
  ['cell_size_check', 'ON', 1],
  ['wal_autocheckpoint', '0', 0],
];

/**
 * Opens the writer and migrates the file's tables to the current version.
 * @param mayCreate makes the file, or its tables, if there are none. @throws op.storage_damaged 503 if it may not
 */
export function openWriter(path: string, mayCreate = true): Connection {
  const db = new Database(path, {fileMustExist: !mayCreate});
  try {
    checkVersion(db);
    if (!mayCreate && db.pragma('user_version', {simple: true}) === 0) {
      throw damagedError(`${path} has no tables: they were in a log that is lost`);
    }
    for (const pragma of PRAGMAS) setPragma(db, pragma);
    db.pragma(`cache_size = -${WRITER_CACHE_KIB}`);
    const id = db.pragma('application_id', {simple: true});
    if (id !== 0 && id !== APPLICATION_ID) {
      throw damagedError(`${path} is not a tenant file: its application_id is ${id}`);
    }
    // Before anything is written with these definitions, and before anything relies on these rows.
    if ((db.pragma('user_version', {simple: true}) as number) >= LAYOUT_VERSION) refuse(path, layoutFinding(db));
    const migrated = migrate(db);
    refuse(path, smallTablesFinding(db, ROWS_SUMMED_MAX));
    if (migrated === 'created') syncDirectory(dirname(path));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Opens a read-only connection instead of the writer, on a disk that cannot be written.
 * @throws op.storage_damaged 503; session.storage_read_only 503: it is of an older version
 */
export function openForReading(path: string): Connection {
  const db = new Database(path, {readonly: true, fileMustExist: true});
  try {
    checkVersion(db);
    const version = db.pragma('user_version', {simple: true}) as number;
    if (version < STORAGE_VERSION) throw unwritableError(new Error(`${path} has version ${version}`));
    for (const pragma of PRAGMAS.filter(([name]) => name !== 'journal_mode')) setPragma(db, pragma);
    refuse(path, layoutFinding(db));
    refuse(path, smallTablesFinding(db, ROWS_SUMMED_MAX));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** @throws op.storage_damaged 503 */
function refuse(path: string, finding: string | null): void {
  if (finding !== null) throw damagedError(`${path}: ${finding}`);
}

/**
 * From now on COMMIT writes the WAL and does not wait for it (`log-sync.ts` syncs it). Nothing of a transaction is in
 * the WAL before its COMMIT, because a page written early could be on disk when the commit before it is not.
 */
export function leaveSyncsToUs(db: Connection): void {
  setPragma(db, ['synchronous', 'NORMAL', 1]);
  setPragma(db, ['cache_spill', 'OFF', 0]);
}

/** For writes outside of groups, at the close. */
export function syncEachCommit(db: Connection): void {
  setPragma(db, ['synchronous', 'FULL', 2]);
}

/** A read-only connection to a file that a writer has open. */
export function openReader(path: string): Connection {
  const db = new Database(path, {readonly: true, fileMustExist: true});
  setPragma(db, ['trusted_schema', 'OFF', 0]);
  setPragma(db, ['cell_size_check', 'ON', 1]);
  db.pragma(`cache_size = -${READER_CACHE_KIB}`);
  db.pragma(`mmap_size = ${READER_MMAP_BYTES}`);
  return db;
}

function setPragma(db: Connection, [name, set, readBack]: Pragma): void {
  db.pragma(`${name} = ${set}`);
  const got = db.pragma(name, {simple: true});
  if (got !== readBack) throw new Error(`SQLite did not take ${name} = ${set}: it says ${String(got)}`);
}

function checkVersion(db: Connection): void {
  const version = db.prepare('SELECT sqlite_version()').pluck().get() as string;
  const have = version.split('.').map(Number);
  for (const [i, least] of SQLITE_VERSION_MIN.entries()) {
    if (have[i]! > least) return;
    if (have[i]! < least)
      throw new Error(`SQLite ${version} is too old: ${SQLITE_VERSION_MIN.join('.')} is the oldest`);
  }
}

/** The effect of an SQLite error on the transaction it ended. */
export type StorageFailure =
  /** No space: the group fails with 507, reads still work, later writes may work. */
  | 'full'
  /** SQLite found a broken structure: this operation fails, all others still work. */
  | 'damaged'
  /** The file or the device cannot be trusted: this process must end and recover from disk. */
  | 'fatal';

/** Classifies an error of the storage engine; null when it is not one. */
export function storageFailure(caught: unknown): StorageFailure | null {
  if (!(caught instanceof Database.SqliteError)) return null;
  if (isEngineDamage(caught)) return 'damaged';
  return caught.code === 'SQLITE_FULL' || caught.code.startsWith('SQLITE_FULL_') ? 'full' : 'fatal';
}

export function storageFullError(): ServiceError {
  return new ServiceError('session.storage_full', 'the disk is full: nothing was written; free space and try again');
}
