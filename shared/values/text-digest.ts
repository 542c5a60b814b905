/**
 * A short digest of a text, identical in servers, browsers and isolates: two 32-bit lanes over its UTF-16 units. It
 * detects texts that were assembled wrongly and tells results apart. It is not a defence against deliberate collisions.
 */

/** @returns 16 hexadecimal digits */
export function textDigest(text: string): string {
  let a = 0xdeadbeef ^ text.length;
  let b = 0x41c6ce57 ^ text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
  }
  a = mixed(a, b);
  b = mixed(b, a);
  return hex(a) + hex(b);
}

function mixed(lane: number, other: number): number {
  const high = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
  return high ^ (high >>> 16);
}

/** A 32-bit lane as 8 digits. */
export function hex(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0');
}
