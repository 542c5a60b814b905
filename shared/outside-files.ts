/** Files and directories that are input from outside: opened without following links, and only if they are what they should be. */
import {closeSync, constants, fstatSync, opendirSync, openSync} from 'node:fs';

const {O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY} = constants;
/** It is missing, a link or a socket, or a file instead of a directory. */
const OTHERS: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO']);

export type OpenFile = {fd: number; bytes: number};

/** The caller closes it. @returns null: it is missing, or not a regular file */
export function openRegular(path: string): OpenFile | null {
  const fd = openFile(path);
  if (fd === null) return null;
  const stat = fstatSync(fd);
  if (stat.isFile()) return {fd, bytes: stat.size};
  closeSync(fd);
  return null;
}

/** The caller closes it, and looks what it is. @returns null: it is missing, a link or a socket */
export function openFile(path: string): number | null {
  return openIfThere(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** The caller closes it. @returns null: it is missing, or something else */
export function openDirectory(path: string): number | null {
  return openIfThere(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** Of an open directory: on Linux, whose tenants have users, it stays the same if another one takes its place. */
export function pathOfOpen(fd: number, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${fd}` : path;
}

/** Whether an error says that a file is missing, or something else has its name. */
export function isGone(caught: unknown): boolean {
  return OTHERS.has((caught as NodeJS.ErrnoException).code);
}

/** The first entries of a directory, which may have millions. @param encoding `latin1` keeps the bytes of names that are not UTF-8 */
export function firstEntries(directory: string, most: number, encoding: BufferEncoding = 'utf8'): string[] {
  const names: string[] = [];
  const open = opendirSync(directory, {encoding});
  try {
    while (names.length < most) {
      const entry = open.readSync();
      if (entry === null) break;
      names.push(entry.name);
    }
  } finally {
    open.closeSync();
  }
  return names;
}

function openIfThere(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (caught) {
    if (isGone(caught)) return null;
    throw caught;
  }
}
