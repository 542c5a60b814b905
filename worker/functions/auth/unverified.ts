/**
 * Parses a token before anything in it is verified. The result serves to choose the provider, and to refuse forms that
 * no provider issues.
 */
import {ServiceError} from '../../../shared/errors.ts';
import {misplacedCredential} from '../../../shared/own-credential.ts';
import {NESTING_LEVELS_MAX} from '../../../shared/values/value-limits.ts';
import {TOKEN_CHARS_MAX, TOKEN_KEY_ID_CHARS_MAX} from '../limits.ts';
import {rejected, shown} from './rejected.ts';

export type Claims = Record<string, unknown>;
export type UnverifiedToken = {
  algorithm: string;
  keyId: string;
  issuer: string;
  /** As in the token: a string, an array of strings, or undefined. */
  audience: unknown;
};

/** A key inside a token does not prove who issued the token, and a URL in it would make us fetch for the sender. */
const SELF_MADE_KEYS = ['jwk', 'jku', 'x5u', 'x5c'];

/** The latest time that a Date can hold. A later `exp` would mean a token that never expires. */
const TIME_S_MAX = 8.64e12;

const NOT_A_JWT =
  'Could not parse JWT payload. Check that the token is a valid JWT format, consisting of three base64-encoded parts separated by dots';

/** The token may be one of the server's own, chosen by an operator, which has no recognisable form. */
const NO_PARTS = `${NOT_A_JWT}. The server's own tokens and keys belong in X-Svc-Admin-Token`;

/** @throws ServiceError auth.unauthorized */
export function readUnverified(token: string): UnverifiedToken {
  if (token.length > TOKEN_CHARS_MAX) {
    throw rejected('InvalidAuthHeader', `The token is longer than ${TOKEN_CHARS_MAX} characters`);
  }
  const misplaced = misplacedCredential(token);
  if (misplaced !== null) throw rejected('InvalidAuthHeader', misplaced);
  const parts = token.split('.');
  // An unsigned token has an empty third part; an encrypted one has five.
  if (parts.length !== 3 || !parts.every(part => /^[A-Za-z0-9_-]+$/.test(part))) {
    throw rejected('InvalidAuthHeader', parts.length === 1 ? NO_PARTS : NOT_A_JWT);
  }
  const header = parsePart(parts[0]!);
  const claims = parsePart(parts[1]!);
  const {iss, sub, exp, aud} = claims;
  if (typeof iss !== 'string' || iss === '')
    throw rejected('InvalidAuthHeader', 'The token has no issuer (`iss`) claim');
  if (typeof sub !== 'string' || sub === '')
    throw rejected('InvalidAuthHeader', 'The token has no subject (`sub`) claim');
  if (typeof exp !== 'number' || !Number.isFinite(exp))
    throw rejected('InvalidAuthHeader', 'The token has no expiration (`exp`) claim');
  if (Math.abs(exp) > TIME_S_MAX)
    throw rejected('InvalidAuthHeader', 'The expiration of the token (`exp`) is no time: it is in seconds since 1970');
  return {...checkHeader(header), issuer: iss, audience: aud};
}

/** What a token says, verified or not. Null: nothing that can be read. */
export function decoded(token: string): {header: Claims | null; claims: Claims | null} {
  const [header = '', claims = ''] = token.length > TOKEN_CHARS_MAX ? [] : token.split('.');
  return {header: parsedOrNull(header), claims: parsedOrNull(claims)};
}

function parsedOrNull(part: string): Claims | null {
  try {
    return parsePart(part);
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    return null;
  }
}

/** The user that a token claims to be, verified or not, as in identities: `iss|sub`. Null: it names none. */
export function claimedUser(token: string): string | null {
  const {iss, sub} = parsedOrNull(token.split('.')[1] ?? '') ?? {};
  return typeof iss === 'string' && typeof sub === 'string' ? `${iss}|${sub}` : null;
}

function checkHeader(header: Claims): {algorithm: string; keyId: string} {
  const {alg, kid} = header;
  const selfMade = SELF_MADE_KEYS.find(name => Object.hasOwn(header, name));
  if (selfMade !== undefined) {
    throw rejected('InvalidAuthHeader', `Could not decode token: its header brings a key of its own (\`${selfMade}\`)`);
  }
  if (Object.hasOwn(header, 'crit')) {
    throw rejected('InvalidAuthHeader', 'Could not decode token: its header asks for extensions (`crit`)');
  }
  if (typeof alg !== 'string') throw rejected('InvalidAuthHeader', 'Could not decode token: its header has no `alg`');
  if (typeof kid !== 'string' || kid === '') {
    throw rejected('InvalidAuthHeader', 'Could not decode token: its header has no key id (`kid`)');
  }
  if (kid.length > TOKEN_KEY_ID_CHARS_MAX) {
    throw rejected('InvalidAuthHeader', `Could not decode token: its key id ${shown(kid)} is too long`);
  }
  return {algorithm: alg, keyId: kid};
}

function parsePart(part: string): Claims {
  try {
    const text = new TextDecoder('utf-8', {fatal: true}).decode(Buffer.from(part, 'base64url'));
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && isShallow(value, NESTING_LEVELS_MAX)) {
      return value as Claims;
    }
  } catch {
    // The error below covers every malformed form.
  }
  throw rejected('InvalidAuthHeader', NOT_A_JWT);
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every(inner => isShallow(inner, levels - 1));
}
