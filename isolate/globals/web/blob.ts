/** `Blob` and `File`. Everything is in memory, and immutable. */

import {concatenated, isBufferSource, viewOf} from '../bytes.ts';
import {nowMs} from '../clock.ts';
import {define} from '../define.ts';
import {streamOf} from './streams.ts';
import {TextDecoder} from './text-encoding.ts';
import {encodeUtf8} from './utf8.ts';

let bytesOf: (blob: Blob) => Uint8Array<ArrayBuffer>;
const NOTHING = new Uint8Array(0);

export class Blob {
  #bytes: Uint8Array<ArrayBuffer> = NOTHING;
  readonly #type: string;

  static {
    bytesOf = blob => blob.#bytes;
  }

  constructor(parts: Iterable<unknown> = [], options: {type?: unknown; endings?: unknown} = {}) {
    if (typeof parts !== 'object' || parts === null || typeof parts[Symbol.iterator] !== 'function') {
      throw new TypeError('Blob: the parts must be a sequence');
    }
    this.#bytes = concatenated([...parts].map(partBytes));
    const type = String(options?.type ?? '');
    this.#type = /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase();
  }

  get size(): number {
    return this.#bytes.byteLength;
  }
  get type(): string {
    return this.#type;
  }
  slice(start?: number, end?: number, type: unknown = ''): Blob {
    const part = new Blob([], {type});
    part.#bytes = this.#bytes.subarray(start, end);
    return part;
  }
  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.slice().buffer;
  }
  async bytes(): Promise<Uint8Array> {
    return this.#bytes.slice();
  }
  async text(): Promise<string> {
    return new TextDecoder().decode(this.#bytes);
  }
  stream(): ReadableStream<Uint8Array> {
    return streamOf(this.#bytes);
  }
}
define(Blob.prototype, Symbol.toStringTag, 'Blob');

export class File extends Blob {
  readonly #name: string;
  readonly #lastModified: number;

  constructor(parts: Iterable<unknown>, name: unknown, options: {type?: unknown; lastModified?: unknown} = {}) {
    if (name === undefined) throw new TypeError('File: the parts and the name are needed');
    super(parts, options);
    this.#name = String(name);
    this.#lastModified = options?.lastModified === undefined ? nowMs() : Math.trunc(Number(options.lastModified)) || 0;
  }

  get name(): string {
    return this.#name;
  }
  get lastModified(): number {
    return this.#lastModified;
  }
  get webkitRelativePath(): string {
    return '';
  }
}
define(File.prototype, Symbol.toStringTag, 'File');

/** The bytes themselves, for those who do not change them. */
export function blobBytes(blob: Blob): Uint8Array<ArrayBuffer> {
  return bytesOf(blob);
}

function partBytes(part: unknown): Uint8Array {
  if (part instanceof Blob) return bytesOf(part);
  return isBufferSource(part) ? viewOf(part, 'a part') : encodeUtf8(String(part).toWellFormed());
}
