/**
 * The seeded generator for Math.random and crypto in queries and mutations: xoshiro128**. It provides parity with
 * similar platforms, not secrecy: code inside a realm could compute its state.
 */
import {slice} from './primordials.ts';

/** Saved now: a seed is parsed on first use, and user code can have changed the global by then. */
const {parseInt: parseInteger} = Number;

export class SeededRandom {
  readonly #s = new Uint32Array(4);
  /** The unparsed seed, because most invocations draw nothing; null: it is parsed. */
  #seed: string | null;

  /** @param seed 32 hex characters */
  constructor(seed: string) {
    this.#seed = seed;
  }

  seed(seed: string): void {
    this.#seed = seed;
  }

  #read(seed: string): void {
    const s = this.#s;
    this.#seed = null;
    for (let i = 0; i < 4; i++) s[i] = parseInteger(slice(seed, i * 8, i * 8 + 8), 16);
    // All zeros would stay zeros.
    if (s[0] === 0 && s[1] === 0 && s[2] === 0 && s[3] === 0) s[0] = 0x9e3779b9;
  }

  /** 0 ≤ x < 1 with 53 bits, like Math.random. */
  next(): number {
    return ((this.#uint32() >>> 5) * 0x4000000 + (this.#uint32() >>> 6)) / 0x20000000000000;
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let i = 0; i < count; i += 4) {
      const word = this.#uint32();
      for (let j = i; j < i + 4 && j < count; j++) bytes[j] = word >>> ((j - i) * 8);
    }
    return bytes;
  }

  #uint32(): number {
    if (this.#seed !== null) this.#read(this.#seed);
    const s = this.#s;
    const [s0, s1, s2, s3] = [s[0]!, s[1]!, s[2]!, s[3]!];
    const result = Math.imul(rotated(Math.imul(s1, 5), 7), 9) >>> 0;
    const t = s1 << 9;
    const x2 = s2 ^ s0;
    const x3 = s3 ^ s1;
    s[1] = s1 ^ x2;
    s[0] = s0 ^ x3;
    s[2] = x2 ^ t;
    s[3] = rotated(x3, 11);
    return result;
  }
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
