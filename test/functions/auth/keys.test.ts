import type {JWTPayload} from 'jose';
import {afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test} from 'vitest';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import {Verifier} from '../../../worker/functions/auth/verifier.ts';
import {egressFetch} from '../../../worker/runtime/egress/fetch.ts';
import {TestEgress} from '../../harness/egress.ts';
import {IdentityProvider} from './identity-provider.ts';
import {rejectionOf} from './rejections.ts';

const START_MS = 1_800_000_000_000;
const DISCOVERY = '/.well-known/openid-configuration';
const network = new TestEgress();
afterAll(() => network.close());
const egress = network.under({allow: ['127.0.0.1'], deny: []});
let nowMs: number;
let idp: IdentityProvider;
let users = 0;

beforeEach(async () => {
  nowMs = START_MS;
  idp = await IdentityProvider.start('ES256');
});
afterEach(async () => {
  await idp.stop();
});

function verifierOf(provider: AuthProvider, under = egress): Verifier {
  return Verifier.of([provider], {fetch: request => egressFetch(under, request), clock: () => nowMs});
}
const oidc = (): AuthProvider => ({type: 'oidc', domain: idp.issuer, applicationID: 'app'});
const custom = (jwks = `${idp.issuer}/jwks`): AuthProvider => ({
  type: 'customJwt',
  issuer: idp.issuer,
  jwks,
  algorithm: 'ES256',
  applicationID: null,
});
/** A token that was never seen before. */
function freshToken(header: Record<string, unknown> = {}): Promise<string> {
  const claims: JWTPayload = {iss: idp.issuer, sub: `user-${users++}`, aud: 'app', exp: START_MS / 1000 + 1e6};
  return idp.token(claims, header);
}
const attempt = async (verifier: Verifier, header: Record<string, unknown> = {}) =>
  rejectionOf(verifier.verify(await freshToken(header)));

describe('keys of a provider', () => {
  test('are fetched once for tokens that come at the same time', async () => {
    const verifier = verifierOf(oidc());
    const tokens = await Promise.all(Array.from({length: 20}, () => freshToken()));
    await Promise.all(tokens.map(token => verifier.verify(token)));
    expect(idp.asked).toEqual([DISCOVERY, '/jwks']);
  });

  test('are kept for ten minutes', async () => {
    const verifier = verifierOf(custom());
    await attempt(verifier);
    nowMs += 10 * 60_000 - 1;
    await attempt(verifier);
    expect(idp.asked).toEqual(['/jwks']);
    nowMs += 1;
    await attempt(verifier);
    expect(idp.asked).toEqual(['/jwks', '/jwks']);
  });

  test('serve on for an hour while the provider is down', async () => {
    const verifier = verifierOf(custom());
    await attempt(verifier);
    idp.answers.set('/jwks', {status: 503, body: ''});
    nowMs += 60 * 60_000 - 1;
    expect(await attempt(verifier)).toBe('accepted');
    nowMs += 10_000;
    expect(await attempt(verifier)).toMatch(/^later: AuthProviderDiscoveryFailed: .* answered 503$/);
  });

  test('that are new are found when a token names them', async () => {
    const verifier = verifierOf(custom());
    await attempt(verifier);
    const key = await idp.publicJwk();
    idp.serveKeys([{...key, kid: 'key-2'}]);
    nowMs += 10_000;
    expect(await attempt(verifier, {kid: 'key-2'})).toBe('accepted');
    expect(await attempt(verifier, {kid: 'key-1'})).toMatch(/no usable key "key-1"/);
  });

  test('are not fetched more than once in ten seconds, whatever keys tokens name', async () => {
    const verifier = verifierOf(custom());
    for (let n = 0; n < 10; n++) expect(await attempt(verifier, {kid: `made-up-${n}`})).toMatch(/no usable key/);
    expect(idp.asked).toEqual(['/jwks']);
    nowMs += 10_000;
    for (let n = 0; n < 10; n++) await attempt(verifier, {kid: `made-up-${n}`});
    expect(idp.asked).toEqual(['/jwks', '/jwks']);
  });

  test('are asked for again ten seconds after a failure', async () => {
    const answer = idp.answers.get(DISCOVERY)!;
    idp.answers.set(DISCOVERY, {status: 500, body: ''});
    const verifier = verifierOf(oidc());
    expect(await attempt(verifier)).toBe(
      `later: AuthProviderDiscoveryFailed: Auth provider discovery of ${idp.issuer} failed: ${idp.issuer}${DISCOVERY} answered 500`,
    );
    idp.answers.set(DISCOVERY, answer);
    expect(await attempt(verifier)).toMatch(/^later: AuthProviderDiscoveryFailed/);
    nowMs += 10_000;
    expect(await attempt(verifier)).toBe('accepted');
  });

  test.each([
    ['an exponent of 1, with which every text is its own signature', 'AQ'],
    ['an exponent of 1, written longer', 'AAAB'],
    ['an even exponent', 'AQAA'],
    ['no exponent', ''],
  ])('of RSA with %s are not used', async (_title, e) => {
    const rsa = await IdentityProvider.start('RS256');
    onTestFinished(() => rsa.stop());
    const {issuer} = rsa;
    const provider: AuthProvider = {
      ...custom(`${issuer}/jwks`),
      type: 'customJwt',
      issuer,
      algorithm: 'RS256',
    } as never;
    const token = await rsa.token({iss: issuer, sub: 'u', aud: 'app', exp: START_MS / 1000 + 60});
    const key = {...(await rsa.publicJwk()), kid: 'key-1'};
    rsa.serveKeys([{...key, e}]);
    expect(await rejectionOf(verifierOf(provider).verify(token))).toMatch(/no usable key "key-1"/);
    rsa.serveKeys([key]);
    expect(await rejectionOf(verifierOf(provider).verify(token))).toBe('accepted');
  });

  test('of other kinds among them do no harm', async () => {
    const key = {...(await idp.publicJwk()), kid: 'key-1'};
    idp.answers.set('/jwks', {body: JSON.stringify({keys: [null, 1, {}, {kty: 'XYZ', kid: 'key-1'}, key]})});
    expect(await attempt(verifierOf(oidc()))).toBe('accepted');
  });

  test('can stand in a data: URI', async () => {
    const set = JSON.stringify({keys: [{...(await idp.publicJwk()), kid: 'key-1'}]});
    const base64 = Buffer.from(set).toString('base64');
    expect(await attempt(verifierOf(custom(`data:application/json,${encodeURIComponent(set)}`)))).toBe('accepted');
    expect(await attempt(verifierOf(custom(`data:text/plain;charset=utf-8;base64,${base64}`)))).toBe('accepted');
    expect(await attempt(verifierOf(custom('data:,nonsense')))).toMatch(/data: URI is not JSON/);
    expect(idp.asked).toEqual([]);
  });
});

describe('what a provider answers', () => {
  test.each(['application/json', 'application/jwk-set+json', 'Application/JSON; charset=utf-8'])(
    'a custom key set of the type %s is taken',
    async type => {
      idp.answers.set('/jwks', {...idp.answers.get('/jwks')!, type});
      expect(await attempt(verifierOf(custom()))).toBe('accepted');
    },
  );

  test.each(['text/html', 'application/jsonx', 'text/plain'])('one of the type %s is not', async type => {
    idp.answers.set('/jwks', {...idp.answers.get('/jwks')!, type});
    expect(await attempt(verifierOf(custom()))).toMatch(/^AuthProviderDiscoveryFailed: .*has the content type/);
  });

  test.each([
    [
      'speaks for another issuer',
      DISCOVERY,
      '{"issuer":"https://evil.example","jwks_uri":"/jwks"}',
      /speaks for the issuer/,
    ],
    ['names no issuer', DISCOVERY, '{"jwks_uri":"/jwks"}', /speaks for the issuer "undefined"/],
    ['is not JSON', DISCOVERY, '<html>', /is not JSON/],
    ['is a list', DISCOVERY, '[]', /is not a JSON object/],
    ['has no keys', '/jwks', '{}', /is not a key set/],
    [
      'has too many keys',
      '/jwks',
      JSON.stringify({keys: Array.from({length: 129}, () => ({kty: 'EC'}))}),
      /more than 128 keys/,
    ],
    ['is too long', '/jwks', `{"keys":[]${' '.repeat(256 * 1024)}}`, /longer than 262144 bytes/],
  ])('a document that %s is refused', async (_title, path, body, message) => {
    idp.answers.set(path, {body});
    const rejection = await attempt(verifierOf(oidc()));
    expect(rejection).toMatch(/^(later: )?AuthProviderDiscoveryFailed/);
    expect(rejection).toMatch(message);
  });

  test('metadata that names a file as its key set is refused', async () => {
    idp.answers.set(DISCOVERY, {body: JSON.stringify({issuer: idp.issuer, jwks_uri: 'file:///etc/passwd'})});
    expect(await attempt(verifierOf(oidc()))).toMatch(/names no `jwks_uri`/);
  });

  test('keys are looked up under the egress policy', async () => {
    expect(await attempt(verifierOf(oidc(), network.under({allow: [], deny: []})))).toMatch(
      /^AuthProviderDiscoveryFailed: .*refused by the tenant's egress policy: 127\.0\.0\.1 is a loopback address$/,
    );
    expect(idp.asked).toEqual([]);
  });

  test('a verifier that was closed fetches nothing', async () => {
    const verifier = verifierOf(oidc());
    verifier.close();
    expect(await attempt(verifier)).toMatch(/^later: AuthProviderDiscoveryFailed/);
    expect(idp.asked).toEqual([]);
  });
});
