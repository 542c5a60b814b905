/** Determines who sends a request: the holder of an admin credential, or of a key. */
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import type {AdminCredential, RequestHeaders} from './admin-credential.ts';
import type {Caller, KeyRing} from './key-ring.ts';
import {bearerToken, wholeHeader} from './secret.ts';

/** Null: an admin credential, which has all rights. */
export type Principal = Caller | null;

export class Credentials {
  readonly #admin: AdminCredential;
  readonly #keys: KeyRing;

  constructor(admin: AdminCredential, keys: KeyRing) {
    this.#admin = admin;
    this.#keys = keys;
  }

  /** Either header is sufficient; undefined: neither holds a valid credential. */
  of(request: RequestHeaders): Principal | undefined {
    const authorization = request.getHeader('authorization');
    if (authorization !== '') {
      const at = authorization.indexOf(KEY_PREFIX);
      const caller = at === -1 ? null : this.#keys.find(authorization, at, bearerToken);
      if (caller !== null) return caller;
      if (this.#admin.acceptsAccessToken(authorization)) return null;
    }
    return this.ofAdminToken(request.getHeader('x-svc-admin-token'));
  }

  /** The header's value only: on deployment routes a bearer token is a tenant user's. */
  ofAdminToken(header: string): Principal | undefined {
    if (header === '') return undefined;
    const caller = header.startsWith(KEY_PREFIX) ? this.#keys.find(header, 0, wholeHeader) : null;
    if (caller !== null) return caller;
    return this.#admin.acceptsAdminToken(header) ? null : undefined;
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
