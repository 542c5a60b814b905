/**
 * The digest of a database: SHA-256 of each page with its number, combined with XOR. It depends on the pages alone and
 * not on the way to them, so a change of a page updates it from the page before and after, and any way of cutting
 * and merging the same commits ends at the same digest.
 *
 * It detects every accident. It does not authenticate: someone who can choose hundreds of pages could find two
 * databases of one digest. Repositories seal what they store.
 */
import {hash} from 'node:crypto';
import {assert} from '../../shared/assert.ts';
import {PAGE_SET_CHUNK_BYTES} from '../limits.ts';
import {readAt} from './bytes.ts';

export const DIGEST_BYTES = 32;

export class PagesDigest {
  readonly #value: Buffer;
  /** A page with its number: one call hashes both. */
  #numbered = Buffer.alloc(0);

  /** @param from the digest so far; undefined: there are no pages */
  constructor(from?: Buffer) {
    this.#value = Buffer.alloc(DIGEST_BYTES);
    if (from === undefined) return;
    assert(from.length === DIGEST_BYTES, 'it continues a digest');
    from.copy(this.#value);
  }

  get value(): Buffer {
    return Buffer.from(this.#value);
  }

  /** Adds a page, or removes one that was added. @param number from 1 */
  toggle(number: number, page: Buffer): void {
    this.toggleHash(this.hashOf(number, page));
  }

  /** One character for each byte: a buffer of its own takes longer to make and more memory to keep. */
  hashOf(number: number, page: Buffer): string {
    if (this.#numbered.length !== 4 + page.length) this.#numbered = Buffer.allocUnsafe(4 + page.length);
    this.#numbered.writeUInt32BE(number);
    page.copy(this.#numbered, 4);
    return hash('sha256', this.#numbered, 'binary');
  }

  /** @param hash of `hashOf` */
  toggleHash(hash: string): void {
    for (let i = 0; i < DIGEST_BYTES; i++) this.#value[i]! ^= hash.charCodeAt(i);
  }

  /** Adds all pages of another one, of which this one has none. */
  add(other: Buffer): void {
    xorInto(this.#value, other);
  }
}

/** Of a file that has these pages, or fewer bytes. */
export function digestOfFile(fd: number, pages: number, pageBytes: number): Buffer {
  return digestOfPages(fd, {from: 0, to: pages, pageBytes});
}

/** `from` to before `to`, counted from 0. */
export type PageRange = {from: number; to: number; pageBytes: number};

/** Of these pages of a file, or fewer bytes. @param into for its pages: a new one for each read would call the collector */
export function digestOfPages(fd: number, range: PageRange, into = bufferFor(range)): Buffer {
  const {from, to, pageBytes} = range;
  const digest = new PagesDigest();
  const atOnce = Math.floor(into.length / pageBytes);
  for (let first = from; first < to; first += atOnce) {
    const bytes = readAt(fd, first * pageBytes, Math.min(atOnce, to - first) * pageBytes, into);
    for (let at = 0; at < bytes.length; at += pageBytes) {
      digest.toggle(first + at / pageBytes + 1, bytes.subarray(at, at + pageBytes));
    }
  }
  return digest.value;
}

function bufferFor({from, to, pageBytes}: PageRange): Buffer {
  return Buffer.allocUnsafeSlow(Math.min((to - from) * pageBytes, PAGE_SET_CHUNK_BYTES));
}

/**
 * Hashes of the pages that were hashed last: a page that each commit changes is hashed once for each set, as the page
 * after, and not again as the page before the next one.
 */
export class PageHashes {
  readonly #most: number;
  #hashes = new Map<number, string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Removes the page before from the digest, and adds the one after. */
  change(digest: PagesDigest, number: number, before: Buffer, after: Buffer): void {
    digest.toggleHash(this.#hashes.get(number) ?? digest.hashOf(number, before));
    this.add(digest, number, after);
  }

  /** Adds a page to the digest. */
  add(digest: PagesDigest, number: number, page: Buffer): void {
    const hash = digest.hashOf(number, page);
    digest.toggleHash(hash);
    if (this.#hashes.size >= this.#most) this.#hashes.clear();
    this.#hashes.set(number, hash);
  }

  /** What was hashed was not used, or the database is shorter. */
  clear(): void {
    this.#hashes.clear();
  }
}

/** Changes `target` to `target XOR other`. */
export function xorInto(target: Buffer, other: Buffer): void {
  assert(target.length === other.length && target.length % 4 === 0, 'texts of one length, in whole words');
  if ((target.byteOffset | other.byteOffset) % 4 !== 0) {
    for (let i = 0; i < target.length; i++) target[i]! ^= other[i]!;
    return;
  }
  const [words, others] = [wordsOf(target), wordsOf(other)];
  for (let i = 0; i < words.length; i++) words[i]! ^= others[i]!;
}

function wordsOf(bytes: Buffer): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}
