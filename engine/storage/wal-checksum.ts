/**
 * The checksum of SQLite's write-ahead log: two sums over pairs of 32-bit words, each adding the other. It is linear, so the
 * effect of one changed bit at a given place is known without trying: `flippedBit` finds that bit, if there is one.
 */
import {assert} from '../../shared/assert.ts';

export type Sums = readonly [number, number];

/** @param length a multiple of 8 */
export function sumOver(start: Sums, bytes: Buffer, from: number, length: number, bigEndian: boolean): Sums {
  assert(length % 8 === 0, 'the log is summed up in pairs of words');
  let [a, b] = start;
  const view = new DataView(bytes.buffer, bytes.byteOffset + from, length);
  for (let at = 0; at < length; at += 8) {
    a = (a + view.getUint32(at, !bigEndian) + b) | 0;
    b = (b + view.getUint32(at + 4, !bigEndian) + a) | 0;
  }
  return [a >>> 0, b >>> 0];
}

/**
 * Whether the words summed so far, or the stored sums themselves, would match with exactly one bit changed. For a
 * partly written text that happens once in 10^14 times.
 */
export function flippedBit(computed: Sums, stored: Sums, words: number): boolean {
  assert(words % 2 === 0, 'the log is summed up in pairs of words');
  if (bitsOf(computed[0] ^ stored[0]) + bitsOf(computed[1] ^ stored[1]) === 1) return true;
  const a = (stored[0] - computed[0]) | 0;
  const b = (stored[1] - computed[1]) | 0;
  // The effect on both final sums of adding one to the first or the second word of a pair, from the last pair
  // backwards.
  let [firstA, firstB, secondA, secondB] = [1, 1, 0, 1];
  for (let pair = words / 2; pair > 0; pair--) {
    if (isPowerTimes(a, b, firstA, firstB) || isPowerTimes(a, b, secondA, secondB)) return true;
    [firstA, firstB] = moved(firstA, firstB);
    [secondA, secondB] = moved(secondA, secondB);
  }
  return false;
}

/** The effect after one more pair. */
function moved(a: number, b: number): [number, number] {
  const sum = (a + b) | 0;
  return [sum, (b + sum) | 0];
}

function isPowerTimes(a: number, b: number, unitA: number, unitB: number): boolean {
  for (let bit = 0; bit < 32; bit++) {
    const [timesA, timesB] = [(unitA << bit) | 0, (unitB << bit) | 0];
    if ((a === timesA && b === timesB) || (a === (-timesA | 0) && b === (-timesB | 0))) return true;
  }
  return false;
}

function bitsOf(word: number): number {
  let count = 0;
  for (let rest = word >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/** Number of bits in which two texts of equal length differ. */
export function bitsBetween(a: Buffer, b: Buffer): number {
  assert(a.length === b.length, 'texts of one length are compared');
  let count = 0;
  for (let i = 0; i < a.length; i++) count += bitsOf(a[i]! ^ b[i]!);
  return count;
}
