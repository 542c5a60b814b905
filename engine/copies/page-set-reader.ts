/**
 * Reads a page set. Opening one reads all its bytes and compares their SHA-256, so that no page of a damaged set is ever
 * used; its entries are then read one chunk at a time.
 */
import {createHash} from 'node:crypto';
import {CHUNKS_DECOMPRESSED_MAX, PAGE_SET_CHUNK_BYTES} from '../limits.ts';
import type {Source} from './bytes.ts';
import {type Compressed, decompressed, decompressedAside} from './compression.ts';
import {DIGEST_BYTES} from './page-digest.ts';
import {
  CHUNK_HEADER_BYTES,
  checkFormat,
  decodeHead,
  ENTRY_HEADER_BYTES,
  entriesMax,
  HEADER_BYTES,
  type PageEntry,
  type PageSetHead,
  type Position,
  SUM_BYTES,
  TRAILER_BYTES,
} from './page-set.ts';
import {PageSetError} from './page-set-error.ts';

export class PageSet {
  readonly head: PageSetHead;
  /** Where its commits lead. */
  readonly after: Position;
  /** Number of its pages: it never yields more. */
  readonly entryCount: number;
  /** Its bytes. */
  readonly source: Source;

  /** @throws PageSetError */
  constructor(source: Source) {
    const {length} = source;
    const header = source.read(0, HEADER_BYTES);
    checkFormat(header);
    checkSum(source);
    const trailer = source.read(length - TRAILER_BYTES, TRAILER_BYTES);
    this.source = source;
    this.head = decodeHead(header);
    this.entryCount = trailer.readUInt32BE(0);
    const {timeline, pageBytes, last, sequence, timeMs, pagesAfter} = this.head;
    const digest = Buffer.from(trailer.subarray(4, 4 + DIGEST_BYTES));
    this.after = {timeline, pageBytes, commit: last, sequence, timeMs, pages: pagesAfter, digest};
  }

  get isBase(): boolean {
    return this.head.first === 0;
  }

  /** Of its pages, before compression. */
  get rawBytes(): number {
    return this.entryCount * (ENTRY_HEADER_BYTES + this.head.pageBytes);
  }

  /** Its pages, in the order of their numbers. @throws PageSetError */
  *entries(): Generator<PageEntry> {
    const order = this.#order();
    for (const {rawBytes, ...chunk} of this.#chunks()) yield* order.entriesOf(decompressed(chunk, rawBytes));
    order.end();
  }

  /** As `entries`, the pages of a chunk at a time; the next chunks are decompressed meanwhile. @throws PageSetError */
  async *batches(): AsyncGenerator<PageEntry[]> {
    const order = this.#order();
    const chunks = this.#chunks();
    const under: Promise<Buffer>[] = [];
    for (;;) {
      while (under.length < CHUNKS_DECOMPRESSED_MAX) {
        const {done, value} = chunks.next();
        if (done === true) break;
        const raw = decompressedAside(value, value.rawBytes);
        // Awaited later; without this, a failure meanwhile would count as unhandled.
        raw.catch(() => undefined);
        under.push(raw);
      }
      const first = under.shift();
      if (first === undefined) break;
      yield [...order.entriesOf(await first)];
    }
    order.end();
  }

  #order(): EntryOrder {
    return new EntryOrder(this.head, this.entryCount);
  }

  *#chunks(): Generator<Compressed & {rawBytes: number}> {
    const {pageBytes} = this.head;
    const end = this.source.length - TRAILER_BYTES;
    let at = HEADER_BYTES;
    for (;;) {
      const header = this.source.read(at, CHUNK_HEADER_BYTES);
      at += CHUNK_HEADER_BYTES;
      if (at > end) throw invalid('its chunks have no end');
      const [entries, length, method] = [header.readUInt32BE(0), header.readUInt32BE(4), header[8]!];
      if (at + length > end) throw invalid(`a chunk of ${length} bytes goes beyond the end`);
      if (entries === 0) {
        if (length !== 0 || method !== 0 || at !== end) throw invalid('its chunks end before its trailer');
        return;
      }
      if (entries > entriesMax(pageBytes)) throw invalid(`a chunk has ${entries} pages`);
      const bytes = this.source.read(at, length);
      at += length;
      yield {method, bytes, rawBytes: entries * (ENTRY_HEADER_BYTES + pageBytes)};
    }
  }
}

/** Checks the entries of a set as they come: their numbers, and that no new page is missing. */
class EntryOrder {
  readonly #head: PageSetHead;
  readonly #entryCount: number;
  #count = 0;
  #newest = 0;

  constructor(head: PageSetHead, entryCount: number) {
    this.#head = head;
    this.#entryCount = entryCount;
  }

  /** @throws PageSetError */
  *entriesOf(chunk: Buffer): Generator<PageEntry> {
    const {pageBytes, pagesBefore, pagesAfter} = this.#head;
    for (let at = 0; at < chunk.length; at += ENTRY_HEADER_BYTES + pageBytes) {
      const number = chunk.readUInt32BE(at);
      const kind = chunk.readUInt32BE(at + 4);
      const newest = this.#newest;
      if (number <= newest || number > pagesAfter) throw invalid(`page ${number} of ${pagesAfter} after ${newest}`);
      if (kind > 1) throw invalid(`page ${number} has the encoding ${kind}`);
      if (kind === 1 && number > pagesBefore) throw invalid(`page ${number} is new, and has no page before it`);
      refuseSkipped(newest, number, pagesBefore);
      this.#newest = number;
      if (++this.#count > this.#entryCount)
        throw invalid(`it has more pages than the ${this.#entryCount} that it says`);
      const from = at + ENTRY_HEADER_BYTES;
      yield {number, isDelta: kind === 1, bytes: chunk.subarray(from, from + pageBytes)};
    }
  }

  /** @throws PageSetError */
  end(): void {
    refuseSkipped(this.#newest, this.#head.pagesAfter + 1, this.#head.pagesBefore);
    if (this.#count !== this.#entryCount) throw invalid(`it has ${this.#count} pages, and says ${this.#entryCount}`);
  }
}

/** @throws PageSetError */
function checkSum(source: Source): void {
  const end = source.length - SUM_BYTES;
  if (end < HEADER_BYTES + CHUNK_HEADER_BYTES + TRAILER_BYTES - SUM_BYTES) {
    throw new PageSetError('damaged', `it ends after ${source.length} bytes`);
  }
  const sum = createHash('sha256');
  for (let at = 0; at < end; at += PAGE_SET_CHUNK_BYTES) {
    sum.update(source.read(at, Math.min(PAGE_SET_CHUNK_BYTES, end - at)));
  }
  const [found, stored] = [sum.digest(), source.read(end, SUM_BYTES)];
  if (found.equals(stored)) return;
  throw new PageSetError('damaged', `${found.toString('hex')}, not ${stored.toString('hex')}`);
}

/** A page above the pages before is missing between two entries. @throws PageSetError */
function refuseSkipped(newest: number, next: number, pagesBefore: number): void {
  const from = Math.max(newest, pagesBefore) + 1;
  if (from < next) throw invalid(`page ${from} is new, and is missing`);
}

function invalid(detail: string): PageSetError {
  return new PageSetError('invalid', detail);
}
