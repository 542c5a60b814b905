/**
 * The copies of tenants' files from before an upgrade (shared/tenant-directory.ts), as the server and an operator's
 * command see them. The tenant's user owns the directory, so it is outside input: directories are opened without
 * following links, and only files with known names are removed.
 */
import {closeSync, constants, openSync, rmdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {firstEntries} from '../../shared/outside-files.ts';
import {readNote, statFile} from '../../shared/regular-file.ts';
import {
  BEFORE_UPGRADE,
  KEPT_NOTE,
  type KeptNote,
  keptNoteIn,
  keptVersion,
  TENANT_FILE,
} from '../../shared/tenant-directory.ts';
import {KEPT_COPIES_MAX} from '../limits.ts';

export type KeptCopy = {name: string; note: KeptNote};

const FILES = ['', '-wal', '-shm'].map(end => TENANT_FILE + end);

/** Newest version first. */
export function keptCopies(directory: string): KeptCopy[] {
  return inDirectory(join(directory, BEFORE_UPGRADE), [], kept => copiesIn(kept));
}

/** Notes without their files: their removal was interrupted, or a way back that put the file in its place. */
export function tornNotes(directory: string): KeptNote[] {
  return inDirectory(join(directory, BEFORE_UPGRADE), [], kept =>
    entriesIn(kept).flatMap(({note, hasFile}) => (hasFile || note === null ? [] : [note])),
  );
}

/** Removes all copies, or those made before this time, and what interrupted removals left. @returns how many copies */
export function forgetCopies(directory: string, beforeMs = Number.POSITIVE_INFINITY): number {
  const place = join(directory, BEFORE_UPGRADE);
  return inDirectory(place, 0, kept => {
    const old = copiesIn(kept).filter(({note}) => note.made_ms < beforeMs);
    const torn = entriesIn(kept).filter(({hasFile}) => !hasFile);
    for (const {name} of [...old, ...torn]) removeCopy(kept, name);
    if (firstEntries(kept, 1).length === 0) rmdirSync(place);
    return old.length;
  });
}

/** A copy whose file is gone is removed, too. */
export function removeCopy(kept: string, name: string): void {
  inDirectory(join(kept, name), undefined, copy => {
    // The note last: a file without it would never be found again.
    for (const file of [...FILES, KEPT_NOTE]) rmSync(join(copy, file), {force: true});
  });
  rmdirSync(join(kept, name));
}

function copiesIn(kept: string): KeptCopy[] {
  const copies = entriesIn(kept).flatMap(({name, note, hasFile}) => (hasFile && note !== null ? [{name, note}] : []));
  return copies.sort((a, b) => b.note.from - a.note.from);
}

/** `note` is null if it is not that of a copy with this name. */
type Entry = {name: string; note: KeptNote | null; hasFile: boolean};

function entriesIn(kept: string): Entry[] {
  const names = firstEntries(kept, KEPT_COPIES_MAX).filter(name => keptVersion(name) !== null);
  return names.flatMap(name =>
    inDirectory<Entry[]>(join(kept, name), [], copy => {
      const text = readNote(join(copy, KEPT_NOTE));
      const note = text.is === 'file' ? keptNoteIn(text.text) : null;
      const hasFile = statFile(join(copy, TENANT_FILE)) !== undefined;
      return [{name, note: note?.from === keptVersion(name) ? note : null, hasFile}];
    }),
  );
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
