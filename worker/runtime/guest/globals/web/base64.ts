/** `atob` and `btoa`, and base64 of byte arrays. */
import {fromOneByteString, toOneByteString} from '../bytes.ts';
import {DOMException} from './dom-exception.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const SEXTETS = new Map([...ALPHABET].map((char, i) => [char.charCodeAt(0), i]));

export function btoa(data: unknown): string {
  const text = String(data);
  if (/[^\0-\xff]/.test(text)) {
    throw new DOMException(
      'The string to be encoded contains characters outside of the Latin1 range.',
      'InvalidCharacterError',
    );
  }
  return encodeBase64(fromOneByteString(text));
}

export function atob(data: unknown): string {
  let text = String(data).replace(/[\t\n\f\r ]/g, '');
  if (text.length % 4 === 0) text = text.replace(/==?$/, '');
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) {
    throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
  }
  return toOneByteString(decodeBase64(text));
}

export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const rest = bytes.length - i;
    const bits = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    text += ALPHABET[bits >> 18]! + ALPHABET[(bits >> 12) & 63]!;
    text += (rest > 1 ? ALPHABET[(bits >> 6) & 63]! : '=') + (rest > 2 ? ALPHABET[bits & 63]! : '=');
  }
  return text;
}

/** @param text characters of the alphabet only, without padding */
function decodeBase64(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let at = 0;
  let bits = 0;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    bits = ((bits << 6) | SEXTETS.get(text.charCodeAt(i))!) & 0xffffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes[at++] = (bits >> count) & 0xff;
    }
  }
  return bytes;
}
