/** The data directory: created if it is missing, and locked by one server at a time. */
import {accessSync, constants, existsSync} from 'node:fs';
import {join} from 'node:path';
import {acquireOwnerLock, type OwnerLock, OwnerLockHeld} from '../../shared/owner-lock.ts';
import {STANDBY_DIRECTORY} from '../../shared/standby.ts';
import {StartError} from './start-error.ts';
import {makeDirectory} from './tenant-files.ts';

/** @throws StartError: the directory cannot be used, or another server uses it */
export async function ownDataDirectory(path: string): Promise<OwnerLock> {
  try {
    await makeDirectory(path);
    if (existsSync(join(path, STANDBY_DIRECTORY))) throw new StartError(standbyMessage(path));
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return await acquireOwnerLock(join(path, 'svc'));
  } catch (caught) {
    if (caught instanceof OwnerLockHeld) {
      const who = caught.owner === null ? 'another server' : `another server (process ${caught.owner.pid})`;
      throw new StartError(`the data directory ${path} is in use by ${who}: stop it, or choose another with --data`);
    }
    throw caught instanceof StartError ? caught : unusable(path, caught);
  }
}

function standbyMessage(path: string): string {
  return `the data directory ${path} follows a repository: svc promote --data ${path} makes it one of a server`;
}

/** Turns an error of the file system during a start into a sentence; other errors stay as they are. */
export async function orStartError<T>(path: string, done: Promise<T>): Promise<T> {
  return done.catch((caught: unknown) => {
    throw caught instanceof Error && 'syscall' in caught ? unusable(path, caught) : caught;
  });
}

function unusable(path: string, caught: unknown): StartError {
  return new StartError(`the data directory ${path} cannot be used: ${reasonOf(caught)}`, {cause: caught});
}

function reasonOf(caught: unknown): string {
  switch ((caught as NodeJS.ErrnoException).code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return 'it, or something above it, is not a directory';
    case 'EACCES':
    case 'EPERM':
      return 'this user may not read and write it (a server that ran as root leaves it to root and to users of tenants; chown -R gives it to one user)';
    case 'EROFS':
      return 'its file system is read-only';
    case 'ENOSPC':
      return 'the disk is full';
    default:
      return (caught as Error).message;
  }
}
