/** Classifies errors of the file system and of SQLite by what they say about the disk. */
import {ServiceError} from './errors.ts';

export function isNoSpace(caught: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(caught));
}

/** @returns false: the disk has no space for the act. @throws what else it throws */
export function hadSpace(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (caught) {
    if (!isNoSpace(caught)) throw caught;
    return false;
  }
}

/** The disk accepts no writes: it is read-only, or writes fail. */
export function isUnwritable(caught: unknown): boolean {
  return /^(EROFS|EIO|SQLITE_(IOERR|READONLY|CANTOPEN).*)$/.test(codeOf(caught));
}

export function isReadOnly(caught: unknown): boolean {
  return codeOf(caught) === 'EROFS';
}

export function unwritableError(cause?: unknown): ServiceError {
  return new ServiceError(
    'session.storage_read_only',
    'the file system of the data directory is read-only or fails: reads go on; repair it, mount it for writing and try again',
    undefined,
    cause === undefined ? undefined : {cause},
  );
}

function codeOf(caught: unknown): string {
  return String((caught as {code?: unknown}).code);
}
