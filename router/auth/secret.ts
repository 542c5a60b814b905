/** A secret that a header can hold, known by its digest. */
import {Buffer} from 'node:buffer';
import {hash, timingSafeEqual} from 'node:crypto';
import {assert} from '../../shared/assert.ts';

const BEARER = 'bearer ';
const NOTHING = Buffer.alloc(0);

/** The token of a bearer credential; empty for any other scheme. */
export function bearerToken(authorization: string): string {
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) return '';
  return authorization.slice(BEARER.length).trim();
}

/** For headers that hold only the token. */
export function wholeHeader(header: string): string {
  return header;
}

/**
 * Compares a header with a secret. A header that matched once is cached as bytes, because hashing it again would cost
 * more than the rest of the check. Both comparisons take constant time.
 */
export class Secret {
  readonly #digest: Buffer;
  /** The header with the correct token, once a client has sent it, and a buffer of the same size for other values. */
  #known = NOTHING;
  #shown = NOTHING;

  constructor(sha256: string) {
    this.#digest = Buffer.from(sha256, 'hex');
    assert(this.#digest.length === 32, 'a credential digest is 32 bytes of hex');
  }

  /** @param tokenOf extracts the token from the header; empty: it has none */
  isIn(header: string, tokenOf: (header: string) => string): boolean {
    if (header === '') return false;
    if (header.length === this.#known.length) {
      if (this.#shown.write(header, 'utf8') === header.length && timingSafeEqual(this.#shown, this.#known)) return true;
    }
    const token = tokenOf(header);
    if (token === '' || !timingSafeEqual(hash('sha256', token, 'buffer'), this.#digest)) return false;
    // Only ASCII is cached, because there the number of characters is the number of bytes, so a truncated token cannot
    // match.
    if (Buffer.byteLength(header) !== header.length) return true;
    this.#known = Buffer.from(header, 'utf8');
    this.#shown = Buffer.alloc(this.#known.length);
    return true;
  }
}
