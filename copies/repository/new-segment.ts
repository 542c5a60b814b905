/** What is stored in packs: page sets and other files, in memory or in a file. */
import {createHash} from 'node:crypto';
import {type FileHandle, open} from 'node:fs/promises';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {DIGEST_BYTES} from '../../engine/copies/page-digest.ts';
import {checkFormat, decodeHead, HEADER_BYTES, SUM_BYTES, TRAILER_BYTES} from '../../engine/copies/page-set.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {STREAM_CHUNK_BYTES} from '../limits.ts';
import type {CopyItem, FileItem, Item, Origin} from './tenant-copies.ts';

type PageSetOf = {
  readonly tenant: string;
  readonly kind: 'base' | 'set';
  /** Of its timeline, if it is known. */
  readonly origin?: Origin | null;
  /** It was made of items of the repository. */
  readonly isMerged?: true;
};
type FileOf = {readonly tenant: string; readonly kind: 'package' | 'state'; readonly name: string};

/** A segment whose bytes are in memory. */
export type NewSegment = (PageSetOf | FileOf) & {readonly bytes: Buffer};

/** A segment whose bytes are in a file, which does not change meanwhile. `bytes`: another length is refused. */
export type LargeSegment = (PageSetOf | FileOf) & {readonly path: string; readonly bytes?: number};

export type UnplacedItem = Omit<CopyItem, 'place' | 'apart'> | Omit<FileItem, 'place'>;

/** @throws PageSetError */
export function itemOf(segment: NewSegment): UnplacedItem {
  const {bytes} = segment;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if ('name' in segment) return fileItem(segment, bytes.length, sha256);
  const {head, after} = new PageSet(sourceOf(bytes));
  return pageSetItem(segment, head, after.digest, bytes.length, sha256);
}

/** A file that is streamed into a pack. */
export class LargeSource {
  readonly bytes: number;
  readonly #segment: LargeSegment;
  readonly #file: FileHandle;
  readonly #describe: (sha256: string) => UnplacedItem;

  private constructor(
    segment: LargeSegment,
    file: FileHandle,
    bytes: number,
    describe: (sha256: string) => UnplacedItem,
  ) {
    this.#segment = segment;
    this.#file = file;
    this.bytes = bytes;
    this.#describe = describe;
  }

  /** @throws PageSetError; errors of the file system */
  static async open(segment: LargeSegment): Promise<LargeSource> {
    const file = await open(segment.path, 'r');
    try {
      const {size} = await file.stat();
      if (size !== (segment.bytes ?? size)) {
        throw new PageSetError('damaged', `it had ${segment.bytes} bytes, and has ${size} now`);
      }
      if ('name' in segment) return new LargeSource(segment, file, size, sum => fileItem(segment, size, sum));
      const header = await readAt(file, 0, HEADER_BYTES);
      checkFormat(header);
      if (size < HEADER_BYTES + TRAILER_BYTES) throw new PageSetError('damaged', `it ends after ${size} bytes`);
      const head = decodeHead(header);
      const digest = (await readAt(file, size - TRAILER_BYTES, TRAILER_BYTES)).subarray(4, 4 + DIGEST_BYTES);
      return new LargeSource(segment, file, size, sum => pageSetItem(segment, head, digest, size, sum));
    } catch (caught) {
      await file.close();
      throw caught;
    }
  }

  /** What it is, before its bytes have been read. */
  get facts(): UnplacedItem {
    return this.#describe('');
  }

  /** Its bytes; can be called again. @returns the item. @throws PageSetError: they are not a page set */
  async *parts(): AsyncGenerator<Buffer, UnplacedItem, undefined> {
    const sum = createHash('sha256');
    // The SHA-256 of a page set is its end, and of everything before it.
    const own = createHash('sha256');
    let last: Buffer = Buffer.alloc(0);
    for (let at = 0; at < this.bytes; ) {
      const part = await readAt(this.#file, at, Math.min(STREAM_CHUNK_BYTES, this.bytes - at));
      if (part.length === 0) throw new PageSetError('damaged', `its file was cut at ${at} bytes`);
      own.update(part.subarray(0, Math.max(0, Math.min(part.length, this.bytes - SUM_BYTES - at))));
      sum.update(part);
      last = Buffer.concat([last.subarray(-SUM_BYTES), part.subarray(-SUM_BYTES)]);
      at += part.length;
      yield part;
    }
    if (!('name' in this.#segment) && !own.digest().equals(last.subarray(-SUM_BYTES))) {
      throw new PageSetError('damaged', this.#segment.path);
    }
    return this.#describe(sum.digest('hex'));
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

function fileItem({kind, name}: FileOf, bytes: number, sha256: string): UnplacedItem {
  return {kind, name, timeMs: Date.now(), bytes, sha256};
}

function pageSetItem(
  {kind}: PageSetOf,
  head: PageSet['head'],
  digestAfter: Buffer,
  bytes: number,
  sha256: string,
): UnplacedItem {
  const {timeline, pageBytes, first, last, sequence, timeMs, pagesAfter, digestBefore} = head;
  if ((kind === 'base') !== (first === 0)) throw new PageSetError('invalid', `a ${kind} begins with commit ${first}`);
  const digests = {digestBefore: digestBefore.toString('hex'), digestAfter: digestAfter.toString('hex')};
  return {kind, timeline, first, last, sequence, timeMs, pageBytes, pages: pagesAfter, ...digests, bytes, sha256};
}

/** Fewer bytes at the end of the file. */
async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const {bytesRead, buffer} = await file.read(Buffer.allocUnsafe(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

/** Whether the item is not placed anywhere else. */
export function placed(item: UnplacedItem, place: Item['place']): Item {
  return {...item, place} as Item;
}
