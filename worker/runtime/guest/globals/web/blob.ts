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
    const endings = String(options?.endings ?? 'transparent');
    if (endings !== 'transparent' && endings !== 'native')
      throw new TypeError(`Blob: ${endings} is no kind of endings`);
    this.#bytes = concatenated([...parts].map(part => partBytes(part, endings === 'native')));
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
    this.#name = String(name).toWellFormed();
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

/** The internal bytes; the caller must not change them. */
export function blobBytes(blob: Blob): Uint8Array<ArrayBuffer> {
  return bytesOf(blob);
}

function partBytes(part: unknown, hasNativeEnds: boolean): Uint8Array {
  if (part instanceof Blob) return bytesOf(part);
  if (isBufferSource(part)) return viewOf(part, 'a part');
  const text = String(part).toWellFormed();
  return encodeUtf8(hasNativeEnds ? text.replaceAll(/\r\n?/g, '\n') : text);
}
