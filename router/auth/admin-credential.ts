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

/** A header that is missing is empty. */
type RequestHeaders = {getHeader(name: string): string};

export class AdminCredential {
  readonly #access: Secret;
  readonly #admin: Secret;

  /** SHA-256 digests in hex. */
  constructor(accessTokenSha256: string, adminTokenSha256: string) {
    this.#access = new Secret(accessTokenSha256);
    this.#admin = new Secret(adminTokenSha256);
  }

  /** Of a request that shows one of the two. The second header is looked at only where the first is not enough. */
  accepts(request: RequestHeaders): boolean {
    if (this.#access.isIn(request.getHeader('authorization'), bearerToken)) return true;
    return this.acceptsAdminToken(request.getHeader('x-svc-admin-token'));
  }

  /** The header's value alone, empty when it is missing: on a deployment a bearer token is a tenant's. */
  acceptsAdminToken(adminToken: string): boolean {
    return this.#admin.isIn(adminToken, token => token);
  }
}

/** The token of a bearer credential; empty for any other scheme. */
function bearerToken(authorization: string): string {
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) return '';
  return authorization.slice(BEARER.length).trim();
}

class Secret {
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
