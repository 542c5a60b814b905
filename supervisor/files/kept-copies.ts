/**
 * The copies of tenants' files from before an upgrade (shared/tenant-directory.ts), as the server and an operator's
 * command see them. The tenant's user owns the directory, so it is outside input: directories are opened without
 * following links, and only files with known names are removed.
 */
import {closeSync, constants, openSync, rmdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {
  BEFORE_UPGRADE,
  KEPT_NOTE,
  type KeptNote,
  keptNoteIn,
  keptVersion,
  TENANT_FILE,
} from '../../shared/tenant-directory.ts';
import {KEPT_COPIES_MAX} from '../limits.ts';
import {firstEntries, readNote, statFile} from './regular-file.ts';

export type KeptCopy = {name: string; note: KeptNote};

const FILES = ['', '-wal', '-shm'].map(end => TENANT_FILE + end);

/** Newest version first. */
export function keptCopies(directory: string): KeptCopy[] {
  return inDirectory(join(directory, BEFORE_UPGRADE), [], kept => copiesIn(kept));
}

/** Removes all copies, or those made before this time. @returns how many */
export function forgetCopies(directory: string, beforeMs = Number.POSITIVE_INFINITY): number {
  const place = join(directory, BEFORE_UPGRADE);
  return inDirectory(place, 0, kept => {
    const old = copiesIn(kept).filter(({note}) => note.made_ms < beforeMs);
    for (const {name} of old) removeCopy(kept, name);
    if (firstEntries(kept, 1).length === 0) rmdirSync(place);
    return old.length;
  });
}

/** A copy whose file is gone is removed, too. */
export function removeCopy(kept: string, name: string): void {
  inDirectory(join(kept, name), undefined, copy => {
    // The note last: without it the copy would never be found again.
    for (const file of [...FILES, KEPT_NOTE]) rmSync(join(copy, file), {force: true});
  });
  rmdirSync(join(kept, name));
}

function copiesIn(kept: string): KeptCopy[] {
  const names = firstEntries(kept, KEPT_COPIES_MAX).filter(name => keptVersion(name) !== null);
  const copies = names.flatMap(name =>
    inDirectory<KeptCopy[]>(join(kept, name), [], copy => {
      const text = readNote(join(copy, KEPT_NOTE));
      const note = text.is === 'file' ? keptNoteIn(text.text) : null;
      return note === null || note.from !== keptVersion(name) || statFile(join(copy, TENANT_FILE)) === undefined
        ? []
        : [{name, note}];
    }),
  );
  return copies.sort((a, b) => b.note.from - a.note.from);
}

/** Calls with a path that stays that of this directory, whatever replaces it meanwhile. */
function inDirectory<T>(path: string, otherwise: T, act: (path: string) => T): T {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (caught) {
    const {code} = caught as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return otherwise;
    throw caught;
  }
  try {
    return act(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}
