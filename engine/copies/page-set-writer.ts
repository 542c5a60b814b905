/** Writes a page set, one chunk at a time. The caller gives the entries in the order of their numbers. */
import {createHash} from 'node:crypto';
import {assert} from '../../shared/assert.ts';
import type {Sink} from './bytes.ts';
import {compressed, type Effort} from './compression.ts';
import {DIGEST_BYTES} from './page-digest.ts';
import {
  CHUNK_HEADER_BYTES,
  ENTRY_HEADER_BYTES,
  encodeHead,
  entriesMax,
  type PageEntry,
  type PageSetHead,
} from './page-set.ts';

/** `entries`: for how many the writer has space at the start; more follow when they are needed. Default: 8. */
export type PageSetWriting = {readonly effort?: Effort; readonly entries?: number};

export class PageSetWriter {
  readonly #head: PageSetHead;
  readonly #sink: Sink;
  readonly #effort: Effort;
  readonly #entriesFirst: number;
  readonly #sum = createHash('sha256');
  /**
   * The chunk that is being filled; each chunk begins with a new one, because a sink can keep it. The first one grows: most
   * sets are a commit of a few pages, and memory of a whole chunk for each costs more than all else of it.
   */
  #chunk = Buffer.alloc(0);
  #inChunk = 0;
  #entries = 0;
  #newest = 0;

  constructor(head: PageSetHead, sink: Sink, {effort = 'usual', entries = 8}: PageSetWriting = {}) {
    this.#head = head;
    this.#sink = sink;
    this.#effort = effort;
    this.#entriesFirst = entries;
    this.#write(encodeHead(head));
  }

  add({number, isDelta, bytes}: PageEntry): void {
    const {pageBytes, pagesBefore, pagesAfter} = this.#head;
    assert(bytes.length === pageBytes, `page ${number} has ${pageBytes} bytes`);
    assert(number > this.#newest && number <= pagesAfter, `page ${number} follows page ${this.#newest}`);
    assert(!isDelta || number <= pagesBefore, `page ${number} was there before`);
    this.#newest = number;
    const at = this.#inChunk * (ENTRY_HEADER_BYTES + pageBytes);
    if (this.#inChunk === 0 || at === this.#chunk.length) this.#makeSpace();
    this.#chunk.writeUInt32BE(number, at);
    this.#chunk.writeUInt32BE(isDelta ? 1 : 0, at + 4);
    bytes.copy(this.#chunk, at + ENTRY_HEADER_BYTES);
    this.#entries++;
    if (++this.#inChunk === entriesMax(pageBytes)) this.#endChunk();
  }

  /** @param digestAfter of all pages. @returns the set's SHA-256 */
  end(digestAfter: Buffer): Buffer {
    assert(digestAfter.length === DIGEST_BYTES, 'a set ends with a digest');
    if (this.#inChunk > 0) this.#endChunk();
    const end = Buffer.alloc(CHUNK_HEADER_BYTES + 4);
    end.writeUInt32BE(this.#entries, CHUNK_HEADER_BYTES);
    this.#write(Buffer.concat([end, digestAfter]));
    const sum = this.#sum.digest();
    this.#sink.write(sum);
    return sum;
  }

  #makeSpace(): void {
    const {pageBytes} = this.#head;
    const isFirst = this.#entries === this.#inChunk;
    const most = entriesMax(pageBytes);
    const entries = isFirst ? Math.min(most, Math.max(this.#entriesFirst, 2 * this.#inChunk, 1)) : most;
    const chunk = Buffer.allocUnsafe(entries * (ENTRY_HEADER_BYTES + pageBytes));
    if (this.#inChunk > 0) this.#chunk.copy(chunk);
    this.#chunk = chunk;
  }

  #endChunk(): void {
    const {method, bytes} = compressed(
      this.#chunk.subarray(0, this.#inChunk * (ENTRY_HEADER_BYTES + this.#head.pageBytes)),
      this.#effort,
    );
    const header = Buffer.alloc(CHUNK_HEADER_BYTES);
    header.writeUInt32BE(this.#inChunk, 0);
    header.writeUInt32BE(bytes.length, 4);
    header[8] = method;
    this.#write(header);
    this.#write(bytes);
    this.#inChunk = 0;
  }

  #write(bytes: Buffer): void {
    this.#sum.update(bytes);
    this.#sink.write(bytes);
  }
}
