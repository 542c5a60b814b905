/**
 * Makes a directory that only this user can enter, or that others can pass through if its mode allows it. Any user can
 * take a name in a shared temporary folder, so a name alone is not enough.
 */
import {lstatSync, mkdirSync} from 'node:fs';

/** Creates it if it is missing. False: it cannot be created, or something else has its name. */
export function ensurePrivateDirectory(path: string, mode = 0o700): boolean {
  try {
    mkdirSync(path, {mode});
    return true;
  } catch (caught) {
    if (!(caught instanceof Error && 'code' in caught)) throw caught;
    return caught.code === 'EEXIST' && isPrivateDirectory(path, mode);
  }
}

export function isPrivateDirectory(path: string, mode = 0o700): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o777 & ~mode) === 0;
  } catch (caught) {
    if (!(caught instanceof Error && 'code' in caught)) throw caught;
    return false;
  }
}
