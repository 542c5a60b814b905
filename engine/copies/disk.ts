/** The changes that copies make to the file system, in one place, so that tests can end a process at each of them. */
import {closeSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync} from 'node:fs';
import {syncDirectory} from '../storage/file-guard.ts';
import {writeAll} from './bytes.ts';

export type Disk = {
  open(path: string, flags: 'r' | 'r+' | 'w' | 'w+'): number;
  close(fd: number): void;
  /** @param at null: where the last write ended */
  write(fd: number, bytes: Buffer, at: number | null): void;
  truncate(fd: number, bytes: number): void;
  /** The bytes and the size of a file are on disk. */
  sync(fd: number): void;
  rename(from: string, to: string): void;
  /** A directory with what is in it. */
  remove(path: string): void;
  syncDirectory(path: string): void;
};

export const DISK: Disk = {
  open: (path, flags) => openSync(path, flags, 0o600),
  close: closeSync,
  write: writeAll,
  truncate: ftruncateSync,
  sync: fsyncSync,
  rename: renameSync,
  remove: path => rmSync(path, {force: true, recursive: true}),
  syncDirectory,
};
