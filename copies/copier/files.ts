/** Files that are input from outside: opened without following links, read and hashed up to a number of bytes. */
import {createHash} from 'node:crypto';
import {closeSync, constants, fstatSync, openSync} from 'node:fs';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {readAt} from '../../engine/copies/bytes.ts';
import {STREAM_CHUNK_BYTES} from '../limits.ts';

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

/** In parts, between which the process does other things. */
export async function digestInTurns({fd, bytes}: OpenFile, algorithm: 'sha256' | 'sha512'): Promise<string> {
  const sum = createHash(algorithm);
  for (let at = 0; at < bytes; at += STREAM_CHUNK_BYTES) {
    sum.update(readAt(fd, at, Math.min(STREAM_CHUNK_BYTES, bytes - at)));
    await nextTurn();
  }
  return sum.digest('hex');
}

function openIfThere(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (caught) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes((caught as NodeJS.ErrnoException).code ?? '')) return null;
    throw caught;
  }
}
