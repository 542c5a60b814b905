/**
 * The admin credential: `Authorization: Bearer <access token>` or `X-Svc-Admin-Token: <admin token>`; one valid one is
 * enough. The router knows digests only. A header that was found right is remembered as bytes, because hashing it anew
 * would cost more than the rest of the check; both ways compare in constant time.
 */
import {Buffer} from 'node:buffer';
import {hash, timingSafeEqual} from 'node:crypto';
import {assert} from '../../shared/assert.ts';

const BEARER = 'bearer ';
const NOTHING = Buffer.alloc(0);

export class AdminCredential {
  readonly #access: Secret;
  readonly #admin: Secret;

  /** SHA-256 digests in hex. */
  constructor(accessTokenSha256: string, adminTokenSha256: string) {
    this.#access = new Secret(accessTokenSha256);
    this.#admin = new Secret(adminTokenSha256);
  }

  /** Header values, empty when missing. */
  accepts(authorization: string, adminToken: string): boolean {
    if (authorization !== '' && this.#access.matches(bearerToken(authorization))) return true;
    return this.acceptsAdminToken(adminToken);
  }

  /** The header alone: on a deployment a bearer token is a tenant's. */
  acceptsAdminToken(adminToken: string): boolean {
    return adminToken !== '' && this.#admin.matches(adminToken);
  }
}

/** The token of a bearer credential; empty for any other scheme. */
function bearerToken(authorization: string): string {
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) return '';
  return authorization.slice(BEARER.length).trim();
}

class Secret {
  readonly #digest: Buffer;
  /** The right token, once a client has shown it, and a place of the same size for what others show. */
  #known = NOTHING;
  #shown = NOTHING;

  constructor(sha256: string) {
    this.#digest = Buffer.from(sha256, 'hex');
    assert(this.#digest.length === 32, 'a credential digest is 32 bytes of hex');
  }

  matches(token: string): boolean {
    if (token === '') return false;
    if (token.length === this.#known.length) {
      if (this.#shown.write(token, 'utf8') === token.length && timingSafeEqual(this.#shown, this.#known)) return true;
    }
    if (!timingSafeEqual(hash('sha256', token, 'buffer'), this.#digest)) return false;
    // Only ASCII is remembered: there as many characters are as many bytes, so a cut-off token is never taken for the whole.
    if (Buffer.byteLength(token) !== token.length) return true;
    this.#known = Buffer.from(token, 'utf8');
    this.#shown = Buffer.alloc(this.#known.length);
    return true;
  }
}
