/**
 * The type of the default export of `svc/auth.config.ts`, which lists the issuers whose tokens a deployment accepts.
 */

export type AuthConfig = {providers: AuthProvider[]};

export type AuthProvider =
  /** OpenID Connect: the keys are discovered at the issuer. */
  | {
      /** URL of the issuer. */
      domain: string;
      /** The required audience of the token. */
      applicationID: string;
    }
  /** Any issuer of signed tokens. */
  | {
      type: 'customJwt';
      issuer: string;
      /** The issuer's key set (JWKS): a URL, or a `data:` URI that contains it. */
      jwks: string;
      algorithm: 'RS256' | 'ES256';
      /** The required audience of the token. Default: any. */
      applicationID?: string;
    };
