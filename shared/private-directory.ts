/** A directory that this user alone may enter, or pass through those whom its mode lets. Names in a shared temporary folder can be taken by anybody, so a name is not enough. */
import {lstatSync, mkdirSync} from 'node:fs';

/** Makes it when it is missing. False: it cannot be made, or something else has its name. */
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
