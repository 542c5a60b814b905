/**
 * Makes a tenant's user the owner of its directory on disk. The owner of the directory itself is set last, so it proves
 * that the content was given too. Hence after a kill at any moment the directory is given again, and a directory with
 * the right owner costs only a scan of its first level.
 *
 * No process of the tenant runs meanwhile, and links are not followed. A file with several hard links is not given,
 * because one of its names may be outside the directory.
 */
import {Buffer} from 'node:buffer';
import {lchownSync, lstatSync, readdirSync} from 'node:fs';
import {firstEntries} from '../../shared/outside-files.ts';
import {within} from '../../shared/regular-file.ts';
import {TENANT_DIRECTORY_ENTRIES_MAX} from '../limits.ts';

/** The first level holds more entries than svc creates, and scanning all of them would delay other tenants. */
export class TooManyEntries extends Error {
  override name = 'TooManyEntries';
}

/** @returns files that were not given. @throws TooManyEntries, errors of the file system */
export function giveTo(directory: string, id: number): string[] {
  const left: string[] = [];
  const isGiven = lstatSync(directory).uid === id;
  const names = firstEntries(directory, TENANT_DIRECTORY_ENTRIES_MAX + 1, 'latin1');
  if (names.length > TENANT_DIRECTORY_ENTRIES_MAX)
    throw new TooManyEntries(
      `${directory} has more than ${TENANT_DIRECTORY_ENTRIES_MAX} entries: remove those that svc did not make`,
    );
  const path = Buffer.from(directory);
  for (const name of names) give(within(path, Buffer.from(name, 'latin1')), id, isGiven, left);
  if (!isGiven) lchownSync(directory, id, id);
  return left;
}

/**
 * @param path as bytes, because names need not be UTF-8 @param isKnown if the owner is right already, the content is not
 * scanned
 */
function give(path: Buffer, id: number, isKnown: boolean, left: string[]): void {
  const stat = lstatSync(path);
  if (isKnown && stat.uid === id) return;
  if (stat.isDirectory()) {
    for (const name of readdirSync(path, {encoding: 'buffer'})) give(within(path, name), id, false, left);
  } else if (stat.nlink > 1 && stat.uid !== id) {
    left.push(path.toString());
    return;
  }
  if (stat.uid !== id || stat.gid !== id) lchownSync(path, id, id);
}
