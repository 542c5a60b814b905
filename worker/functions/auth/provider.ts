/**
 * Chooses the provider of a tenant that a token belongs to. The first provider with a matching issuer and audience
 * decides; a signature that it rejects is not tried with the next provider.
 */
import {issuerUrl} from '../../../shared/issuer-url.ts';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import type {UnverifiedToken} from './unverified.ts';

/** Never `none` and never HS*: a public key must not be usable as a shared secret. */
const OIDC_ALGORITHMS = ['RS256', 'ES256', 'PS256', 'EdDSA'];

export function issuerOf(provider: AuthProvider): string {
  return provider.type === 'oidc' ? provider.domain : provider.issuer;
}

export function algorithmsOf(provider: AuthProvider): string[] {
  return provider.type === 'oidc' ? OIDC_ALGORITHMS : [provider.algorithm];
}

export function providerFor(
  providers: readonly AuthProvider[],
  token: Pick<UnverifiedToken, 'issuer' | 'audience'>,
): AuthProvider | null {
  return (
    providers.find(
      provider => isSameIssuer(issuerOf(provider), token.issuer) && acceptsAudience(provider, token.audience),
    ) ?? null
  );
}

/**
 * `https://` may be missing, and one trailing `/` is allowed. No other normalisation: no case folding, no URL parsing.
 */
export function isSameIssuer(a: string, b: string): boolean {
  return issuerUrl(a) === issuerUrl(b);
}

function acceptsAudience(provider: AuthProvider, audience: unknown): boolean {
  const wanted = provider.applicationID;
  if (wanted === null) return true;
  const list: unknown[] = Array.isArray(audience) ? audience : [audience];
  // A token with several audiences could have been taken from any of those applications.
  if (provider.type === 'oidc' && list.length !== 1) return false;
  return list.includes(wanted);
}
