/** How the checks of a token went, for people: what each found, and what would be right for the one that failed. */
import type {ServiceError} from '../../../shared/errors.ts';
import {issuerUrl} from '../../../shared/issuer-url.ts';
import type {AuthProviderView, TokenCheck} from '../../../shared/protocol/auth.ts';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import {TOKEN_CHECKS, type TokenCheckName} from '../../../shared/token-checks.ts';
import {algorithmsOf, isSameIssuer, issuerOf} from './provider.ts';
import {shown} from './rejected.ts';
import type {Claims} from './unverified.ts';

export type Examined = {
  providers: readonly AuthProvider[];
  /** Of the token, verified or not. */
  header: Claims | null;
  claims: Claims | null;
  /** Null: all checks passed. */
  failed: {check: TokenCheckName; error: ServiceError} | null;
  /** Ids of the keys that the providers of this issuer have. */
  keyIds: readonly unknown[];
  nowMs: number;
};

export function providerView(provider: AuthProvider): AuthProviderView {
  const {type, applicationID} = provider;
  const jwks = type === 'oidc' ? `${issuerUrl(provider.domain)}/.well-known/openid-configuration` : provider.jwks;
  return {type, issuer: issuerOf(provider), application_id: applicationID, jwks, algorithms: algorithmsOf(provider)};
}

/** @param claims not verified: `iss` can be anything */
export function ofSameIssuer(providers: readonly AuthProvider[], claims: Claims | null): AuthProvider[] {
  const iss = claims?.iss;
  return typeof iss === 'string' ? providers.filter(provider => isSameIssuer(issuerOf(provider), iss)) : [];
}

export function checksShown(examined: Examined): TokenCheck[] {
  const failedAt = examined.failed === null ? TOKEN_CHECKS.length : TOKEN_CHECKS.indexOf(examined.failed.check);
  return TOKEN_CHECKS.map((check, at) => {
    if (at > failedAt) return {check, outcome: 'skipped', text: '', to_do: null};
    if (at < failedAt) return {check, outcome: 'passed', text: foundBy(check, examined), to_do: null};
    const text = foundBy(check, examined);
    return {
      check,
      outcome: 'failed',
      text: failureText(check, text, examined.failed!.error),
      to_do: toDo(check, examined),
    };
  });
}

function failureText(check: TokenCheckName, found: string, {message}: ServiceError): string {
  if (check === 'issuer') return `No auth provider has the issuer ${found}`;
  if (check === 'audience') return `The provider does not accept the audience ${found}`;
  return found === '' ? message : `${message} (${found})`;
}

function foundBy(check: TokenCheckName, {header, claims, keyIds}: Examined): string {
  switch (check) {
    case 'issuer':
      return textOf(claims?.iss);
    case 'audience':
      return claims?.aud === undefined ? 'none' : textOf(claims.aud);
    case 'algorithm':
      return textOf(header?.alg);
    case 'keys':
      return keyIds.length === 0 ? '' : `${keyIds.length} found`;
    case 'key':
      return textOf(header?.kid);
    case 'not_before':
      return timeOf(claims?.nbf);
    case 'expiry':
      return timeOf(claims?.exp);
    case 'issued_at':
      return timeOf(claims?.iat);
    case 'form':
    case 'signature':
    case 'size':
      return '';
  }
}

function toDo(check: TokenCheckName, {providers, claims, keyIds, nowMs}: Examined): string {
  const ofIssuer = ofSameIssuer(providers, claims);
  const clocks = `Compare the clock of the provider with the one of this server, where it is ${new Date(nowMs).toISOString()}.`;
  switch (check) {
    case 'form':
      return 'Use a signed JWT as the provider issues it: three parts, a header with alg and kid, claims with iss, sub and exp.';
    case 'issuer':
      return providers.length === 0
        ? 'No provider is configured: list yours in svc/auth.config.ts, and deploy.'
        : `Configured are ${listed(providers.map(issuerOf))}. Use a token of one of them, or add the provider to svc/auth.config.ts and deploy.`;
    case 'audience':
      return `The provider is configured for ${listed(ofIssuer.map(({applicationID}) => applicationID ?? 'any'))}. Request the token for that application, or change applicationID in svc/auth.config.ts and deploy. A token of an OIDC provider has one audience only.`;
    case 'algorithm':
      return `Let the provider sign with ${listed(ofIssuer.flatMap(algorithmsOf))}.`;
    case 'keys':
      return 'Check that this address answers with keys, and that the egress policy of the tenant allows its host.';
    case 'key':
      return `The provider has the keys ${listed(keyIds.map(plain))}. Use a new token: this one is from before a change of keys, or from another server.`;
    case 'signature':
      return 'Use the token as the provider issued it: it was changed since, or another server signed it.';
    case 'expiry':
      return 'Use a new token.';
    case 'not_before':
    case 'issued_at':
      return clocks;
    case 'size':
      return 'Let the provider put fewer claims into its tokens.';
  }
}

function listed(texts: readonly string[]): string {
  return texts.length === 0 ? 'none' : texts.map(shown).join(', ');
}

function textOf(claim: unknown): string {
  return claim === undefined ? '' : shown(plain(claim)).replace(/^"|"$/g, '');
}

/** Of outside JSON: `String` would call an object's own `toString`, which may be no function. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function timeOf(seconds: unknown): string {
  const date = new Date(typeof seconds === 'number' ? seconds * 1_000 : Number.NaN);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
