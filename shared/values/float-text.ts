/**
 * Converts a double to the base64 text of its 8 little-endian bytes, and back; without Buffer, because isolates and
 * browsers use it.
 */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const view = new DataView(new ArrayBuffer(9));

/** 11 digits and one `=`. Every NaN has the same text. */
export function encodeFloat(number: number): string {
  view.setFloat64(0, number, true);
  view.setUint8(8, 0);
  let text = '';
  for (let i = 0; i < 9; i += 3) {
    const bits = (view.getUint8(i) << 16) | (view.getUint8(i + 1) << 8) | view.getUint8(i + 2);
    text += DIGITS[bits >> 18]! + DIGITS[(bits >> 12) & 63]! + DIGITS[(bits >> 6) & 63]! + DIGITS[bits & 63]!;
  }
  return `${text.slice(0, 11)}=`;
}

/** Null if it is not such a text. */
export function decodeFloat(text: string): number | null {
  if (!/^[A-Za-z0-9+/]{11}=$/.test(text)) return null;
  for (let i = 0; i < 9; i += 3) {
    let bits = 0;
    for (let j = 0; j < 4; j++) bits = (bits << 6) | Math.max(0, DIGITS.indexOf(text[(i / 3) * 4 + j]!));
    view.setUint8(i, bits >> 16);
    view.setUint8(i + 1, (bits >> 8) & 255);
    view.setUint8(i + 2, bits & 255);
  }
  // The last digit's two bits beyond the eighth byte must be zero, so that a number has only one text.
  return view.getUint8(8) === 0 ? view.getFloat64(0, true) : null;
}
