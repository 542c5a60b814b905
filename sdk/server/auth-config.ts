/** The default export of `svc/auth.config.ts`: whose tokens a deployment accepts. */

export type AuthConfig = {providers: AuthProvider[]};

export type AuthProvider =
  /** OpenID Connect: keys are discovered at the issuer. */
  | {
      /** The issuer. */
      domain: string;
      /** What the token's audience must be. */
      applicationID: string;
    }
  /** Any issuer of signed tokens. */
  | {
      type: 'customJwt';
      issuer: string;
      /** Where its keys are: a URL, or a `data:` URI that holds them. */
      jwks: string;
      algorithm: 'RS256' | 'ES256';
      /** Absent: any audience. */
      applicationID?: string;
    };
