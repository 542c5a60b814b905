/** One secret that a header may show, known by its digest. */
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

/** Of a header that holds the token alone. */
export function wholeHeader(header: string): string {
  return header;
}

/**
 * A header that was found right is remembered as bytes, because hashing it anew would cost more than the rest of the check; both ways
 * compare in constant time.
 */
export class Secret {
  readonly #digest: Buffer;
  /** The header with the right token, once a client has sent it, and a place of the same size for what others send. */
  #known = NOTHING;
  #shown = NOTHING;

  constructor(sha256: string) {
    this.#digest = Buffer.from(sha256, 'hex');
    assert(this.#digest.length === 32, 'a credential digest is 32 bytes of hex');
  }

  /** @param tokenOf what of the header is the token; empty: none */
  isIn(header: string, tokenOf: (header: string) => string): boolean {
    if (header === '') return false;
    if (header.length === this.#known.length) {
      if (this.#shown.write(header, 'utf8') === header.length && timingSafeEqual(this.#shown, this.#known)) return true;
    }
    const token = tokenOf(header);
    if (token === '' || !timingSafeEqual(hash('sha256', token, 'buffer'), this.#digest)) return false;
    // Only ASCII is remembered: there as many characters are as many bytes, so a cut-off token is never taken for the whole.
    if (Buffer.byteLength(header) !== header.length) return true;
    this.#known = Buffer.from(header, 'utf8');
    this.#shown = Buffer.alloc(this.#known.length);
    return true;
  }
}
