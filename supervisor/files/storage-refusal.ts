/**
 * A change to one of the supervisor's files that its storage refused. None of them ends the process: a server that cannot write goes on
 * serving reads. SQLite takes a change back that failed, and the next one writes the same pages again, so that what a failed sync
 * left in doubt is written once more.
 */
import Database from 'better-sqlite3';
import {isUnwritable, unwritableError} from '../../shared/disk-errors.ts';
import {ServiceError} from '../../shared/errors.ts';

/** Null: it says nothing about the storage. */
export function storageRefusal(caught: unknown): ServiceError | null {
  if (!(caught instanceof Database.SqliteError)) return null;
  if (caught.code.startsWith('SQLITE_FULL')) {
    return new ServiceError('session.storage_full', 'the disk is full: free space and try again', undefined, {
      cause: caught,
    });
  }
  return isUnwritable(caught) ? unwritableError(caught) : null;
}
