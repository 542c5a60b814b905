/**
 * The bytes of SQLite's write-ahead log.
 *
 *   header (32 bytes) ─ frame 1 ─ frame 2 ─ … ; a frame is 24 bytes and a page; its checksum continues that of the frame before
 *
 * A commit is a run of frames; the last of them has the number of pages that the database then has. A round of the log
 * begins with a new header, whose salts each of its frames repeats, and overwrites the round before.
 */
import {readSync} from 'node:fs';
import {FRAME_HEADER_BYTES, WAL_HEADER_BYTES} from '../../shared/sqlite-header.ts';
import {type Sums, sumOver} from './wal-checksum.ts';

const MAGIC = 0x377f0682;

export type WalHeader = {pageBytes: number; bigEndian: boolean; salts: Buffer; sums: Sums};

export type WalFrame = {
  /** The number of its page, from 1. */
  pageNumber: number;
  /** Pages of the database after the commit that it ends; 0: it ends none. */
  pagesAfter: number;
  page: Buffer;
  /** The frame belongs to this round of the WAL. */
  hasSalts: boolean;
  salts: Buffer;
  stored: Sums;
  /** The frame's own bytes match, continuing from these sums. */
  sumFrom: (sums: Sums) => Sums;
};

/** Null: the checksum does not match, or it is not a header. */
export function readWalHeader(fd: number): WalHeader | null {
  const bytes = Buffer.alloc(WAL_HEADER_BYTES);
  readSync(fd, bytes, 0, WAL_HEADER_BYTES, 0);
  const magic = bytes.readUInt32BE(0);
  if ((magic & ~1) >>> 0 !== MAGIC) return null;
  const bigEndian = (magic & 1) === 1;
  const sums = sumOver([0, 0], bytes, 0, 24, bigEndian);
  if (!isSameSums(sums, sumsAt(bytes, 24))) return null;
  const pageBytes = bytes.readUInt32BE(8);
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) return null;
  return {pageBytes, bigEndian, salts: Buffer.from(bytes.subarray(16, 24)), sums};
}

/** @param number from 1 */
export function frameOffset({pageBytes}: Pick<WalHeader, 'pageBytes'>, number: number): number {
  return WAL_HEADER_BYTES + (number - 1) * (FRAME_HEADER_BYTES + pageBytes);
}

/** Null: the log ends before the end of the frame. */
export function readFrame(fd: number, header: WalHeader, number: number): WalFrame | null {
  const {pageBytes, bigEndian, salts} = header;
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + pageBytes);
  if (readSync(fd, bytes, 0, bytes.length, frameOffset(header, number)) < bytes.length) return null;
  return {
    pageNumber: bytes.readUInt32BE(0),
    pagesAfter: bytes.readUInt32BE(4),
    page: bytes.subarray(FRAME_HEADER_BYTES),
    hasSalts: bytes.subarray(8, 16).equals(salts),
    salts: bytes.subarray(8, 16),
    stored: sumsAt(bytes, 16),
    sumFrom: sums => sumOver(sumOver(sums, bytes, 0, 8, bigEndian), bytes, FRAME_HEADER_BYTES, pageBytes, bigEndian),
  };
}

/** The same without its page, whose checksum is not compared. @param bytes that begin with the frame */
export function frameHeaderIn(
  bytes: Buffer,
  header: WalHeader,
): Pick<WalFrame, 'pageNumber' | 'pagesAfter' | 'hasSalts' | 'stored'> {
  return {
    pageNumber: bytes.readUInt32BE(0),
    pagesAfter: bytes.readUInt32BE(4),
    hasSalts: bytes.subarray(8, 16).equals(header.salts),
    stored: sumsAt(bytes, 16),
  };
}

export function sumsAt(bytes: Buffer, at: number): Sums {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

export function isSameSums(a: Sums, b: Sums): boolean {
  return a[0] === b[0] && a[1] === b[1];
}
