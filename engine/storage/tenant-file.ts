/**
 * Opens a tenant's own file. The file is created exactly once, at the first open after the tenant's creation
 * (`tenant.new` marks that). From then on a file that is missing, empty or without tables was lost. Serving an empty
 * one instead would give wrong results with 200, so it is refused, and left as it is.
 */
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import {dirname, join} from 'node:path';
import Database from 'better-sqlite3';
import {isNoSpace, isReadOnly, unwritableError} from '../../shared/disk-errors.ts';
import {ServiceError} from '../../shared/errors.ts';
import {NEW_TENANT_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {keepBeforeUpgrade} from './before-upgrade.ts';
import type {Connection} from './connection.ts';
import {openForReading, openWriter, storageFailure} from './database.ts';
import {findLostLog, syncDirectory} from './file-guard.ts';
import {checkOwner, claimFile, damagedError, type TenantIdentity} from './identity.ts';
import {findLogDamage} from './wal-log.ts';
import {noteWrittenBy, refuseLater} from './written-by.ts';

/** A disk with less free space than this counts as full, because SQLite needs as much to open a file. */
const FREE_BYTES_MIN = 128 * 1024;

/**
 * Runs before anything is created in the directory.
 * @throws op.storage_damaged 503: the tenant was used, and its file is gone; session.worker_unavailable 503: the file
 * needs a later svc
 */
export function checkFileIsThere(directory: string, isReadOnly = false): void {
  if (statSync(directory, {throwIfNoEntry: false}) === undefined) throw damagedError(`${directory} is missing`);
  if (isNoted(join(directory, NEW_TENANT_FILE))) return;
  const path = join(directory, TENANT_FILE);
  const size = statSync(path, {throwIfNoEntry: false})?.size;
  if (size === undefined) throw damagedError(`${path} is missing`);
  // SQLite would remove a WAL that lies beside an empty file.
  if (size === 0) throw damagedError(`${path} is empty`);
  refuseLater(path);
  // SQLite would open it read-only, and the first write would end the worker with its outcome unknown.
  accessSync(path, isReadOnly ? constants.R_OK : constants.R_OK | constants.W_OK);
}

/** Whether its file system is mounted read-only. */
export function isDiskReadOnly(directory: string): boolean {
  try {
    closeSync(openSync(join(directory, TENANT_FILE), 'r+'));
    return false;
  } catch (caught) {
    return isReadOnly(caught);
  }
}

/**
 * Opens the file on a disk that cannot be written. SQLite reads the WAL without changing it if both files of the WAL
 * exist, which `keepLogFiles` and every earlier open ensured.
 * @throws op.storage_damaged 503; session.storage_read_only 503; errors of SQLite and of the file system as they are
 */
export function openTenantFileForReading(directory: string, tenant: TenantIdentity): Connection {
  if (existsSync(join(directory, NEW_TENANT_FILE))) throw unwritableError();
  refuseLostLog(directory);
  const path = join(directory, TENANT_FILE);
  const damage = findLogDamage(path);
  if (damage !== null) throw damagedLog(damage.finding);
  const db = openForReading(path);
  try {
    checkOwner(db, tenant);
    return db;
  } catch (caught) {
    db.close();
    throw caught;
  }
}

/** If the note's name belongs to something other than a file, no creation made it. */
function isNoted(path: string): boolean {
  return lstatSync(path, {throwIfNoEntry: false})?.isFile() === true;
}

/** @throws op.storage_damaged 503; errors of SQLite and of the file system as they are */
export function openTenantFile(directory: string, tenant: TenantIdentity): Connection {
  const note = join(directory, NEW_TENANT_FILE);
  const isNew = isNoted(note);
  const path = join(directory, TENANT_FILE);
  if (!isNew) {
    refuseLostLog(directory);
    refuseDamagedLog(path);
    keepBeforeUpgrade(directory);
  }
  const db = openWriter(path, isNew);
  try {
    claimFile(db, tenant);
    noteWrittenBy(db);
    if (isNew) {
      rmSync(note);
      syncDirectory(directory);
    }
    return db;
  } catch (caught) {
    db.close();
    throw caught;
  }
}

/** @throws op.storage_damaged 503 */
function refuseLostLog(directory: string): void {
  const finding = findLostLog(directory);
  if (finding === null) return;
  throw damagedError(`${finding}; see "A lost log" in docs/operating.md`);
}

/** Runs before SQLite opens the file, which would silently cut the WAL at the damage. @throws op.storage_damaged 503 */
function refuseDamagedLog(path: string): void {
  const damage = findLogDamage(path);
  if (damage === null) return;
  const log = `${path}-wal`;
  const copy = `${log}.damaged`;
  // Keep the original content, for any repair.
  if (existsSync(log) && !existsSync(copy)) copyFileSync(log, copy);
  throw damagedLog(damage.finding);
}

function damagedLog(finding: string): ServiceError {
  return damagedError(`${finding}; see "A damaged log" in docs/operating.md`);
}

/**
 * The reason why a tenant could not be opened, for its clients; errors that are not a state of the disk pass unchanged.
 */
export function openFailure(caught: unknown, directory: string): unknown {
  if (caught instanceof ServiceError) return caught;
  const code = (caught as {code?: unknown}).code;
  if (typeof code !== 'string') return caught;
  // SQLITE_ERROR: a table or a column that always exists was not found.
  if (caught instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB|ERROR|CONSTRAINT)/.test(code)) {
    return damagedError(`${join(directory, TENANT_FILE)}: ${caught.message}`);
  }
  if (isReadOnly(caught) || (/^SQLITE_(IOERR|CANTOPEN|READONLY)/.test(code) && isDiskReadOnly(directory))) {
    return unwritableError(caught);
  }
  const isFull =
    isNoSpace(caught) ||
    storageFailure(caught) === 'full' ||
    // There may be space again by now, as there is when another tenant has just closed its file.
    code === 'SQLITE_IOERR_SHMSIZE' ||
    (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && isDiskFull(directory));
  if (!isFull) return caught;
  const message = 'the disk is full: the tenant cannot be opened; free space and try again';
  return new ServiceError('session.storage_full', message, undefined, {cause: caught});
}

function isDiskFull(path: string): boolean {
  const {bavail, bsize, ffree, files} = statfsSync(existsSync(path) ? path : dirname(path));
  return bavail * bsize < FREE_BYTES_MIN || (files > 0 && ffree === 0);
}
