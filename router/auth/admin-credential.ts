/**
 * The two admin credentials: `Authorization: Bearer <access token>` and `X-Svc-Admin-Token: <admin token>`. Either one
 * is sufficient. The router knows only their digests.
 */
import {bearerToken, Secret, wholeHeader} from './secret.ts';

/** A missing header is an empty string. */
export type RequestHeaders = {getHeader(name: string): string};

export class AdminCredential {
  readonly #access: Secret;
  readonly #admin: Secret;

  /** SHA-256 digests in hex. */
  constructor(accessTokenSha256: string, adminTokenSha256: string) {
    this.#access = new Secret(accessTokenSha256);
    this.#admin = new Secret(adminTokenSha256);
  }

  /** Whether the request shows either of the two. The second header is read only if the first is not sufficient. */
  accepts(request: RequestHeaders): boolean {
    if (this.acceptsAccessToken(request.getHeader('authorization'))) return true;
    return this.acceptsAdminToken(request.getHeader('x-svc-admin-token'));
  }

  acceptsAccessToken(authorization: string): boolean {
    return this.#access.isIn(authorization, bearerToken);
  }

  /** The header's value only, empty if missing: on deployment routes a bearer token is a tenant user's. */
  acceptsAdminToken(adminToken: string): boolean {
    return this.#admin.isIn(adminToken, wholeHeader);
  }
}
