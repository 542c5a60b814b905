import type {JWTPayload} from 'jose';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import {Verifier} from '../../../worker/functions/auth/verifier.ts';
import {egressFetch} from '../../../worker/runtime/egress/fetch.ts';
import {TestEgress} from '../../harness/egress.ts';
import {IdentityProvider} from './identity-provider.ts';
import {rejectionOf} from './rejections.ts';

const NOW_S = 1_800_000_000;
const network = new TestEgress();
const egress = network.under({allow: ['127.0.0.1'], deny: []});
let nowMs = NOW_S * 1000;
let oidc: IdentityProvider;
let custom: IdentityProvider;

beforeAll(async () => {
  oidc = await IdentityProvider.start('RS256');
  custom = await IdentityProvider.start('ES256');
});
afterAll(async () => {
  await Promise.all([network.close(), oidc.stop(), custom.stop()]);
});

function verifierOf(providers: AuthProvider[], listProviders = false): Verifier {
  nowMs = NOW_S * 1000;
  return Verifier.of(providers, {fetch: request => egressFetch(egress, request), clock: () => nowMs, listProviders});
}
const oidcProvider = (applicationID = 'app'): AuthProvider => ({type: 'oidc', domain: oidc.issuer, applicationID});
const customProvider = (applicationID: string | null = 'app'): AuthProvider => ({
  type: 'customJwt',
  issuer: custom.issuer,
  jwks: `${custom.issuer}/jwks`,
  algorithm: 'ES256',
  applicationID,
});

/** The claims of a good token of `provider`, with changes. */
function claimsOf(provider: IdentityProvider, changes: Record<string, unknown> = {}): JWTPayload {
  const good = {iss: provider.issuer, sub: 'user-1', aud: 'app', iat: NOW_S - 10, exp: NOW_S + 600};
  return {...good, ...changes} as JWTPayload;
}

describe('the checks of a token', () => {
  const CASES: [title: string, changes: Record<string, unknown>, header: Record<string, unknown>, answer: string][] = [
    ['valid', {}, {}, 'accepted'],
    ['valid for an audience list of one', {aud: ['app']}, {}, 'accepted'],
    ['without iat', {iat: undefined}, {}, 'accepted'],
    ['expired by 10 s', {exp: NOW_S - 10}, {}, 'InvalidAuthHeader: Token expired 10 seconds ago'],
    [
      'that ends at a time that is none',
      {exp: 1e300},
      {},
      'InvalidAuthHeader: The expiration of the token (`exp`) is no time: it is in seconds since 1970',
    ],
    ['that ends at the last time there is', {exp: 8.64e12}, {}, 'accepted'],
    ['expired by 4 s, within the tolerance', {exp: NOW_S - 4}, {}, 'accepted'],
    ['expired by 5 s, beyond the tolerance', {exp: NOW_S - 5}, {}, 'InvalidAuthHeader: Token expired 5 seconds ago'],
    ['issued 3 s ahead', {iat: NOW_S + 3}, {}, 'accepted'],
    [
      'issued 6 s ahead',
      {iat: NOW_S + 6},
      {},
      'InvalidAuthHeader: Could not decode token: it was issued in the future (`iat`)',
    ],
    ['valid from 5 s ahead on', {nbf: NOW_S + 5}, {}, 'accepted'],
    [
      'valid from 6 s ahead on',
      {nbf: NOW_S + 6},
      {},
      'InvalidAuthHeader: Could not decode token: "nbf" claim timestamp check failed',
    ],
    ['wrong aud', {aud: 'other'}, {}, 'NoAuthProvider: No auth provider found matching the given token'],
    ['missing aud', {aud: undefined}, {}, 'NoAuthProvider: No auth provider found matching the given token'],
    [
      'unknown issuer',
      {iss: 'https://other.example'},
      {},
      'NoAuthProvider: No auth provider found matching the given token',
    ],
    ['missing issuer', {iss: undefined}, {}, 'InvalidAuthHeader: The token has no issuer (`iss`) claim'],
    ['missing exp', {exp: undefined}, {}, 'InvalidAuthHeader: The token has no expiration (`exp`) claim'],
    [
      'missing kid',
      {},
      {kid: undefined},
      'InvalidAuthHeader: Could not decode token: its header has no key id (`kid`)',
    ],
    [
      'unknown kid',
      {},
      {kid: 'other'},
      'InvalidAuthHeader: Could not decode token: the provider has no usable key "other" (`kid`)',
    ],
    ['another typ', {}, {typ: 'at+jwt'}, 'accepted'],
  ];
  test.each(CASES)('[53] OIDC, %s', async (_title, changes, header, answer) => {
    const verifier = verifierOf([oidcProvider()]);
    expect(await rejectionOf(verifier.verify(await oidc.token(claimsOf(oidc, changes), header)))).toBe(answer);
  });
  test.each(CASES)('[53] custom JWT, %s', async (_title, changes, header, answer) => {
    const verifier = verifierOf([customProvider()]);
    expect(await rejectionOf(verifier.verify(await custom.token(claimsOf(custom, changes), header)))).toBe(answer);
  });

  test('[53] a tenant without a verifier refuses every token', async () => {
    const token = await oidc.token(claimsOf(oidc));
    expect(await rejectionOf(verifierOf([]).verify(token))).toMatch(/^NoAuthProvider/);
    expect(await rejectionOf(verifierOf([], true).verify(token))).toContain('none are configured in auth.config');
  });

  test('in development the configured providers are named', async () => {
    const verifier = verifierOf([oidcProvider('mine')], true);
    expect(await rejectionOf(verifier.verify(await oidc.token(claimsOf(oidc))))).toContain(
      `configured are ${oidc.issuer} (applicationID mine)`,
    );
  });

  test('multi-audience tokens are rejected by OIDC providers and accepted by custom ones', async () => {
    const aud = ['app', 'other'];
    const byOidc = verifierOf([oidcProvider()]).verify(await oidc.token(claimsOf(oidc, {aud})));
    expect(await rejectionOf(byOidc)).toMatch(/^NoAuthProvider/);
    const byCustom = verifierOf([customProvider()]).verify(await custom.token(claimsOf(custom, {aud})));
    expect(await rejectionOf(byCustom)).toBe('accepted');
  });

  test.each(['other', undefined, ['x', 'y']])(
    'a custom provider without applicationID ignores the audience %j',
    async aud => {
      const verifier = verifierOf([customProvider(null)]);
      expect(await rejectionOf(verifier.verify(await custom.token(claimsOf(custom, {aud}))))).toBe('accepted');
    },
  );

  test('[54] a token accepted for tenant A is 401 for tenant B with its own verifier', async () => {
    const token = await oidc.token(claimsOf(oidc));
    const tenantA = verifierOf([oidcProvider()]);
    const tenantB = verifierOf([oidcProvider('app-b'), customProvider()]);
    expect((await tenantA.verify(token)).identity.tokenIdentifier).toBe(`${oidc.issuer}|user-1`);
    expect(await rejectionOf(tenantB.verify(token))).toMatch(/^NoAuthProvider/);
  });

  test('the first matching provider decides: a signature it refuses is not offered to the next', async () => {
    const impostor: AuthProvider = {
      type: 'customJwt',
      issuer: oidc.issuer,
      jwks: `${custom.issuer}/jwks`,
      algorithm: 'RS256',
      applicationID: 'app',
    };
    const token = await oidc.token(claimsOf(oidc));
    expect(await rejectionOf(verifierOf([impostor, oidcProvider()]).verify(token))).toMatch(/^InvalidAuthHeader/);
    expect(await rejectionOf(verifierOf([oidcProvider(), impostor]).verify(token))).toBe('accepted');
  });

  test('the second provider of an issuer is chosen by the audience', async () => {
    const verifier = verifierOf([oidcProvider('first'), oidcProvider('app')]);
    expect(await rejectionOf(verifier.verify(await oidc.token(claimsOf(oidc))))).toBe('accepted');
  });

  test('one trailing slash of the issuer is tolerated', async () => {
    const verifier = verifierOf([{type: 'oidc', domain: `${oidc.issuer}/`, applicationID: 'app'}]);
    expect((await verifier.verify(await oidc.token(claimsOf(oidc)))).identity.issuer).toBe(oidc.issuer);
  });
});

describe('the header', () => {
  test('none is anonymous', async () => {
    const verifier = verifierOf([oidcProvider()]);
    expect(await verifier.verifyHeader(undefined)).toBeNull();
    expect(await verifier.verifyHeader('')).toBeNull();
  });

  test.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('%s and a valid token is a user', async scheme => {
    const verified = await verifierOf([oidcProvider()]).verifyHeader(`${scheme} ${await oidc.token(claimsOf(oidc))}`);
    expect(verified?.identity.subject).toBe('user-1');
  });

  test.each(['Basic x', 'x', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearerx', 'Token Bearer x'])(
    '[52] %j is no bearer token',
    async header => {
      expect(await rejectionOf(verifierOf([oidcProvider()]).verifyHeader(header))).toBe(
        'InvalidAuthHeader: The Authorization header must begin with `Bearer ` and hold one token',
      );
    },
  );
});

describe('verified tokens', () => {
  test('are remembered until they expire, tolerance included', async () => {
    const verifier = verifierOf([oidcProvider()]);
    const token = await oidc.token(claimsOf(oidc, {exp: NOW_S + 60}));
    const verified = await verifier.verify(token);
    expect(verified.expMs).toBe((NOW_S + 65) * 1000);
    expect(await verifier.verify(token)).toBe(verified);
    nowMs = verified.expMs - 1;
    expect(await verifier.verify(token)).toBe(verified);
    nowMs = verified.expMs;
    expect(await rejectionOf(verifier.verify(token))).toBe('InvalidAuthHeader: Token expired 5 seconds ago');
  });

  test('are checked again after ten minutes, so a withdrawn key is not trusted for longer', async () => {
    const provider = await IdentityProvider.start('ES256');
    const verifier = verifierOf([{type: 'oidc', domain: provider.issuer, applicationID: 'app'}]);
    const token = await provider.token(claimsOf(provider, {exp: NOW_S + 86_400}));
    await verifier.verify(token);
    provider.serveKeys([]);
    nowMs += 10 * 60_000 - 1;
    expect(await rejectionOf(verifier.verify(token))).toBe('accepted');
    nowMs += 1;
    expect(await rejectionOf(verifier.verify(token))).toContain('no usable key "key-1"');
    await provider.stop();
  });

  test('one altered character makes another token', async () => {
    const verifier = verifierOf([oidcProvider()]);
    const token = await oidc.token(claimsOf(oidc));
    await verifier.verify(token);
    const [header, , signature] = token.split('.');
    const claims = Buffer.from(JSON.stringify(claimsOf(oidc, {sub: 'user-2'}))).toString('base64url');
    expect(await rejectionOf(verifier.verify(`${header}.${claims}.${signature}`))).toMatch(/^InvalidAuthHeader/);
  });
});
