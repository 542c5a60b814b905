/**
 * Reads files in a tenant's directory as root or by an operator's command. The tenant's user owns everything there:
 * code that has escaped its isolate can create a FIFO, on which an open blocks for ever, a link to a device, or an
 * endless file.
 */
import {Buffer} from 'node:buffer';
import {closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, type Stats} from 'node:fs';
import {join} from 'node:path';
import {TENANT_NOTE_BYTES_MAX} from './limits.ts';

/** `torn`: the entry is not a regular file of at most TENANT_NOTE_BYTES_MAX. */
export type Note = {is: 'missing'} | {is: 'torn'; why: string} | {is: 'file'; text: string};

/**
 * Reads a short file without blocking and without following links.
 * @throws errors of the file system when it cannot be read
 */
export function readNote(path: string): Note {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (caught) {
    const {code} = caught as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {is: 'missing'};
    // A link or a socket.
    if (code === 'ELOOP' || code === 'ENXIO')
      return {is: 'torn', why: `it is ${irregular(path) ?? 'not there any more'}`};
    throw caught;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return {is: 'torn', why: `it is ${kindOf(stat)}`};
    // One byte more than allowed, because the file can grow meanwhile.
    const bytes = Buffer.alloc(TENANT_NOTE_BYTES_MAX + 1);
    const length = readSync(fd, bytes, 0, bytes.length, 0);
    if (length > TENANT_NOTE_BYTES_MAX) return {is: 'torn', why: `it has more than ${TENANT_NOTE_BYTES_MAX} bytes`};
    return {is: 'file', text: bytes.toString('utf8', 0, length)};
  } finally {
    closeSync(fd);
  }
}

/** A path as bytes. Names can be any bytes, and text would change those that are not UTF-8. */
export function within(directory: string | Buffer, name: string | Buffer): Buffer {
  return Buffer.concat([directory, '/', name].map(part => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** What the entry is instead of a regular file, in words; null: it is a regular file or missing. */
export function irregular(path: string): string | null {
  const stat = lstatSync(path, {throwIfNoEntry: false});
  return stat === undefined || stat.isFile() ? null : kindOf(stat);
}

/** The status of a regular file, without following links. Undefined: there is none. */
export function statFile(path: string): Stats | undefined {
  const stat = lstatSync(path, {throwIfNoEntry: false});
  return stat?.isFile() === true ? stat : undefined;
}

/** The entries of a directory that begin with `prefix` and are not regular files, each with what it is. */
export function irregularFiles(directory: string, prefix: string): string[] {
  return readdirSync(directory)
    .filter(name => name.startsWith(prefix))
    .flatMap(name => {
      const what = irregular(join(directory, name));
      return what === null ? [] : [`${name} is ${what}, not a file`];
    });
}

function kindOf(stat: Stats): string {
  if (stat.isSymbolicLink()) return 'a link';
  if (stat.isDirectory()) return 'a directory';
  if (stat.isFIFO()) return 'a FIFO';
  if (stat.isSocket()) return 'a socket';
  return 'a device';
}
