/** Files that are input from outside: opened without following links, and only if they are what they should be. */
import {closeSync, constants, fstatSync, openSync} from 'node:fs';

const {O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY} = constants;

export type OpenFile = {fd: number; bytes: number};

/** The caller closes it. @returns null: it is missing, or not a regular file */
export function openRegular(path: string): OpenFile | null {
  const fd = openIfThere(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd === null) return null;
  const stat = fstatSync(fd);
  if (stat.isFile()) return {fd, bytes: stat.size};
  closeSync(fd);
  return null;
}

/** The caller closes it. @returns null: it is missing, or something else */
export function openDirectory(path: string): number | null {
  return openIfThere(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

function openIfThere(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (caught) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes((caught as NodeJS.ErrnoException).code ?? '')) return null;
    throw caught;
  }
}
