/** Decodes UTF-8 bytes, by the algorithm of the encoding standard: each maximal ill-formed part becomes one U+FFFD. */
import type {StreamDecoder} from './stream-decoder.ts';
import {UnitBuffer} from './unit-buffer.ts';

export class Utf8Decoder implements StreamDecoder {
  readonly #fatal: boolean;
  #point = 0;
  /** Bytes of the character that are still to come. */
  #needed = 0;
  /** Range of the next byte. */
  #lower = 0x80;
  #upper = 0xbf;

  constructor(fatal: boolean) {
    this.#fatal = fatal;
  }

  decode(bytes: Uint8Array, isLast: boolean): string {
    const out = new UnitBuffer();
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (this.#needed === 0) this.#begin(byte, out);
      else if (byte < this.#lower || byte > this.#upper) {
        this.#reset();
        this.#malformed(out);
        i--; // It begins another character.
      } else this.#continue(byte, out);
    }
    if (isLast && this.#needed !== 0) {
      this.#reset();
      this.#malformed(out);
    }
    return out.text();
  }

  #begin(byte: number, out: UnitBuffer): void {
    if (byte < 0x80) out.unit(byte);
    else if (byte >= 0xc2 && byte <= 0xdf) this.#expect(1, byte & 0x1f);
    else if (byte >= 0xe0 && byte <= 0xef) {
      if (byte === 0xe0) this.#lower = 0xa0;
      if (byte === 0xed) this.#upper = 0x9f;
      this.#expect(2, byte & 0xf);
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      if (byte === 0xf0) this.#lower = 0x90;
      if (byte === 0xf4) this.#upper = 0x8f;
      this.#expect(3, byte & 7);
    } else this.#malformed(out);
  }

  #expect(needed: number, point: number): void {
    this.#needed = needed;
    this.#point = point;
  }

  #continue(byte: number, out: UnitBuffer): void {
    this.#lower = 0x80;
    this.#upper = 0xbf;
    this.#point = (this.#point << 6) | (byte & 0x3f);
    if (--this.#needed === 0) out.point(this.#point);
  }

  #reset(): void {
    this.#needed = 0;
    this.#lower = 0x80;
    this.#upper = 0xbf;
  }

  #malformed(out: UnitBuffer): void {
    if (this.#fatal) throw new TypeError('The encoded data was not valid for encoding utf-8');
    out.unit(0xfffd);
  }
}
