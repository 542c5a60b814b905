/** A directory that this user alone may enter. Names in a shared temporary folder can be taken by anybody, so a name is not enough. */
import {lstatSync, mkdirSync} from 'node:fs';

/** Makes it when it is missing. False: it cannot be made, or something else has its name. */
export function ensurePrivateDirectory(path: string): boolean {
  try {
    mkdirSync(path, {mode: 0o700});
    return true;
  } catch (caught) {
    if (!(caught instanceof Error && 'code' in caught)) throw caught;
    return caught.code === 'EEXIST' && isPrivateDirectory(path);
  }
}

export function isPrivateDirectory(path: string): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0;
  } catch (caught) {
    if (!(caught instanceof Error && 'code' in caught)) throw caught;
    return false;
  }
}
