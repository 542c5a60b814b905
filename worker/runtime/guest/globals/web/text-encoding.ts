/** `TextEncoder`, and `TextDecoder` for UTF-8 and both byte orders of UTF-16. */
import {viewOf} from '../bytes.ts';
import {define} from '../define.ts';
import type {StreamDecoder} from './stream-decoder.ts';
import {encodeUtf8, encodeUtf8Into} from './utf8.ts';
import {Utf8Decoder} from './utf8-decoder.ts';
import {Utf16Decoder} from './utf16-decoder.ts';

export class TextEncoder {
  get encoding(): 'utf-8' {
    return 'utf-8';
  }
  encode(text: unknown = ''): Uint8Array {
    return encodeUtf8(String(text));
  }
  encodeInto(text: unknown, target: Uint8Array): {read: number; written: number} {
    if (!(target instanceof Uint8Array)) throw new TypeError('encodeInto: the target must be a Uint8Array');
    return encodeUtf8Into(String(text), target);
  }
}
define(TextEncoder.prototype, Symbol.toStringTag, 'TextEncoder');

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

const LABELS: Readonly<Record<string, Encoding>> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'unicode-1-1-utf-8': 'utf-8',
  unicode11utf8: 'utf-8',
  unicode20utf8: 'utf-8',
  'x-unicode20utf8': 'utf-8',
  'utf-16': 'utf-16le',
  'utf-16le': 'utf-16le',
  ucs2: 'utf-16le',
  'ucs-2': 'utf-16le',
  unicode: 'utf-16le',
  unicodefeff: 'utf-16le',
  csunicode: 'utf-16le',
  'iso-10646-ucs-2': 'utf-16le',
  'utf-16be': 'utf-16be',
  unicodefffe: 'utf-16be',
};

export class TextDecoder {
  readonly #encoding: Encoding;
  readonly #fatal: boolean;
  readonly #ignoreBom: boolean;
  #decoder: StreamDecoder | null = null;
  #isBomSeen = false;

  constructor(label: unknown = 'utf-8', options: {fatal?: boolean; ignoreBOM?: boolean} = {}) {
    const name = String(label).trim().toLowerCase();
    if (!Object.hasOwn(LABELS, name)) throw new RangeError(`The "${String(label)}" encoding is not supported`);
    this.#encoding = LABELS[name]!;
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBom = Boolean(options?.ignoreBOM);
  }

  get encoding(): string {
    return this.#encoding;
  }
  get fatal(): boolean {
    return this.#fatal;
  }
  get ignoreBOM(): boolean {
    return this.#ignoreBom;
  }

  decode(input?: unknown, options: {stream?: boolean} = {}): string {
    const bytes = input === undefined ? new Uint8Array(0) : viewOf(input, 'decode: the input');
    const isLast = !options?.stream;
    this.#decoder ??= this.#start();
    const decoder = this.#decoder;
    if (isLast) this.#decoder = null;
    const text = decoder.decode(bytes, isLast);
    if (this.#isBomSeen || this.#ignoreBom || text === '') return text;
    this.#isBomSeen = true;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  #start(): StreamDecoder {
    this.#isBomSeen = false;
    if (this.#encoding === 'utf-8') return new Utf8Decoder(this.#fatal);
    return new Utf16Decoder(this.#fatal, this.#encoding === 'utf-16le');
  }
}
define(TextDecoder.prototype, Symbol.toStringTag, 'TextDecoder');
