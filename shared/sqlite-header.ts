/**
 * Reads the header of an SQLite file as outside input, without SQLite: opening a file changes its log, and a file of a
 * tenant may not be a file at all. The header is that of the last checkpoint; commits in the log can have changed it.
 */
import {Buffer} from 'node:buffer';
import {closeSync, constants, fstatSync, openSync, readSync} from 'node:fs';

export const SQLITE_HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';

export type SqliteHeader = {applicationId: number; userVersion: number; pageBytes: number; reservedBytes: number};

/** Null: there is no file that can be read, or it is not one of SQLite. */
export function readSqliteHeader(path: string): SqliteHeader | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (caught) {
    if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
    return null;
  }
  try {
    const bytes = Buffer.alloc(SQLITE_HEADER_BYTES);
    if (!fstatSync(fd).isFile() || readSync(fd, bytes, 0, bytes.length, 0) < bytes.length) return null;
    return parseSqliteHeader(bytes);
  } finally {
    closeSync(fd);
  }
}

export function parseSqliteHeader(bytes: Buffer): SqliteHeader | null {
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return null;
  const pageBytes = bytes.readUInt16BE(16);
  return {
    applicationId: bytes.readUInt32BE(68),
    userVersion: bytes.readUInt32BE(60),
    // 1 stands for a size that 16 bits cannot hold.
    pageBytes: pageBytes === 1 ? 65_536 : pageBytes,
    reservedBytes: bytes[20]!,
  };
}
