/** Encodes strings as UTF-8 bytes. A lone surrogate becomes U+FFFD. */

export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const target = new Uint8Array(utf8Length(text));
  encodeUtf8Into(text, target);
  return target;
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    length += unit < 0x800 ? 1 : 2;
    if (isPair(text, i)) i++; // Two units, four bytes.
  }
  return length;
}

function isPair(text: string, i: number): boolean {
  return (text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00;
}

/** Stops before the first character that does not fit. */
export function encodeUtf8Into(text: string, target: Uint8Array): {read: number; written: number} {
  let read = 0;
  let at = 0;
  while (read < text.length) {
    let point = text.charCodeAt(read);
    let units = 1;
    if (isPair(text, read)) {
      point = 0x10000 + ((point & 0x3ff) << 10) + (text.charCodeAt(read + 1) & 0x3ff);
      units = 2;
    } else if ((point & 0xf800) === 0xd800) point = 0xfffd;
    const bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (at + bytes > target.length) break;
    if (bytes === 1) target[at] = point;
    else {
      for (let i = bytes - 1; i > 0; i--) {
        target[at + i] = 0x80 | (point & 0x3f);
        point >>= 6;
      }
      target[at] = LEADS[bytes]! | point;
    }
    at += bytes;
    read += units;
  }
  return {read, written: at};
}

const LEADS = [0, 0, 0xc0, 0xe0, 0xf0];
