/**
 * Reads the files of a package as npm publishes it: a gzipped tar whose entries are all below one directory, usually
 * `package/`. A tarball is outside input: it can be no tar at all, unpack to any length, and name any path. Links and
 * devices are skipped, as npm does.
 */

import {Buffer} from 'node:buffer';
import {createReadStream} from 'node:fs';
import {pipeline} from 'node:stream';
import {createGunzip} from 'node:zlib';
import {shownText} from '../../../shared/function-name.ts';
import {
  PACKAGE_FILE_BYTES_MAX,
  PACKAGE_PATH_CHARS_MAX,
  PACKAGES_FILES_MAX,
  PACKAGES_UNPACKED_BYTES_MAX,
} from '../limits.ts';

export type PackageFile = {
  /** Relative to the package, without a leading slash. */
  path: string;
  content: Buffer;
};

/** What is wrong with a tarball, as the end of the sentence "the package a@1 …". */
export class TarballFault extends Error {
  override name = 'TarballFault';
}

const BLOCK = 512;
/** Size limit of extension records: long names and other attributes of an entry. */
const EXTENSION_BYTES_MAX = 64 * 1024;
/**
 * Size limit of the whole tar, skipped entries included: the files, and for each its header blocks and the padding of
 * its last block.
 */
const TAR_BYTES_MAX = PACKAGES_UNPACKED_BYTES_MAX + 4 * BLOCK * PACKAGES_FILES_MAX;
const FILE = '0';
/** Also a file, in tars older than type flags. */
const OLD_FILE = '\0';
const CONTIGUOUS_FILE = '7';
const PAX_HEADER = 'x';
const GNU_LONG_NAME = 'L';

type Header = {name: string; type: string; size: number};
type Extension = {path?: string; size?: number};

/** Yields each file once, in the order of the tar. @throws TarballFault */
export async function* filesOf(tarball: string): AsyncGenerator<PackageFile, void, void> {
  const bytes = new Bytes(unzipped(tarball));
  const seen = new Set<string>();
  let next: Extension = {};
  try {
    for (let block = await bytes.take(BLOCK); block !== null; block = await bytes.take(BLOCK)) {
      if (block.every(byte => byte === 0)) return; // The end is two zero blocks, or one, or none.
      const header = headerIn(block);
      const {type} = header;
      const size = type === PAX_HEADER || type === GNU_LONG_NAME ? header.size : (next.size ?? header.size);
      if (type === PAX_HEADER || type === GNU_LONG_NAME) {
        const text = (await contentOf(bytes, size, EXTENSION_BYTES_MAX)).toString('utf8');
        if (type === PAX_HEADER) next = {...next, ...paxIn(text)};
        else next = {...next, path: text.replace(/\0.*$/s, '')};
        continue;
      }
      const path = pathOf(next.path ?? header.name);
      next = {};
      if ((type !== FILE && type !== OLD_FILE && type !== CONTIGUOUS_FILE) || path === '') {
        await bytes.skip(padded(size));
        continue;
      }
      if (seen.has(path)) throw new TarballFault(`has two files ${shownText(path)}`);
      seen.add(path);
      yield {path, content: await contentOf(bytes, size, PACKAGE_FILE_BYTES_MAX)};
    }
  } finally {
    await bytes.close();
  }
}

async function contentOf(bytes: Bytes, size: number, bytesMax: number): Promise<Buffer> {
  if (size > bytesMax) throw new TarballFault(`has a file of ${size} bytes; the limit is ${bytesMax}`);
  const content = await bytes.take(padded(size));
  if (content === null) throw new TarballFault('ends in the middle of a file');
  return content.subarray(0, size);
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

function unzipped(path: string): AsyncIterable<Buffer> & {destroy(): void} {
  const gunzip = createGunzip();
  // The reader of the stream gets the errors.
  pipeline(createReadStream(path), gunzip, () => undefined);
  return gunzip as AsyncIterable<Buffer> & {destroy(): void};
}

/** Reads chunks of a stream in requested lengths. */
class Bytes {
  readonly #source: {destroy(): void};
  readonly #chunks: AsyncIterator<Buffer>;
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #readBytes = 0;

  constructor(source: AsyncIterable<Buffer> & {destroy(): void}) {
    this.#source = source;
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Null: the end. @throws TarballFault if fewer bytes are left */
  async take(bytes: number): Promise<Buffer | null> {
    if (bytes === 0) return Buffer.alloc(0);
    while (this.#bufferedBytes < bytes) {
      const chunk = await this.#next();
      if (chunk === null) {
        if (this.#bufferedBytes === 0) return null;
        throw new TarballFault('ends in the middle of a file');
      }
      this.#buffered.push(chunk);
      this.#bufferedBytes += chunk.length;
    }
    const all = this.#buffered.length === 1 ? this.#buffered[0]! : Buffer.concat(this.#buffered, this.#bufferedBytes);
    this.#buffered = all.length === bytes ? [] : [all.subarray(bytes)];
    this.#bufferedBytes = all.length - bytes;
    return all.subarray(0, bytes);
  }

  async skip(bytes: number): Promise<void> {
    let left = bytes;
    while (left > 0) {
      const step = Math.min(left, BLOCK * 128);
      if ((await this.take(step)) === null) throw new TarballFault('ends in the middle of a file');
      left -= step;
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
    this.#source.destroy();
  }

  async #next(): Promise<Buffer | null> {
    try {
      const {value, done} = await this.#chunks.next();
      if (done === true) return null;
      this.#readBytes += value.length;
      if (this.#readBytes > TAR_BYTES_MAX) throw new TarballFault(`unpacks to more than ${TAR_BYTES_MAX} bytes`);
      return value;
    } catch (caught) {
      if (caught instanceof TarballFault) throw caught;
      const {code = '', message} = caught as NodeJS.ErrnoException;
      if (!code.startsWith('Z_') && !code.startsWith('ERR_')) throw caught;
      throw new TarballFault(`is no gzipped tar (${message})`);
    }
  }
}

function headerIn(block: Buffer): Header {
  const sum = numberIn(block, 148, 8);
  let counted = 8 * 0x20; // the checksum field itself counts as spaces
  for (let at = 0; at < BLOCK; at++) if (at < 148 || at >= 156) counted += block[at]!;
  if (sum !== counted) throw new TarballFault('is no tar');
  const isUstar = block.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = isUstar ? textIn(block, 345, 155) : '';
  const name = textIn(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[156]!),
    size: numberIn(block, 124, 12),
  };
}

function textIn(block: Buffer, at: number, length: number): string {
  const end = block.indexOf(0, at);
  return block.toString('utf8', at, end === -1 || end > at + length ? at + length : end);
}

/** Octal digits, or a binary number if its first bit is set. */
function numberIn(block: Buffer, at: number, length: number): number {
  if ((block[at]! & 0x80) !== 0) {
    let number = block[at]! & 0x7f;
    for (let i = 1; i < length; i++) number = number * 256 + block[at + i]!;
    if (Number.isSafeInteger(number)) return number;
    throw new TarballFault('is no tar');
  }
  const text = textIn(block, at, length).trim();
  if (!/^[0-7]*$/.test(text)) throw new TarballFault('is no tar');
  return Number.parseInt(text || '0', 8);
}

/** pax records: `25 path=package/a/b.js\n`, where 25 is the length of the whole record in bytes. */
function paxIn(text: string): Extension {
  const bytes = Buffer.from(text);
  const found: Extension = {};
  for (let at = 0; at < bytes.length; ) {
    const [, digits] = /^(\d{1,9}) /.exec(bytes.toString('latin1', at, at + 10)) ?? [];
    const length = Number(digits);
    if (digits === undefined || length <= digits.length + 1 || at + length > bytes.length)
      throw new TarballFault('is no tar');
    const [key, ...rest] = bytes.toString('utf8', at + digits.length + 1, at + length - 1).split('=');
    const value = rest.join('=');
    if (key === 'path') found.path = value;
    if (key === 'size') found.size = sizeIn(value);
    at += length;
  }
  return found;
}

function sizeIn(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new TarballFault('is no tar');
}

/**
 * Removes the top directory from a name; empty: the name is that directory. @throws TarballFault if the path leads
 * elsewhere
 */
function pathOf(name: string): string {
  const parts = name.split('/').filter(part => part !== '' && part !== '.');
  if (parts.includes('..') || name.includes('\0')) throw new TarballFault(`has a file ${shownText(name)}`);
  const path = parts.slice(1).join('/');
  if (path.length > PACKAGE_PATH_CHARS_MAX || parts.some(part => Buffer.byteLength(part) > 255)) {
    throw new TarballFault(`has a file ${shownText(name)}, whose name is too long`);
  }
  return path;
}
