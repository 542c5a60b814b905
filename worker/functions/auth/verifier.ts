/**
 * Decides whether a bearer token belongs to a user of this tenant, by the auth providers of its active deployment. A
 * tenant has one verifier, chosen before the token is parsed. A new deployment brings a new verifier, so a token that
 * only an older configuration accepted is rejected at once. jose is loaded with the first token.
 */
import {assert} from '../../../shared/assert.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {AuthProviderView, TokenExamination} from '../../../shared/protocol/auth.ts';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import type {TokenCheckName} from '../../../shared/token-checks.ts';
import {IDENTITY_CHARS_MAX, TOKEN_CLOCK_TOLERANCE_MS} from '../limits.ts';
import {parseBearer} from './bearer.ts';
import {checksShown, ofSameIssuer, providerView} from './examination.ts';
import {identityOf} from './identity.ts';
import {type Fetch, fetchKeySet} from './key-documents.ts';
import {algorithmsOf, isSameIssuer, issuerOf, providerFor} from './provider.ts';
import {ProviderKeys} from './provider-keys.ts';
import {rejected, shown} from './rejected.ts';
import {type Claims, decoded, readUnverified, type UnverifiedToken} from './unverified.ts';
import {type VerifiedToken, VerifiedTokens} from './verified-tokens.ts';

export type VerifierOptions = {
  /** `egressFetch` under the tenant's policy. */
  fetch: Fetch;
  /** Epoch milliseconds. */
  clock: () => number;
  /** For an unknown issuer, list the configured providers in the error. */
  listProviders?: boolean;
};

export class Verifier {
  readonly #providers: readonly AuthProvider[];
  readonly #options: VerifierOptions;
  readonly #keys = new Map<AuthProvider, ProviderKeys>();
  readonly #verified: VerifiedTokens;
  readonly #closed = new AbortController();

  private constructor(providers: readonly AuthProvider[], options: VerifierOptions) {
    this.#providers = providers;
    this.#options = options;
    this.#verified = new VerifiedTokens(options.clock);
    for (const provider of providers) {
      const fetchKeys = () => fetchKeySet(provider, options.fetch, this.#closed.signal);
      this.#keys.set(provider, new ProviderKeys(fetchKeys, options.clock));
    }
  }

  /** Without providers every token is refused, and only anonymous callers are served. */
  static of(providers: readonly AuthProvider[], options: VerifierOptions): Verifier {
    return new Verifier(providers, options);
  }

  /** Aborts fetches under way. Tokens that need them are then refused. */
  close(): void {
    this.#closed.abort();
  }

  /**
   * The sender of a request with this `Authorization` header; null: anonymous.
   * @throws ServiceError auth.unauthorized
   */
  async verifyHeader(authorization: string | null | undefined): Promise<VerifiedToken | null> {
    const bearer = parseBearer(authorization);
    return bearer === null ? null : this.verify(bearer.token);
  }

  /** @throws ServiceError auth.unauthorized with `detail.reason` */
  async verify(token: string): Promise<VerifiedToken> {
    const known = this.#verified.get(token);
    if (known !== null) return known;
    const verified = await this.#checked(token, {check: 'form'});
    this.#verified.add(token, verified);
    return verified;
  }

  /** The configured providers, in the order in which they are tried. */
  get providers(): AuthProviderView[] {
    return this.#providers.map(providerView);
  }

  /** Runs the checks of `verify`, and reports each of them. Nothing of the token stays. */
  async examine(text: string): Promise<TokenExamination> {
    const token = text.trim().replace(/^bearer +/i, '');
    const progress: Progress = {check: 'form'};
    const {identity, failed} = await this.#checked(token, progress).then(
      verified => ({identity: verified.identity, failed: null}),
      (error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
        return {identity: null, failed: {check: progress.check, error}};
      },
    );
    const {header, claims} = decoded(token);
    const keyIds = ofSameIssuer(this.#providers, claims).flatMap(provider => this.#keys.get(provider)!.ids);
    const examined = {providers: this.#providers, header, claims, failed, keyIds, nowMs: this.#options.clock()};
    return {is_valid: failed === null, checks: checksShown(examined), header, claims, identity};
  }

  /** @param progress names the check that is next: of a token that is refused, the one that failed */
  async #checked(token: string, progress: Progress): Promise<VerifiedToken> {
    const unverified = readUnverified(token);
    progress.check = 'issuer';
    const provider = providerFor(this.#providers, unverified);
    if (provider === null) {
      const isKnown = this.#providers.some(each => isSameIssuer(issuerOf(each), unverified.issuer));
      if (isKnown) progress.check = 'audience';
      throw rejected('NoAuthProvider', this.#noProviderMessage(unverified));
    }
    const claims = await this.#check(token, unverified, provider, progress);
    assert(claims.iss === unverified.issuer, 'what the provider was chosen by is what was verified');
    const expMs = Math.min(claims.exp * 1000 + TOKEN_CLOCK_TOLERANCE_MS, Number.MAX_SAFE_INTEGER);
    progress.check = 'size';
    const identity = identityOf(provider, claims);
    if (JSON.stringify(identity).length > IDENTITY_CHARS_MAX) {
      throw rejected('InvalidAuthHeader', `The token's claims are longer than ${IDENTITY_CHARS_MAX} characters`);
    }
    return {identity, expMs};
  }

  async #check(
    token: string,
    unverified: UnverifiedToken,
    provider: AuthProvider,
    progress: Progress,
  ): Promise<CheckedClaims> {
    progress.check = 'algorithm';
    const algorithms = algorithmsOf(provider);
    // Checked before any key is fetched for the token.
    if (!algorithms.includes(unverified.algorithm)) {
      throw rejected(
        'InvalidAuthHeader',
        `Could not decode token: its algorithm is ${shown(unverified.algorithm)}; ${issuerOf(provider)} may use ${algorithms.join(', ')}`,
      );
    }
    progress.check = 'keys';
    const keys = await this.#keys.get(provider)!.keysFor(unverified.keyId);
    const {errors, jwtVerify} = await import('jose');
    const now = this.#options.clock();
    try {
      const {payload} = await jwtVerify(token, keys, {
        algorithms,
        requiredClaims: ['iss', 'sub', 'exp'],
        clockTolerance: TOKEN_CLOCK_TOLERANCE_MS / 1000,
        currentDate: new Date(now),
      });
      progress.check = 'issued_at';
      checkIssuedAt(payload, now);
      return payload as CheckedClaims;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      progress.check = failedCheck(errors, error);
      throw explained(errors, error, unverified.keyId, now);
    }
  }

  #noProviderMessage(token: UnverifiedToken): string {
    const message = 'No auth provider found matching the given token';
    if (this.#options.listProviders !== true) return message;
    if (this.#providers.length === 0) return `${message}: none are configured in auth.config`;
    const listed = this.#providers.map(provider => `${issuerOf(provider)} (applicationID ${provider.applicationID})`);
    return `${message}: its issuer is ${shown(token.issuer)}; configured are ${listed.join(', ')}`;
  }
}

type Progress = {check: TokenCheckName};
type CheckedClaims = Claims & {iss: string; sub: string; exp: number};

/** jose checks `iat` only to limit a token's age. */
function checkIssuedAt({iat}: Claims, nowMs: number): void {
  if (iat === undefined) return;
  if (typeof iat !== 'number') throw rejected('InvalidAuthHeader', 'Could not decode token: `iat` must be a number');
  if (iat * 1000 > nowMs + TOKEN_CLOCK_TOLERANCE_MS) {
    throw rejected('InvalidAuthHeader', 'Could not decode token: it was issued in the future (`iat`)');
  }
}

/** jose looks for the key, then checks the signature, then the times. */
function failedCheck(errors: typeof import('jose')['errors'], error: unknown): TokenCheckName {
  if (error instanceof errors.JWTExpired) return 'expiry';
  if (error instanceof errors.JWTClaimValidationFailed) return error.claim === 'exp' ? 'expiry' : 'not_before';
  return error instanceof errors.JWKSNoMatchingKey ? 'key' : 'signature';
}

/** Translates jose's errors into the contract's. Any error from jose means that the token is not valid. */
function explained(
  errors: typeof import('jose')['errors'],
  error: unknown,
  keyId: string,
  nowMs: number,
): ServiceError {
  if (error instanceof errors.JWTExpired) {
    const seconds = Math.floor(nowMs / 1000) - Number(error.payload.exp);
    return rejected('InvalidAuthHeader', `Token expired ${seconds} seconds ago`, {cause: error});
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return rejected('InvalidAuthHeader', `Could not decode token: ${error.message}`, {cause: error});
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return rejected(
      'InvalidAuthHeader',
      `Could not decode token: the provider has no usable key ${shown(keyId)} (\`kid\`)`,
      {cause: error},
    );
  }
  return rejected(
    'InvalidAuthHeader',
    `Could not decode token: its signature was not made with the key ${shown(keyId)} (\`kid\`)`,
    {cause: error},
  );
}
