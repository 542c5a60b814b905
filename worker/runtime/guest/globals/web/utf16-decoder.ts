/** Decodes UTF-16 bytes. A lone surrogate becomes U+FFFD. */
import type {StreamDecoder} from './stream-decoder.ts';
import {UnitBuffer} from './unit-buffer.ts';

export class Utf16Decoder implements StreamDecoder {
  readonly #fatal: boolean;
  readonly #isLittleEndian: boolean;
  /** The first byte of a unit, and the first unit of a pair; -1: none. */
  #byte = -1;
  #high = -1;

  constructor(fatal: boolean, isLittleEndian: boolean) {
    this.#fatal = fatal;
    this.#isLittleEndian = isLittleEndian;
  }

  decode(bytes: Uint8Array, isLast: boolean): string {
    const out = new UnitBuffer();
    for (const byte of bytes) {
      if (this.#byte === -1) this.#byte = byte;
      else {
        const unit = this.#isLittleEndian ? this.#byte | (byte << 8) : (this.#byte << 8) | byte;
        this.#byte = -1;
        this.#unit(unit, out);
      }
    }
    if (isLast && (this.#byte !== -1 || this.#high !== -1)) {
      this.#byte = -1;
      this.#high = -1;
      this.#malformed(out);
    }
    return out.text();
  }

  #unit(unit: number, out: UnitBuffer): void {
    const isLow = (unit & 0xfc00) === 0xdc00;
    if (this.#high !== -1) {
      const high = this.#high;
      this.#high = -1;
      if (isLow) {
        out.unit(high);
        out.unit(unit);
        return;
      }
      this.#malformed(out);
    }
    if ((unit & 0xfc00) === 0xd800) this.#high = unit;
    else if (isLow) this.#malformed(out);
    else out.unit(unit);
  }

  #malformed(out: UnitBuffer): void {
    if (this.#fatal) throw new TypeError('The encoded data was not valid for encoding utf-16');
    out.unit(0xfffd);
  }
}
