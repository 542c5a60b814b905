/**
 * Handles changes to the supervisor's files that the storage refused. They do not end the process, because a server
 * that cannot write can still serve reads. SQLite rolls a failed change back, and the next one writes the same pages
 * again, so pages in doubt after a failed sync are rewritten.
 */
import Database from 'better-sqlite3';
import {isUnwritable, unwritableError} from '../../shared/disk-errors.ts';
import {ServiceError} from '../../shared/errors.ts';

/** Null: the error is not about the storage. */
export function storageRefusal(caught: unknown): ServiceError | null {
  if (!(caught instanceof Database.SqliteError)) return null;
  if (caught.code.startsWith('SQLITE_FULL')) {
    return new ServiceError('session.storage_full', 'the disk is full: free space and try again', undefined, {
      cause: caught,
    });
  }
  return isUnwritable(caught) ? unwritableError(caught) : null;
}
