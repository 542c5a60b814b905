/**
 * Finds the documents in the payload of GET …/journal/bootstrap while it arrives, in constant memory: a byte scanner that
 * knows where it is (depth, and the keys of the outer objects) and decodes nothing of a document. Depths are those of
 *
 *   {"snapshot": {"documents": {"cities": [{…}, {…}], …}, …}, …}
 *   1            2             3          4 5
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';

export type FoundDocument = {table: string; text: Buffer};

const TABLE_DEPTH = 3;
const DOCUMENT_DEPTH = 5;

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class BootstrapDocuments {
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The next string is a key of the object we are in. Not right inside arrays, whose strings are no table's name. */
  #atKey = false;
  /** The latest key of the objects at depth 1 to TABLE_DEPTH. */
  readonly #keys = ['', '', '', ''];
  /** Pieces of a key or document that began in an earlier chunk; at most one of the two is open. */
  #pieces: Buffer[] = [];
  #keyIsOpen = false;
  #documentIsOpen = false;
  #ended = false;

  /** The payload was complete. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The documents that end in this chunk, in order. */
  feed(chunk: Buffer): FoundDocument[] {
    const found: FoundDocument[] = [];
    /** Where the open key or document begins in this chunk. */
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) {
          this.#inString = false;
          if (this.#keyIsOpen) {
            this.#keyIsOpen = false;
            this.#keys[this.#depth] = JSON.parse(this.#closed(chunk, start, at + 1).toString()) as string;
          }
        }
        continue;
      }
      switch (byte) {
        case QUOTE:
          this.#inString = true;
          if (this.#atKey && this.#depth <= TABLE_DEPTH) {
            this.#keyIsOpen = true;
            start = at;
          }
          break;
        case COMMA:
          this.#atKey = true;
          break;
        case COLON:
          this.#atKey = false;
          break;
        case 0x7b:
        case 0x5b:
          this.#depth += 1;
          this.#atKey = byte === 0x7b;
          if (this.#depth === DOCUMENT_DEPTH && this.#isInDocuments()) {
            this.#documentIsOpen = true;
            start = at;
          }
          break;
        case 0x7d:
        case 0x5d:
          if (this.#depth === DOCUMENT_DEPTH && this.#documentIsOpen) {
            this.#documentIsOpen = false;
            found.push({table: this.#keys[TABLE_DEPTH]!, text: this.#closed(chunk, start, at + 1)});
          }
          this.#depth -= 1;
          assert(this.#depth >= 0, 'brackets are balanced');
          this.#ended = this.#depth === 0;
          break;
      }
    }
    if (this.#keyIsOpen || this.#documentIsOpen) this.#pieces.push(chunk.subarray(start));
    return found;
  }

  #isInDocuments(): boolean {
    return this.#keys[1] === 'snapshot' && this.#keys[2] === 'documents';
  }

  #closed(chunk: Buffer, start: number, end: number): Buffer {
    if (this.#pieces.length === 0) return chunk.subarray(start, end);
    // It began in an earlier chunk: `start` is still 0.
    const whole = Buffer.concat([...this.#pieces, chunk.subarray(0, end)]);
    this.#pieces = [];
    return whole;
  }
}
