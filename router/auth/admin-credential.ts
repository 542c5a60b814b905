/**
 * The two admin credentials: `Authorization: Bearer <access token>` or `X-Svc-Admin-Token: <admin token>`; one valid one is
 * enough. The router knows digests only.
 */
import {bearerToken, Secret, wholeHeader} from './secret.ts';

/** A header that is missing is empty. */
export type RequestHeaders = {getHeader(name: string): string};

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
    if (this.acceptsAccessToken(request.getHeader('authorization'))) return true;
    return this.acceptsAdminToken(request.getHeader('x-svc-admin-token'));
  }

  acceptsAccessToken(authorization: string): boolean {
    return this.#access.isIn(authorization, bearerToken);
  }

  /** The header's value alone, empty when it is missing: on a deployment a bearer token is a tenant's. */
  acceptsAdminToken(adminToken: string): boolean {
    return this.#admin.isIn(adminToken, wholeHeader);
  }
}
