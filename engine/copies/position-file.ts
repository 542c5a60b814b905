/**
 * The position of a copy, beside its file: JSON of one line, and its SHA-256. It is replaced as a whole, and a damaged
 * one is refused, because nothing else says which commit the pages are of.
 */
import {createHash} from 'node:crypto';
import {closeSync, openSync} from 'node:fs';
import {dirname} from 'node:path';
import {POSITION_BYTES_MAX} from '../limits.ts';
import {readAt} from './bytes.ts';
import {CopyError} from './copy-error.ts';
import type {Disk} from './disk.ts';
import {DIGEST_BYTES} from './page-digest.ts';
import type {Position} from './page-set.ts';

type Stored = Omit<Position, 'digest'> & {digest: string};

/** @param file the copy's */
export function positionPath(file: string): string {
  return `${file}.position`;
}

export function writePosition(disk: Disk, path: string, position: Position): void {
  replaceFile(disk, path, encodePosition(position));
}

/** The file is as before, or has these bytes, wherever the process ends. */
export function replaceFile(disk: Disk, path: string, bytes: Buffer): void {
  const next = `${path}.new`;
  const fd = disk.open(next, 'w');
  try {
    disk.write(fd, bytes, null);
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  disk.rename(next, path);
  disk.syncDirectory(dirname(path));
}

/** @throws CopyError */
export function readPosition(path: string): Position {
  const content = contentOf(path, POSITION_BYTES_MAX);
  if (content !== null) return decodePosition(content, path);
  throw new CopyError(`${path} is missing: the copy was not completed, or the file is not a copy`);
}

export function encodePosition(position: Position): Buffer {
  return summed(JSON.stringify({...position, digest: position.digest.toString('hex')} satisfies Stored));
}

/** A line, and its SHA-256. */
export function summed(text: string): Buffer {
  return Buffer.from(`${text}\n${sumOf(text)}\n`);
}

/** @param path for the message. @throws CopyError */
export function textIn(content: string, path: string): string {
  const [text, sum] = content.split('\n');
  if (text === undefined || sum !== sumOf(text)) throw new CopyError(`${path} does not match its SHA-256`);
  return text;
}

/** @param path for the message. @throws CopyError */
export function decodePosition(content: string, path: string): Position {
  const stored = storedIn(textIn(content, path));
  if (stored === null) throw new CopyError(`${path} is not a position`);
  const {timeline, pageBytes, commit, sequence, timeMs, pages} = stored;
  return {timeline, pageBytes, commit, sequence, timeMs, pages, digest: Buffer.from(stored.digest, 'hex')};
}

/** Its SHA-256 proves that it is whole, and not who wrote it. */
function storedIn(text: string): Stored | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const {timeline, digest, pageBytes, commit, sequence, timeMs, pages} = value as Stored;
  const hasNumbers = [pageBytes, commit, sequence, timeMs, pages].every(one => Number.isSafeInteger(one) && one >= 0);
  const hasTexts = isHex(timeline, 32) && isHex(digest, 2 * DIGEST_BYTES);
  return hasNumbers && hasTexts ? (value as Stored) : null;
}

function isHex(value: unknown, length: number): boolean {
  return typeof value === 'string' && value.length === length && /^[0-9a-f]*$/.test(value);
}

/** Null: it is missing. @param bytesMax what is longer is cut off, so its SHA-256 does not match */
export function contentOf(path: string, bytesMax: number): string | null {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
    return null;
  }
  try {
    return readAt(fd, 0, bytesMax).toString();
  } finally {
    closeSync(fd);
  }
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
