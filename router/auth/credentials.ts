/** Who a request comes from: somebody with an admin credential, or a key. */
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import type {AdminCredential, RequestHeaders} from './admin-credential.ts';
import type {Caller, KeyRing} from './key-ring.ts';
import {bearerToken, wholeHeader} from './secret.ts';

/** Null: somebody with an admin credential, who may do everything. */
export type Asker = Caller | null;

export class Credentials {
  readonly #admin: AdminCredential;
  readonly #keys: KeyRing;

  constructor(admin: AdminCredential, keys: KeyRing) {
    this.#admin = admin;
    this.#keys = keys;
  }

  /** One valid credential of the two headers is enough; undefined: there is none. */
  of(request: RequestHeaders): Asker | undefined {
    const authorization = request.getHeader('authorization');
    if (authorization !== '') {
      const at = authorization.indexOf(KEY_PREFIX);
      const caller = at === -1 ? null : this.#keys.find(authorization, at, bearerToken);
      if (caller !== null) return caller;
      if (this.#admin.acceptsAccessToken(authorization)) return null;
    }
    return this.ofAdminToken(request.getHeader('x-svc-admin-token'));
  }

  /** The header's value alone: on a deployment a bearer token is a tenant's. */
  ofAdminToken(header: string): Asker | undefined {
    if (header === '') return undefined;
    const caller = header.startsWith(KEY_PREFIX) ? this.#keys.find(header, 0, wholeHeader) : null;
    if (caller !== null) return caller;
    return this.#admin.acceptsAdminToken(header) ? null : undefined;
  }

  /** Of a key's secret alone; null: it is none that is valid now. */
  ofKey(secret: string): Caller | null {
    return this.#keys.find(secret, 0, wholeHeader);
  }

  /** Why these headers show no valid one, for people. @param otherwise where they show no key */
  refusal(authorization: string, adminToken: string, otherwise: string): string {
    const token = [bearerToken(authorization), adminToken].find(text => text.startsWith(KEY_PREFIX));
    return token === undefined ? otherwise : this.#keys.refusal(token);
  }
}
