/**
 * The position of a copy, beside its file: JSON of one line, and its SHA-256. It is replaced as a whole, and a damaged
 * one is refused, because nothing else says which commit the pages are of.
 */
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {dirname} from 'node:path';
import {CopyError} from './copy-error.ts';
import type {Disk} from './disk.ts';
import {DIGEST_BYTES} from './page-digest.ts';
import type {Position} from './page-set.ts';

type Stored = Omit<Position, 'digest'> & {digest: string};

export function writePosition(disk: Disk, path: string, position: Position): void {
  const text = JSON.stringify({...position, digest: position.digest.toString('hex')} satisfies Stored);
  const next = `${path}.new`;
  const fd = disk.open(next, 'w');
  try {
    disk.write(fd, Buffer.from(`${text}\n${sumOf(text)}\n`), null);
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  disk.rename(next, path);
  disk.syncDirectory(dirname(path));
}

/** @throws CopyError */
export function readPosition(path: string): Position {
  const [text, sum] = contentOf(path).split('\n');
  if (text === undefined || sum !== sumOf(text)) throw new CopyError(`${path} does not match its SHA-256`);
  const stored = JSON.parse(text) as Stored;
  const digest = Buffer.from(stored.digest, 'hex');
  if (digest.length !== DIGEST_BYTES) throw new CopyError(`${path} has no digest`);
  return {...stored, digest};
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
    throw new CopyError(`${path} is missing: the copy was not completed, or the file is not a copy`);
  }
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
