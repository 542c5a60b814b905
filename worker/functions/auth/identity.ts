/**
 * The identity that functions get from a verified token. Claims that differ between two tokens of one sign-in are left
 * out, so that a refreshed token yields an equal identity and live queries need not run again. No claim can replace the
 * fields that identify the user.
 */
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import type {Claims} from './unverified.ts';

/** Plain JSON. `tokenIdentifier` is `iss|sub`: stable, and unique among all providers. */
export type Identity = {tokenIdentifier: string; subject: string; issuer: string; [claim: string]: unknown};

/**
 * Claims that differ in every token of a sign-in (`nonce` is only in the first), or that `issuer` and `subject` already
 * contain.
 */
const LEFT_OUT = new Set(['iss', 'sub', 'exp', 'nbf', 'iat', 'jti', 'fva', 'nonce', 'at_hash', 'c_hash']);

/** Standard claims and their field names in identities; other claims keep their names. */
const STANDARD_CLAIMS: [claim: string, field: string][] = [
  ['name', 'name'],
  ['given_name', 'givenName'],
  ['family_name', 'familyName'],
  ['nickname', 'nickname'],
  ['preferred_username', 'preferredUsername'],
  ['profile', 'profileUrl'],
  ['picture', 'pictureUrl'],
  ['website', 'websiteUrl'],
  ['email', 'email'],
  ['email_verified', 'emailVerified'],
  ['phone_number', 'phoneNumber'],
  ['phone_number_verified', 'phoneNumberVerified'],
  ['gender', 'gender'],
  ['birthdate', 'birthday'],
  ['zoneinfo', 'timezone'],
  ['locale', 'language'],
  ['address', 'address'],
  ['updated_at', 'updatedAt'],
];
const FIELD_OF = new Map(STANDARD_CLAIMS);
/** A claim with one of these names would pass for a standard one. */
const FIELDS = new Set(STANDARD_CLAIMS.map(([, field]) => field));

/** `claims` were verified: `iss` and `sub` are non-empty strings. */
export function identityOf(provider: AuthProvider, claims: Claims & {iss: string; sub: string}): Identity {
  const found: [string, unknown][] = Object.entries(claims).filter(([claim]) => !LEFT_OUT.has(claim));
  const fields = provider.type === 'oidc' ? found.flatMap(standardField) : found.flatMap(flattened);
  return {
    // fromEntries would define `__proto__` as an own field, and code that copies the object would then set its
    // prototype.
    ...Object.fromEntries(fields.filter(([field]) => field !== '__proto__')),
    tokenIdentifier: `${claims.iss}|${claims.sub}`,
    subject: claims.sub,
    issuer: claims.iss,
  };
}

function standardField([claim, value]: [string, unknown]): [string, unknown][] {
  if (claim === 'address') return addressField(value);
  if (claim === 'updated_at') return updatedAtField(value);
  const field = FIELD_OF.get(claim);
  if (field !== undefined) return [[field, claim.endsWith('_verified') ? asBoolean(value) : value]];
  return FIELDS.has(claim) ? [] : [[claim, value]];
}

/** An OIDC address is an object; identities have only its formatted text. */
function addressField(value: unknown): [string, unknown][] {
  const formatted = typeof value === 'object' && value !== null ? (value as Claims).formatted : value;
  return typeof formatted === 'string' ? [['address', formatted]] : [];
}

/** Seconds in the standard, text from some providers; always text in identities. */
function updatedAtField(value: unknown): [string, unknown][] {
  if (typeof value === 'string') return [['updatedAt', value]];
  if (typeof value !== 'number' || Number.isNaN(new Date(value * 1000).getTime())) return [];
  return [['updatedAt', new Date(value * 1000).toISOString()]];
}

/** Some providers write `"false"`, which is true in an `if`. */
function asBoolean(value: unknown): unknown {
  if (value === 'true') return true;
  return value === 'false' ? false : value;
}

/** Turns `{properties: {id: 1}}` into `properties.id`. Arrays stay arrays; empty objects are dropped. */
function flattened([key, value]: [string, unknown]): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[key, value]];
  return Object.entries(value).flatMap(([inner, innerValue]) => flattened([`${key}.${inner}`, innerValue]));
}
