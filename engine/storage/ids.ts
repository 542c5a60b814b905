/**
 * Document ids: 32 characters of lower-case base32 over 48 bits of milliseconds, 80 random bits, 16 bits of table
 * number and a 16-bit checksum. The time comes first, so new ids are neighbours in the B-tree. Table and checksum come
 * last: an id contains its table, and a mistyped one is detected without a look-up.
 */
import {Buffer} from 'node:buffer';
import {randomFillSync} from 'node:crypto';
import {invalid} from '../../shared/errors.ts';
import {DOCUMENT_ID_CHARS_MAX} from '../../shared/limits.ts';
import {isPrintableName} from '../../shared/printable-name.ts';

/** Ascending in ASCII, so that ids sort by time. Without i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const CODES = Buffer.from(ALPHABET, 'latin1');
const ID_CHARS = 32;
const ID_BYTES = 20;
const RANDOM_BYTES = 10;
const SVC_ID = /^[0-9a-hjkmnp-tv-z]{32}$/;

const CRC_TABLE = Uint16Array.from({length: 256}, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  return crc;
});

/** CRC-16/CCITT over all but the last two bytes. */
function checksum(bytes: Buffer): number {
  let crc = 0xffff;
  for (let i = 0; i < ID_BYTES - 2; i++) crc = ((crc << 8) & 0xffff) ^ CRC_TABLE[(crc >> 8) ^ bytes[i]!]!;
  return crc;
}

export class IdFactory {
  readonly #now: () => number;
  readonly #randomFill: (bytes: Buffer) => void;
  readonly #bytes = Buffer.alloc(ID_BYTES);
  readonly #pool = Buffer.alloc(RANDOM_BYTES * 256);
  #used = this.#pool.length;

  constructor(now: () => number, randomFill: (bytes: Buffer) => void = randomFillSync) {
    this.#now = now;
    this.#randomFill = randomFill;
  }

  next(tableNumber: number): string {
    if (this.#used === this.#pool.length) {
      this.#randomFill(this.#pool);
      this.#used = 0;
    }
    const bytes = this.#bytes;
    bytes.writeUIntBE(Math.floor(this.#now()), 0, 6);
    this.#pool.copy(bytes, 6, this.#used, this.#used + RANDOM_BYTES);
    this.#used += RANDOM_BYTES;
    bytes.writeUInt16BE(tableNumber, 16);
    bytes.writeUInt16BE(checksum(bytes), 18);
    return encode(bytes);
  }
}

/** Decodes an id made by this service; null when the text is not one. */
export function decodeId(id: string): {tableNumber: number; createdMs: number} | null {
  if (id.length !== ID_CHARS || !SVC_ID.test(id)) return null;
  const bytes = decode(id);
  if (checksum(bytes) !== bytes.readUInt16BE(18)) return null;
  return {tableNumber: bytes.readUInt16BE(16), createdMs: bytes.readUIntBE(0, 6)};
}

/** A document id chosen by a client. @throws op.invalid_input 400 */
export function checkChosenId(id: string): void {
  if (id.length >= 1 && id.length <= DOCUMENT_ID_CHARS_MAX && isPrintableName(id) && decodeId(id) === null) return;
  throw invalid(
    `an id of your own has 1 to ${DOCUMENT_ID_CHARS_MAX} printable characters without /, is not . or .., and not one that the service made`,
  );
}

/** A shared buffer, filled and read at once: concatenating strings costs 50 % more, and garbage. */
const encoded = Buffer.alloc(ID_CHARS);

/** 5 bytes are 40 bits, which are 8 characters. */
function encode(bytes: Buffer): string {
  let at = 0;
  for (let i = 0; i < ID_BYTES; i += 5) {
    const a = bytes[i]!;
    const b = bytes[i + 1]!;
    const c = bytes[i + 2]!;
    const d = bytes[i + 3]!;
    const e = bytes[i + 4]!;
    encoded[at++] = CODES[a >> 3]!;
    encoded[at++] = CODES[((a & 0x07) << 2) | (b >> 6)]!;
    encoded[at++] = CODES[(b >> 1) & 0x1f]!;
    encoded[at++] = CODES[((b & 0x01) << 4) | (c >> 4)]!;
    encoded[at++] = CODES[((c & 0x0f) << 1) | (d >> 7)]!;
    encoded[at++] = CODES[(d >> 2) & 0x1f]!;
    encoded[at++] = CODES[((d & 0x03) << 3) | (e >> 5)]!;
    encoded[at++] = CODES[e & 0x1f]!;
  }
  return encoded.toString('latin1');
}

function decode(id: string): Buffer {
  const bytes = Buffer.alloc(ID_BYTES);
  let bits = 0;
  let value = 0;
  let at = 0;
  for (const char of id) {
    value = ((value << 5) | ALPHABET.indexOf(char)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = (value >> bits) & 0xff;
  }
  return bytes;
}
