/**
 * Whose a tenant's directory is on disk. Its owner is its user; what it is given to last says that all in it is. So a kill at any
 * moment leaves a directory that is given again, and one that is whose it should be costs a look at its first level.
 *
 * Nobody of the tenant runs meanwhile, and links are not followed. A file with several names is not given away: one of them may be
 * another's.
 */
import {lchownSync, lstatSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {firstEntries} from '../files/regular-file.ts';
import {TENANT_DIRECTORY_ENTRIES_MAX} from '../limits.ts';

/** The first level holds more than svc puts there, and a look at all of it would keep other tenants waiting. */
export class TooManyEntries extends Error {
  override name = 'TooManyEntries';
}

/** @returns files that were left alone. @throws TooManyEntries, errors of the file system */
export function giveTo(directory: string, id: number): string[] {
  const left: string[] = [];
  const isGiven = lstatSync(directory).uid === id;
  const names = firstEntries(directory, TENANT_DIRECTORY_ENTRIES_MAX + 1);
  if (names.length > TENANT_DIRECTORY_ENTRIES_MAX)
    throw new TooManyEntries(
      `${directory} has more than ${TENANT_DIRECTORY_ENTRIES_MAX} entries: remove those that svc did not make`,
    );
  for (const name of names) give(join(directory, name), id, isGiven, left);
  if (!isGiven) lchownSync(directory, id, id);
  return left;
}

/** @param isKnown what is whose it should be needs no look at what is in it */
function give(path: string, id: number, isKnown: boolean, left: string[]): void {
  const stat = lstatSync(path);
  if (isKnown && stat.uid === id) return;
  if (stat.isDirectory()) for (const name of readdirSync(path)) give(join(path, name), id, false, left);
  else if (stat.nlink > 1 && stat.uid !== id) {
    left.push(path);
    return;
  }
  if (stat.uid !== id || stat.gid !== id) lchownSync(path, id, id);
}
