/**
 * The format of page sets. A page set has the pages that the commits `first` to `last` of one timeline changed; a base
 * has all pages, and `first` 0. Numbers are big-endian.
 *
 *   header 128 ─ chunk ─ chunk … ─ end 9 ─ trailer 68
 *
 *   header     0  "svcpages"           8  format             12  bytes of a page
 *             16  timeline            32  first              40  last
 *             48  journal sequence    56  epoch ms of `last` 64  pages before      68  pages after
 *             72  digest before      104  zeros
 *   chunk      0  entries              4  bytes that follow   8  compression
 *   entries    0  number of the page   4  0: the page; 1: XOR with the page before   8  bytes of the page
 *   end           a chunk of zeros
 *   trailer    0  entries of the set   4  digest after       36  SHA-256 of everything before it
 *
 * Rules, all of them checked when a set is read
 * - Entries are in the order of page numbers, one for each number, and none is above the pages after.
 * - Each page above the pages before has an entry, and it is a page. So sets that shrink and grow a file can be merged.
 * - A base has no pages before, and the digest of none. Any other set has pages before.
 *
 * Sets follow one another if the timeline is the same, the commit numbers continue, and the digest after the one is the
 * digest before the other. The digest is of the whole database (`page-digest.ts`), so that merged sets need no other
 * chain.
 */
import {assert} from '../../shared/assert.ts';
import {PAGE_SET_CHUNK_BYTES} from '../limits.ts';
import {DIGEST_BYTES} from './page-digest.ts';
import {PageSetError} from './page-set-error.ts';

export const HEADER_BYTES = 128;
export const CHUNK_HEADER_BYTES = 9;
export const ENTRY_HEADER_BYTES = 8;
export const SUM_BYTES = 32;
export const TRAILER_BYTES = 4 + DIGEST_BYTES + SUM_BYTES;
const MAGIC = Buffer.from('svcpages');
const FORMAT = 1;

/** What a set says in front of its pages. */
export type PageSetHead = {
  /** 32 hex characters. */
  readonly timeline: string;
  readonly pageBytes: number;
  /** 0: a base. */
  readonly first: number;
  readonly last: number;
  /** Of the journal, and epoch milliseconds, after the last commit. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly pagesBefore: number;
  readonly pagesAfter: number;
  readonly digestBefore: Buffer;
};

/** The state that a set leads to; files and streams of sets are at one. */
export type Position = {
  readonly timeline: string;
  readonly pageBytes: number;
  readonly commit: number;
  readonly sequence: number;
  readonly timeMs: number;
  readonly pages: number;
  readonly digest: Buffer;
};

export type PageEntry = {
  /** From 1. */
  readonly number: number;
  /** `bytes` are the page XOR the page before the set. */
  readonly isDelta: boolean;
  readonly bytes: Buffer;
};

/** Of a chunk. */
export function entriesMax(pageBytes: number): number {
  return Math.max(1, Math.floor(PAGE_SET_CHUNK_BYTES / (ENTRY_HEADER_BYTES + pageBytes)));
}

export function encodeHead(head: PageSetHead): Buffer {
  assert(headFault(head) === null, `a page set is made right: ${headFault(head)}`);
  const bytes = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32BE(FORMAT, 8);
  bytes.writeUInt32BE(head.pageBytes, 12);
  bytes.write(head.timeline, 16, 'hex');
  for (const [i, number] of [head.first, head.last, head.sequence, head.timeMs].entries()) {
    bytes.writeBigUInt64BE(BigInt(number), 32 + 8 * i);
  }
  bytes.writeUInt32BE(head.pagesBefore, 64);
  bytes.writeUInt32BE(head.pagesAfter, 68);
  head.digestBefore.copy(bytes, 72);
  return bytes;
}

/** Whether the bytes can be a page set of a format that is known. @throws PageSetError */
export function checkFormat(bytes: Buffer): void {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new PageSetError('not_a_page_set', `it begins with ${bytes.subarray(0, MAGIC.length).toString('hex')}`);
  }
  const format = bytes.readUInt32BE(8);
  if (format !== FORMAT) throw new PageSetError('unknown_format', `${format}; this svc knows ${FORMAT}`);
}

/** @param bytes of a set whose SHA-256 matches. @throws PageSetError */
export function decodeHead(bytes: Buffer): PageSetHead {
  const numberAt = (at: number): number => Number(bytes.readBigUInt64BE(at));
  const head: PageSetHead = {
    timeline: bytes.toString('hex', 16, 32),
    pageBytes: bytes.readUInt32BE(12),
    first: numberAt(32),
    last: numberAt(40),
    sequence: numberAt(48),
    timeMs: numberAt(56),
    pagesBefore: bytes.readUInt32BE(64),
    pagesAfter: bytes.readUInt32BE(68),
    digestBefore: Buffer.from(bytes.subarray(72, 72 + DIGEST_BYTES)),
  };
  const fault = bytes.subarray(72 + DIGEST_BYTES, HEADER_BYTES).some(byte => byte !== 0)
    ? 'the end of its header is not zeros'
    : headFault(head);
  if (fault !== null) throw new PageSetError('invalid', fault);
  return head;
}

function headFault(head: PageSetHead): string | null {
  const {timeline, pageBytes, first, last, sequence, timeMs, pagesBefore, pagesAfter, digestBefore} = head;
  if (![first, last, sequence, timeMs].every(Number.isSafeInteger)) return 'a number of its header is too large';
  if (!/^[0-9a-f]{32}$/.test(timeline)) return 'its timeline has other than 32 hex characters';
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0)
    return `pages of ${pageBytes} bytes`;
  if (first > last) return `it ends with commit ${last}, and begins with ${first}`;
  if (pagesAfter === 0) return 'it leaves no pages';
  if ((first === 0) !== (pagesBefore === 0)) return `from commit ${first}, with ${pagesBefore} pages before it`;
  if (first === 0 && digestBefore.some(byte => byte !== 0)) return 'a base has a digest of pages before it';
  return null;
}

/** @throws PageSetError: the set does not begin where the position is */
export function checkFollows(position: Position, set: PageSetHead): void {
  const {timeline, commit, pageBytes, pages, digest} = position;
  const range = `commits ${set.first} to ${set.last}`;
  if (set.timeline !== timeline) throw new PageSetError('other_timeline', `${set.timeline}, not ${timeline}`);
  if (set.first > commit + 1) throw new PageSetError('missing_commits', `${range} do not follow commit ${commit}`);
  if (set.first <= commit) throw new PageSetError('past_commits', `${range} do not follow commit ${commit}`);
  if (set.pageBytes !== pageBytes) {
    throw new PageSetError('other_history', `pages of ${set.pageBytes} bytes, not ${pageBytes}`);
  }
  if (set.pagesBefore !== pages || !set.digestBefore.equals(digest)) {
    throw new PageSetError('other_history', `${range} begin with other pages than commit ${commit} left`);
  }
}
