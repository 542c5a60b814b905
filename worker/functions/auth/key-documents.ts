/**
 * Fetches a provider's keys: from the metadata of an OIDC issuer and the key set it names, from the key set of a custom
 * provider, or from a `data:` URI. All fetches go through the tenant's egress policy and are bounded; nothing is cached
 * here.
 */
import type {JSONWebKeySet, JWK} from 'jose';
import {EgressRefused} from '../../../shared/egress/refused.ts';
import {issuerUrl} from '../../../shared/issuer-url.ts';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import type {EgressRequest, EgressResponse} from '../../runtime/egress/fetch.ts';
import {AUTH_DOCUMENT_BYTES_MAX, AUTH_FETCH_TIMEOUT_MS, AUTH_KEYS_MAX} from '../limits.ts';
import {isSameIssuer, issuerOf} from './provider.ts';
import {rejected, shown, unavailable} from './rejected.ts';

export type Fetch = (request: EgressRequest) => Promise<EgressResponse>;

const KEY_SET_TYPES = ['application/json', 'application/jwk-set+json'];

/** The provider's response is wrong, or the egress policy blocks it: a retry would not help. */
class Misconfigured extends Error {}

/**
 * Returns the provider's current keys.
 * @throws ServiceError session.auth_unavailable; auth.unauthorized when the provider cannot work as configured
 */
export async function fetchKeySet(provider: AuthProvider, fetch: Fetch, signal: AbortSignal): Promise<JSONWebKeySet> {
  const issuer = issuerOf(provider);
  try {
    if (provider.type === 'oidc') {
      const url = await discoverKeySetUrl(provider.domain, fetch, signal);
      return keySet(parseJson((await get(url, fetch, signal)).text, url), url);
    }
    if (provider.jwks.startsWith('data:'))
      return keySet(parseJson(dataUriText(provider.jwks), 'data: URI'), 'data: URI');
    const {text, type} = await get(provider.jwks, fetch, signal);
    if (!KEY_SET_TYPES.includes(type)) {
      throw new Misconfigured(
        `${provider.jwks} has the content type ${shown(type)}; it must be ${KEY_SET_TYPES.join(' or ')}`,
      );
    }
    return keySet(parseJson(text, provider.jwks), provider.jwks);
  } catch (error) {
    const message = `Auth provider discovery of ${issuer} failed: ${error instanceof Error ? error.message : String(error)}`;
    const isLasting = error instanceof Misconfigured || error instanceof EgressRefused;
    throw isLasting
      ? rejected('AuthProviderDiscoveryFailed', message, {cause: error})
      : unavailable(message, {cause: error});
  }
}

async function discoverKeySetUrl(domain: string, fetch: Fetch, signal: AbortSignal): Promise<string> {
  const url = `${issuerUrl(domain)}/.well-known/openid-configuration`;
  const metadata = parseJson((await get(url, fetch, signal)).text, url);
  const {issuer, jwks_uri: keysUrl} = metadata;
  if (typeof issuer !== 'string' || !isSameIssuer(issuer, domain)) {
    throw new Misconfigured(`${url} speaks for the issuer ${shown(String(issuer))}`);
  }
  if (typeof keysUrl !== 'string' || !/^https?:\/\//.test(keysUrl))
    throw new Misconfigured(`${url} names no \`jwks_uri\``);
  if (url.startsWith('https:') && !keysUrl.startsWith('https:')) {
    throw new Misconfigured(`${url} names a \`jwks_uri\` without https: ${shown(keysUrl)}`);
  }
  return keysUrl;
}

async function get(url: string, fetch: Fetch, signal: AbortSignal): Promise<{text: string; type: string}> {
  const response = await fetch({
    method: 'GET',
    url,
    headers: [['accept', 'application/json, application/jwk-set+json']],
    body: null,
    // A redirect target could hand out keys in the provider's name.
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(AUTH_FETCH_TIMEOUT_MS)]),
    bodyBytesMax: AUTH_DOCUMENT_BYTES_MAX,
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  if (response.status !== 200)
    throw new (isPassing(response.status) ? Error : Misconfigured)(`${url} answered ${response.status}`);
  const type = response.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  return {text: Buffer.concat(chunks).toString(), type: type.split(';')[0]!.trim().toLowerCase()};
}

function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

function dataUriText(uri: string): string {
  const comma = uri.indexOf(',');
  if (comma === -1) throw new Misconfigured('the data: URI of `jwks` has no comma');
  const text = decodeURIComponent(uri.slice(comma + 1));
  return /;\s*base64$/i.test(uri.slice(0, comma)) ? Buffer.from(text, 'base64').toString() : text;
}

function parseJson(text: string, from: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Misconfigured(`${from} is not JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Misconfigured(`${from} is not a JSON object`);
  return value as Record<string, unknown>;
}

function keySet({keys}: Record<string, unknown>, from: string): JSONWebKeySet {
  if (!Array.isArray(keys)) throw new Misconfigured(`${from} is not a key set: it has no \`keys\``);
  if (keys.length > AUTH_KEYS_MAX) throw new Misconfigured(`${from} holds more than ${AUTH_KEYS_MAX} keys`);
  // Keys of unknown types do not make the other keys unusable.
  const usable = keys.filter(
    key => typeof key === 'object' && key !== null && typeof key.kty === 'string' && !isTrivial(key as JWK),
  );
  return {keys: usable as JWK[]};
}

/**
 * With an RSA exponent of 1 every text is its own signature; an even exponent has no private key. Such keys are always
 * a mistake.
 */
function isTrivial({kty, e}: JWK): boolean {
  if (kty !== 'RSA') return false;
  const exponent = Buffer.from(typeof e === 'string' ? e : '', 'base64url');
  const isOdd = (exponent.at(-1) ?? 0) % 2 === 1;
  const isOne = exponent.at(-1) === 1 && exponent.subarray(0, -1).every(byte => byte === 0);
  return !isOdd || isOne;
}
