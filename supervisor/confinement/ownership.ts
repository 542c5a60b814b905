/**
 * Whose a tenant's directory is on disk. Its owner is its user; what it is given to last says that all in it is. So a kill at any
 * moment leaves a directory that is given again, and one that is whose it should be costs a look at its first level.
 *
 * Nobody of the tenant runs meanwhile, and links are not followed. A file with several names is not given away: one of them may be
 * another's.
 */
import {lchownSync, lstatSync, readdirSync} from 'node:fs';
import {join} from 'node:path';

/** @returns files that were left alone. @throws errors of the file system */
export function giveTo(directory: string, id: number): string[] {
  const left: string[] = [];
  const isGiven = lstatSync(directory).uid === id;
  for (const name of readdirSync(directory)) give(join(directory, name), id, isGiven, left);
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
