/**
 * The format of a key's secret: `svc_key_<id>_<secret><checksum>`. The id names the record. The checksum tells a
 * misspelled secret from an unknown one, and lets scanners of source code find secrets without false alarms.
 */
import {randomBytes, randomInt} from 'node:crypto';
import {crc32} from 'node:zlib';
import {KEY_PREFIX} from './key-prefix.ts';

/** No l, 1, o or 0, because people read ids aloud. */
const ID_LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789';
const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_CHARS = 12;
/** 43 of 62 letters: 256 bits. */
const SECRET_CHARS = 43;
const CHECKSUM_CHARS = 6;

const FORM = new RegExp(`^${KEY_PREFIX}[a-z0-9]{${ID_CHARS}}_[0-9A-Za-z]{${SECRET_CHARS + CHECKSUM_CHARS}}$`);

export function newKeyId(): string {
  return Array.from(randomBytes(ID_CHARS), byte => ID_LETTERS[byte % ID_LETTERS.length]).join('');
}

export function newKeySecret(id: string): string {
  const secret = Array.from({length: SECRET_CHARS}, () => LETTERS[randomInt(LETTERS.length)]).join('');
  const body = `${KEY_PREFIX}${id}_${secret}`;
  return body + checksumOf(body);
}

/** The id of the secret that begins at `at`; the text there is not checked. */
export function keyIdIn(text: string, at: number): string {
  return text.slice(at + KEY_PREFIX.length, at + KEY_PREFIX.length + ID_CHARS);
}

/** Whether the text has the form of a secret, to its last letter. */
export function isWellFormed(text: string): boolean {
  return FORM.test(text) && text.slice(-CHECKSUM_CHARS) === checksumOf(text.slice(0, -CHECKSUM_CHARS));
}

function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    text = LETTERS[rest % LETTERS.length] + text;
    rest = Math.floor(rest / LETTERS.length);
  }
  return text;
}
