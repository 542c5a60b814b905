/**
 * Replaces `@exodus/bytes/whatwg.js` in the realm's bundle. `whatwg-url` needs encodings other than UTF-8 only for
 * documents, and their tables are the larger part of the package.
 */
import {encodeUtf8} from './utf8.ts';

export function percentEncodeAfterEncoding(_encoding: string, text: string, set: string): string {
  let result = '';
  for (const byte of encodeUtf8(text)) {
    const char = String.fromCharCode(byte);
    if (byte < 0x20 || byte > 0x7e || set.includes(char))
      result += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    else result += char;
  }
  return result;
}
