/**
 * Reads the header of an SQLite file as outside input, without SQLite: opening a file changes its log, and a file of a
 * tenant may not be a file at all. The header is that of the last checkpoint; commits in the log can have changed it.
 */
import {Buffer} from 'node:buffer';
import {closeSync, constants, fstatSync, openSync, readSync} from 'node:fs';
import {LOG_FRAMES_READ_MAX} from './limits.ts';

export const SQLITE_HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
/** Of `PRAGMA user_version` in the first page. */
const USER_VERSION_AT = 60;

export const WAL_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
const WAL_MAGIC = 0x377f0682;

export type SqliteHeader = {applicationId: number; userVersion: number; pageBytes: number; reservedBytes: number};

/** Null: there is no file that can be read, or it is not one of SQLite. */
export function readSqliteHeader(path: string): SqliteHeader | null {
  return withFile(path, fd => {
    const bytes = Buffer.alloc(SQLITE_HEADER_BYTES);
    return readSync(fd, bytes, 0, bytes.length, 0) < bytes.length ? null : parseSqliteHeader(bytes);
  });
}

export function parseSqliteHeader(bytes: Buffer): SqliteHeader | null {
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return null;
  const pageBytes = bytes.readUInt16BE(16);
  return {
    applicationId: bytes.readUInt32BE(68),
    userVersion: bytes.readUInt32BE(USER_VERSION_AT),
    // 1 stands for a size that 16 bits cannot hold.
    pageBytes: pageBytes === 1 ? 65_536 : pageBytes,
    reservedBytes: bytes[20]!,
  };
}

/**
 * `user_version` after the newest commit: a process that ended early leaves it in the log alone. Null: nothing has been
 * stored, or it cannot be read.
 */
export function readUserVersion(path: string): number | null {
  const header = readSqliteHeader(path);
  return header === null ? null : Math.max(header.userVersion, newestLoggedVersion(path, LOG_FRAMES_READ_MAX)) || null;
}

/**
 * The highest `user_version` of a commit in the log; 0: there is none. It is cheap, because most pages are not read, and
 * no checksum is compared: what a power cut has torn can count.
 * @param path of the file. @param framesMax of the log; what follows is not read
 */
export function newestLoggedVersion(path: string, framesMax = Number.POSITIVE_INFINITY): number {
  const newest = withFile(`${path}-wal`, fd => {
    const header = Buffer.alloc(WAL_HEADER_BYTES);
    if (readSync(fd, header, 0, header.length, 0) < header.length) return 0;
    const pageBytes = header.readUInt32BE(8);
    if ((header.readUInt32BE(0) & ~1) >>> 0 !== WAL_MAGIC || pageBytes < 512 || pageBytes > 65_536) return 0;
    const salts = header.subarray(16, 24);
    const frame = Buffer.alloc(FRAME_HEADER_BYTES + USER_VERSION_AT + 4);
    let [committed, pending] = [0, 0];
    const frames = Math.min(framesMax, (fstatSync(fd).size - WAL_HEADER_BYTES) / (FRAME_HEADER_BYTES + pageBytes));
    for (let number = 0; number + 1 <= frames; number++) {
      const at = WAL_HEADER_BYTES + number * (FRAME_HEADER_BYTES + pageBytes);
      if (readSync(fd, frame, 0, frame.length, at) < frame.length || !frame.subarray(8, 16).equals(salts)) break;
      if (frame.readUInt32BE(0) === 1) pending = frame.readUInt32BE(FRAME_HEADER_BYTES + USER_VERSION_AT);
      if (frame.readUInt32BE(4) !== 0) committed = Math.max(committed, pending);
    }
    return committed;
  });
  return newest ?? 0;
}

/** Null: there is no file that can be opened. */
function withFile<Found>(path: string, read: (fd: number) => Found): Found | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (caught) {
    if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
    return null;
  }
  try {
    return fstatSync(fd).isFile() ? read(fd) : null;
  } finally {
    closeSync(fd);
  }
}
