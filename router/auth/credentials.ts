/**
 * Determines who sends a request: the holder of one of the two admin credentials, of a key, or of a session that one of
 * these opened. The router knows only the SHA-256 digests of all of them.
 */
import {Buffer} from 'node:buffer';
import {hash, timingSafeEqual} from 'node:crypto';
import {assert} from '../../shared/assert.ts';
import {ALL_RIGHTS, type Grant, type KeyRecord} from '../../shared/ipc/keys.ts';
import type {Holder, SessionRecord} from '../../shared/ipc/sessions.ts';
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import type {RateLimit} from '../../shared/rate-limit.ts';
import type {Scope} from '../../shared/rights.ts';

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

/** Times are epoch milliseconds; Infinity means no end. */
export class Key {
  readonly id: string;
  readonly name: string;
  /** The id of the first key in its lineage. Rotation keeps it, and keys inherit it from the key that makes them. */
  readonly family: string;
  readonly grant: Grant;
  readonly scopes: ReadonlySet<Scope>;
  readonly tenants: ReadonlySet<string> | null;
  readonly tables: ReadonlySet<string> | null;
  /** Read by the rate limiter. */
  readonly rateLimit: RateLimit | null;
  readonly expiresAtMs: number;
  isRevoked = false;
  /** Since the last report. */
  isUsed = false;
  /** One caller for each secret of the key, the newest first. */
  callers: Caller[] = [];

  constructor(record: KeyRecord) {
    this.id = record.id;
    this.name = record.name;
    this.family = record.family ?? record.id;
    this.grant = record;
    this.scopes = new Set(record.scopes);
    this.tenants = record.tenants === null ? null : new Set(record.tenants);
    this.tables = record.tables === null ? null : new Set(record.tables);
    this.rateLimit = record.rate_limit;
    this.expiresAtMs = record.expires_at ?? Number.POSITIVE_INFINITY;
    this.take(record);
  }

  /**
   * Takes over a changed record. Secrets that remain keep their `Caller` objects, so requests admitted with them stay
   * valid.
   */
  take({secrets}: KeyRecord): void {
    const known = new Map(this.callers.map(caller => [caller.sha256, caller]));
    this.callers = secrets.map(({sha256, expires_at}) => {
      const caller = known.get(sha256) ?? new Caller(this, sha256);
      caller.secretExpiresAtMs = expires_at ?? Number.POSITIVE_INFINITY;
      known.delete(sha256);
      return caller;
    });
    for (const gone of known.values()) gone.secretExpiresAtMs = 0;
  }
}

/** The holder of this secret of the key. */
export class Caller extends Secret {
  readonly key: Key;
  readonly sha256: string;
  /** Set if the secret ends before its key does. */
  secretExpiresAtMs = 0;

  constructor(key: Key, sha256: string) {
    super(sha256);
    this.key = key;
    this.sha256 = sha256;
  }

  get endMs(): number {
    return Math.min(this.key.expiresAtMs, this.secretExpiresAtMs);
  }

  /** Whether it may still send requests. */
  isValid(nowMs: number): boolean {
    return !this.key.isRevoked && nowMs < this.key.expiresAtMs && nowMs < this.secretExpiresAtMs;
  }
}

/** The rights of sessions that an admin credential opened. */
const ADMIN = new Key({...ALL_RIGHTS, id: '', name: 'admin', created_at: 0, created_by: null, secrets: []});

/** A person who is signed in to the dashboard, with the rights of the credential that opened the session. */
export class Session extends Secret {
  readonly id: string;
  readonly key: Key;
  readonly endMs: number;
  /** It has ended before its time. */
  isEnded = false;
  /** Since the last report. */
  isUsed = false;
  /** The secret of the key that opened it, with which it ends; null: an admin credential. */
  readonly #opener: Caller | null;

  constructor({id, sha256, ends_at}: SessionRecord, opener: Caller | null) {
    super(sha256);
    this.id = id;
    this.endMs = ends_at;
    this.key = opener?.key ?? ADMIN;
    this.#opener = opener;
  }

  get holder(): Holder {
    return holderOf(this.#opener);
  }

  isValid(nowMs: number): boolean {
    return !this.isEnded && nowMs < this.endMs && this.#opener?.isValid(nowMs) !== false;
  }
}

/** Null: an admin credential, which has all rights. */
export type Principal = Caller | Session | null;

/** The key whose rights a principal has; null: an admin credential. */
export function keyOf(principal: Principal): Key | null {
  return principal === null || principal.key === ADMIN ? null : principal.key;
}

export function sessionIdOf(principal: Principal): string | null {
  return principal instanceof Session ? principal.id : null;
}

/** The credential that opens the sessions of a principal. */
export function holderOf(principal: Principal): Holder {
  if (principal === null) return null;
  return principal instanceof Session ? principal.holder : {key: principal.key.id, sha256: principal.sha256};
}

/** A missing header is an empty string. */
type RequestHeaders = {getHeader(name: string): string};

/** Finds keys by their secrets (`key-ring.ts`). */
type Keys = {
  find(header: string, at: number, tokenOf: (header: string) => string): Caller | null;
  secretOf(id: string, sha256: string): Caller | null;
  refusal(token: string): string;
};

export class Credentials {
  readonly #accessToken: Secret;
  readonly #adminToken: Secret;
  readonly #keys: Keys;

  /** @param accessTokenSha256,adminTokenSha256 digests of the two admin credentials, in hex */
  constructor(accessTokenSha256: string, adminTokenSha256: string, keys: Keys) {
    this.#accessToken = new Secret(accessTokenSha256);
    this.#adminToken = new Secret(adminTokenSha256);
    this.#keys = keys;
  }

  /**
   * Either of `Authorization: Bearer` and `X-Svc-Admin-Token` is sufficient, and the second one is read only if the
   * first is not. Undefined: neither holds a valid credential.
   */
  of(request: RequestHeaders): Principal | undefined {
    const authorization = request.getHeader('authorization');
    if (authorization !== '') {
      const at = authorization.indexOf(KEY_PREFIX);
      const caller = at === -1 ? null : this.#keys.find(authorization, at, bearerToken);
      if (caller !== null) return caller;
      if (this.#accessToken.isIn(authorization, bearerToken)) return null;
    }
    return this.ofAdminToken(request.getHeader('x-svc-admin-token'));
  }

  /** The header's value only: on deployment routes a bearer token is a tenant user's. */
  ofAdminToken(header: string): Principal | undefined {
    if (header === '') return undefined;
    const caller = header.startsWith(KEY_PREFIX) ? this.#keys.find(header, 0, wholeHeader) : null;
    if (caller !== null) return caller;
    return this.#adminToken.isIn(header, wholeHeader) ? null : undefined;
  }

  /** For a credential without a header around it; undefined: it is not a valid one. */
  ofToken(token: string): Caller | null | undefined {
    const caller = token.startsWith(KEY_PREFIX) ? this.ofKey(token) : null;
    if (caller !== null) return caller;
    return this.#adminToken.isIn(token, wholeHeader) || this.#accessToken.isIn(token, wholeHeader) ? null : undefined;
  }

  /** The principal of a credential that was valid a moment ago; undefined: it is not any more. */
  ofHolder(holder: Holder): Caller | null | undefined {
    return holder === null ? null : (this.#keys.secretOf(holder.key, holder.sha256) ?? undefined);
  }

  /** Finds a key by its secret alone; null: no key has it that is valid now. */
  ofKey(secret: string): Caller | null {
    return this.#keys.find(secret, 0, wholeHeader);
  }

  /**
   * Why these headers hold no valid credential, as a message for people.
   * @param otherwise the message if they hold no key
   */
  refusal(authorization: string, adminToken: string, otherwise: string): string {
    const token = [bearerToken(authorization), adminToken].find(text => text.startsWith(KEY_PREFIX));
    return token === undefined ? otherwise : this.#keys.refusal(token);
  }
}
