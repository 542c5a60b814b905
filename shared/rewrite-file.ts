/**
 * Makes sure that a file left by another process is on disk. Syncing it is not enough: after a failed write-back Linux
 * reports the error once and marks the pages as clean, so a later sync succeeds without writing them.
 *
 * The bytes are written to a new file, which is synced and renamed over the old one. It has its own blocks, so none of
 * the old ones has to work. A crash at any point leaves the old file or the new one, which are equal. Without space for
 * a copy the bytes are written over themselves, which makes their pages dirty again.
 */
import type {FileHandle} from 'node:fs/promises';
import {open, rename, rm} from 'node:fs/promises';
import {dirname} from 'node:path';
import {isNoSpace} from './disk-errors.ts';
import {REWRITE_CHUNK_BYTES} from './limits.ts';
import {syncDirectory} from './sync-directory.ts';

/**
 * The file must not be open elsewhere. A missing file is ignored. @throws errors of the file system; then the file is
 * unchanged
 */
export async function rewriteFile(path: string): Promise<void> {
  const file = await openIfThere(path);
  if (file === null) return;
  try {
    const {size, mode} = await file.stat();
    if (size === 0) return;
    const copy = `${path}.copy`;
    try {
      await writeCopy(file, copy, mode & 0o777);
      await rename(copy, path);
      await syncDirectory(dirname(path));
    } catch (caught) {
      await rm(copy, {force: true});
      if (!isNoSpace(caught)) throw caught;
      await copyBytes(file, file);
      await file.sync();
    }
  } finally {
    await file.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r+');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
    return null;
  }
}

async function writeCopy(from: FileHandle, path: string, mode: number): Promise<void> {
  // An interrupted attempt could have left one.
  await rm(path, {force: true});
  const copy = await open(path, 'wx', mode);
  try {
    await copyBytes(from, copy);
    await copy.sync();
  } finally {
    await copy.close();
  }
}

async function copyBytes(from: FileHandle, to: FileHandle): Promise<void> {
  const chunk = Buffer.allocUnsafe(REWRITE_CHUNK_BYTES);
  for (let at = 0; ; ) {
    const {bytesRead} = await from.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) return;
    for (let done = 0; done < bytesRead; ) {
      const {bytesWritten} = await to.write(chunk, done, bytesRead - done, at + done);
      done += bytesWritten;
    }
    at += bytesRead;
  }
}
