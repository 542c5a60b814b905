/**
 * Moves a tenant's closed file out of the way without deleting anything: it can have commits that no other file has.
 *
 *   tenant.sqlite, tenant.sqlite-wal, … ──▶ diverged-<epoch>/ or replaced-<epoch>/, with the same names
 *
 * The files are linked into a directory of another name first, which then gets its name. So a process that ends on the way
 * leaves the file as it was, or in both places, and the next one does the rest. `diverged`: the log has another history
 * than the file, or the file is damaged. `replaced`: the log no longer has the records to compare it with.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {LOGGED_FILE} from '../../shared/tenant-directory.ts';
import {DISK} from '../copies/disk.ts';
import {positionPath} from '../copies/position-file.ts';
import {localNotePath} from './local-note.ts';
import {madeNotePath} from './made-note.ts';
import {placePath} from './place-file.ts';

export type AsideReason = 'diverged' | 'replaced';

const ASIDE = /^(?:diverged|replaced)-\d+(?:\.\d+)?$/;

/** The file, and what lies beside it. The file first: without it, the others are of no use. */
export function filesOf(path: string): string[] {
  const applying = `${path}.applying`;
  const notes = [placePath(path), positionPath(path), localNotePath(path), madeNotePath(path), applying, logNote(path)];
  return [path, `${path}-wal`, `${path}-shm`, ...notes];
}

export function removeFile(path: string): void {
  DISK.remove(path);
  DISK.syncDirectory(dirname(path));
  for (const file of filesOf(path)) DISK.remove(file);
}

/**
 * @param path of the file, which no process has open
 * @param epoch of the newest record that it has; 0: not known
 * @returns the directory
 */
export function setAside(path: string, why: AsideReason, epoch: number): string {
  const parent = dirname(path);
  const done = asideDirectories(parent).find(directory => isSameFile(path, join(directory, basename(path))));
  const directory = done ?? newName(join(parent, `${why}-${epoch}`));
  if (done === undefined) {
    const next = `${directory}.new`;
    DISK.remove(next);
    mkdirSync(next, {mode: 0o700});
    for (const file of filesOf(path)) if (existsSync(file)) linkSync(file, join(next, basename(file)));
    DISK.syncDirectory(next);
    DISK.rename(next, directory);
    DISK.syncDirectory(parent);
  }
  removeFile(path);
  return directory;
}

/**
 * As `setAside`, with a copy of the file: the file itself is cut then. A process that ends in between leaves a copy, and the
 * next one makes another.
 */
export function copyAside(path: string, epoch: number): string {
  const parent = dirname(path);
  const directory = newName(join(parent, `diverged-${epoch}`));
  const next = `${directory}.new`;
  DISK.remove(next);
  mkdirSync(next, {mode: 0o700});
  for (const file of filesOf(path)) if (isFile(file)) copySynced(file, join(next, basename(file)));
  DISK.syncDirectory(next);
  DISK.rename(next, directory);
  DISK.syncDirectory(parent);
  return directory;
}

/** The directories with files that were set aside, by name. @param parent the tenant's directory */
export function asideDirectories(parent: string): string[] {
  return readdirSync(parent)
    .filter(name => ASIDE.test(name))
    .sort()
    .map(name => join(parent, name));
}

/** Of one epoch there can be several. */
function newName(path: string): string {
  for (let i = 1; ; i++) {
    const name = i === 1 ? path : `${path}.${i}`;
    if (!existsSync(name)) return name;
  }
}

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [statSync(one, {throwIfNoEntry: false}), statSync(other, {throwIfNoEntry: false})];
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}

/** A link that a tenant's code has left is not followed. */
function isFile(path: string): boolean {
  return lstatSync(path, {throwIfNoEntry: false})?.isFile() === true;
}

function copySynced(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
  const copy = openSync(to, 'r+');
  try {
    fsyncSync(copy);
  } finally {
    closeSync(copy);
  }
}

function logNote(path: string): string {
  return join(dirname(path), LOGGED_FILE);
}
