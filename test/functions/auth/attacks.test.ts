/** Tokens that somebody made to be let in. Every one ends as a 401 before or at the signature; none costs a look-up it chose. */
import {createHmac, generateKeyPairSync, KeyObject, sign} from 'node:crypto';
import {exportSPKI} from 'jose';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import {Verifier} from '../../../worker/functions/auth/verifier.ts';
import {egressFetch} from '../../../worker/runtime/egress/fetch.ts';
import {TestEgress} from '../../harness/egress.ts';
import {IdentityProvider} from './identity-provider.ts';
import {rejectionOf} from './rejections.ts';

const NOW_S = 1_800_000_000;
const network = new TestEgress();
const egress = network.under({allow: ['127.0.0.1'], deny: []});
let rsa: IdentityProvider;
let ec: IdentityProvider;
let verifier: Verifier;

beforeAll(async () => {
  rsa = await IdentityProvider.start('RS256');
  ec = await IdentityProvider.start('ES256');
});
afterAll(async () => {
  await Promise.all([network.close(), rsa.stop(), ec.stop()]);
});
beforeEach(() => {
  const providers: AuthProvider[] = [
    {type: 'oidc', domain: rsa.issuer, applicationID: 'app'},
    {type: 'customJwt', issuer: ec.issuer, jwks: `${ec.issuer}/jwks`, algorithm: 'ES256', applicationID: null},
  ];
  verifier = Verifier.of(providers, {fetch: request => egressFetch(egress, request), clock: () => NOW_S * 1000});
});

const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const goodClaims = () => ({iss: rsa.issuer, sub: 'user-1', aud: 'app', iat: NOW_S, exp: NOW_S + 600});

/** A token whose parts are what they are given as, really signed with the provider's RSA key. */
function signedByRsa(claims: unknown, header: unknown = {alg: 'RS256', kid: 'key-1'}): string {
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${sign('sha256', Buffer.from(input), KeyObject.from(rsa.pair.privateKey)).toString('base64url')}`;
}
test('the hand-made token is accepted when nothing is wrong with it', async () => {
  expect(await rejectionOf(verifier.verify(signedByRsa(goodClaims())))).toBe('accepted');
});

describe('algorithms', () => {
  test.each(['none', 'None', 'NONE', 'nOnE'])('alg %s is refused, with and without a signature', async alg => {
    const unsigned = `${part({alg, kid: 'key-1'})}.${part(goodClaims())}.`;
    expect(await rejectionOf(verifier.verify(unsigned))).toMatch(/^InvalidAuthHeader: Could not parse JWT payload/);
    expect(await rejectionOf(verifier.verify(`${unsigned}c2ln`))).toMatch(/^InvalidAuthHeader: .*its algorithm is/);
  });

  test('HS256 with the public key as its secret is refused, and no key is fetched for it', async () => {
    rsa.asked.length = 0;
    for (const secret of [await exportSPKI(rsa.pair.publicKey), JSON.stringify(await rsa.publicJwk())]) {
      const input = `${part({alg: 'HS256', kid: 'key-1'})}.${part(goodClaims())}`;
      const token = `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
      expect(await rejectionOf(verifier.verify(token))).toMatch(/^InvalidAuthHeader: .*its algorithm is "HS256"/);
    }
    expect(rsa.asked).toEqual([]);
  });

  test.each(['RS384', 'RS512', 'ES384', 'PS512', 'rs256', 'RSA-OAEP', 'dir', '__proto__'])(
    '%s is refused',
    async alg => {
      expect(await rejectionOf(verifier.verify(signedByRsa(goodClaims(), {alg, kid: 'key-1'})))).toMatch(
        /its algorithm is/,
      );
    },
  );

  test('a custom provider accepts its own algorithm only', async () => {
    const claims = {...goodClaims(), iss: ec.issuer};
    expect(await rejectionOf(verifier.verify(signedByRsa(claims)))).toMatch(/its algorithm is "RS256"/);
  });
});

describe('signatures', () => {
  test('of another key are refused', async () => {
    const stranger = await IdentityProvider.start('RS256');
    expect(await rejectionOf(verifier.verify(await stranger.token(goodClaims())))).toMatch(
      /^InvalidAuthHeader: .*"key-1"/,
    );
    await stranger.stop();
  });

  test('in DER are refused', async () => {
    const input = `${part({alg: 'ES256', kid: 'key-1'})}.${part({...goodClaims(), iss: ec.issuer})}`;
    const key = KeyObject.from(ec.pair.privateKey);
    const signatures = {
      der: sign('sha256', Buffer.from(input), {key, dsaEncoding: 'der'}),
      raw: sign('sha256', Buffer.from(input), {key, dsaEncoding: 'ieee-p1363'}),
    };
    expect(await rejectionOf(verifier.verify(`${input}.${signatures.raw.toString('base64url')}`))).toBe('accepted');
    expect(await rejectionOf(verifier.verify(`${input}.${signatures.der.toString('base64url')}`))).toMatch(/^Invalid/);
  });

  test('of r = s = 0 are refused', async () => {
    const input = `${part({alg: 'ES256', kid: 'key-1'})}.${part({...goodClaims(), iss: ec.issuer})}`;
    expect(await rejectionOf(verifier.verify(`${input}.${Buffer.alloc(64).toString('base64url')}`))).toMatch(
      /^Invalid/,
    );
  });

  test('are refused at every truncation of the token', async () => {
    const token = signedByRsa(goodClaims());
    for (let length = token.length - 1; length > 0; length -= 29) {
      expect(await rejectionOf(verifier.verify(token.slice(0, length)))).toMatch(/^InvalidAuthHeader/);
    }
  });
});

describe('keys of the provider that are no keys for this', () => {
  async function withKeys(keys: Parameters<IdentityProvider['serveKeys']>[0], algorithm = 'RS256'): Promise<string> {
    const provider = await IdentityProvider.start(algorithm);
    provider.serveKeys(keys.length > 0 ? keys : [{...(await provider.publicJwk()), kid: 'key-1', use: 'enc'}]);
    const local = Verifier.of([{type: 'oidc', domain: provider.issuer, applicationID: 'app'}], {
      fetch: request => egressFetch(egress, request),
      clock: () => NOW_S * 1000,
    });
    const rejection = await rejectionOf(local.verify(await provider.token({...goodClaims(), iss: provider.issuer})));
    await provider.stop();
    return rejection;
  }

  test('one for encryption is not used', async () => {
    expect(await withKeys([])).toMatch(/no usable key "key-1"/);
  });

  test('one of another curve is not used for ES256', async () => {
    const {publicKey} = generateKeyPairSync('ec', {namedCurve: 'P-384'});
    expect(await withKeys([{...publicKey.export({format: 'jwk'}), kid: 'key-1'} as never], 'ES256')).toMatch(
      /no usable key/,
    );
  });

  test('a symmetric one is not used', async () => {
    expect(await withKeys([{kty: 'oct', k: part('secret'), kid: 'key-1'}])).toMatch(/no usable key/);
  });

  test('an RSA one below 2048 bits is not used', async () => {
    const {publicKey, privateKey} = generateKeyPairSync('rsa', {modulusLength: 1024});
    const provider = await IdentityProvider.start('RS256');
    provider.serveKeys([{...publicKey.export({format: 'jwk'}), kid: 'key-1'} as never]);
    const input = `${part({alg: 'RS256', kid: 'key-1'})}.${part({...goodClaims(), iss: provider.issuer})}`;
    const token = `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
    const local = Verifier.of([{type: 'oidc', domain: provider.issuer, applicationID: 'app'}], {
      fetch: request => egressFetch(egress, request),
      clock: () => NOW_S * 1000,
    });
    expect(await rejectionOf(local.verify(token))).toMatch(/^InvalidAuthHeader/);
    await provider.stop();
  });
});

describe('headers', () => {
  test.each(['jwk', 'jku', 'x5u', 'x5c'])(
    'that bring a key of their own (%s) are refused, whatever signed them',
    async name => {
      const header = {alg: 'RS256', kid: 'key-1', [name]: name === 'jwk' ? {kty: 'oct'} : 'http://127.0.0.1:1/'};
      expect(await rejectionOf(verifier.verify(signedByRsa(goodClaims(), header)))).toMatch(/brings a key of its own/);
    },
  );

  test.each([['exp'], [['exp']], [[]], [null]])('with crit %j are refused', async crit => {
    const header = {alg: 'RS256', kid: 'key-1', crit};
    expect(await rejectionOf(verifier.verify(signedByRsa(goodClaims(), header)))).toMatch(/asks for extensions/);
  });

  test.each([
    '../../../../etc/passwd',
    "' OR 1=1 --",
    '__proto__',
    'constructor',
    'toString',
    'key-1\u0000',
    'KEY-1',
    'x'.repeat(256),
    'x'.repeat(257),
    '',
    null,
    1,
    ['key-1'],
    {toString: 'key-1'},
  ])('with the key id %j find no key', async kid => {
    expect(await rejectionOf(verifier.verify(signedByRsa(goodClaims(), {alg: 'RS256', kid})))).toMatch(
      /^InvalidAuthHeader/,
    );
  });

  test('the refusal of a long key id does not repeat it', async () => {
    const rejection = await rejectionOf(
      verifier.verify(signedByRsa(goodClaims(), {alg: 'RS256', kid: 'x'.repeat(5_000)})),
    );
    expect(rejection.length).toBeLessThan(300);
  });
});

describe('issuers', () => {
  test.each([
    ['a longer path', (issuer: string) => `${issuer}/tenant`],
    ['two trailing slashes', (issuer: string) => `${issuer}//`],
    ['upper case', (issuer: string) => issuer.toUpperCase()],
    ['a name in front', (issuer: string) => issuer.replace('http://', 'http://evil@')],
    ['a fragment', (issuer: string) => `${issuer}#`],
    ['a query', (issuer: string) => `${issuer}?`],
    ['white space', (issuer: string) => `${issuer} `],
    ['full-width digits', (issuer: string) => issuer.replace('127', '１27')],
    ['a zero-width space', (issuer: string) => `${issuer}\u200b`],
    ['another scheme', (issuer: string) => issuer.replace('http:', 'https:')],
    ['a longer port', (issuer: string) => `${issuer}0`],
    ['a list', (issuer: string) => [issuer]],
  ])('with %s are not the same', async (_title, changed) => {
    const token = signedByRsa({...goodClaims(), iss: changed(rsa.issuer)});
    expect(await rejectionOf(verifier.verify(token))).not.toBe('accepted');
  });
});

describe('claims', () => {
  test.each([
    ['exp as a string', {exp: String(NOW_S + 600)}],
    ['exp as a list', {exp: [NOW_S + 600]}],
    ['exp of null', {exp: null}],
    ['exp of true', {exp: true}],
    ['a negative exp', {exp: -1}],
    ['iat as a string', {iat: String(NOW_S)}],
    ['iat of null', {iat: null}],
    ['a huge iat', {iat: 1e300}],
    ['nbf as a string', {nbf: '0'}],
    ['a huge nbf', {nbf: 1e300}],
    ['sub as a list', {sub: ['user-1']}],
    ['an empty sub', {sub: ''}],
    ['sub as a number', {sub: 1}],
    ['an empty iss', {iss: ''}],
    ['aud as an object', {aud: {0: 'app', length: 1}}],
    ['aud as a nested list', {aud: [['app']]}],
    ['aud as an empty list', {aud: []}],
    ['aud twice', {aud: ['app', 'app']}],
    ['aud with white space', {aud: 'app '}],
    ['aud in upper case', {aud: 'APP'}],
  ])('%s is refused though the signature is good', async (_title, changes) => {
    expect(await rejectionOf(verifier.verify(signedByRsa({...goodClaims(), ...changes})))).not.toBe('accepted');
  });

  test('a number that JSON reads as infinite is refused as exp', async () => {
    const text = JSON.stringify(goodClaims()).replace(/"exp":\d+/, '"exp":1e999');
    expect(await rejectionOf(verifier.verify(signedByRsa(text)))).toBe(
      'InvalidAuthHeader: The token has no expiration (`exp`) claim',
    );
  });

  test.each([1e300, 8.65e12, -8.65e12])('an exp that is no time, %d, is no end of a token', async exp => {
    expect(await rejectionOf(verifier.verify(signedByRsa({...goodClaims(), exp})))).toContain('`exp`) is no time');
  });

  test('of two claims of one name the last counts, for the choice of the provider and for the identity alike', async () => {
    const text = (first: string, last: string) =>
      JSON.stringify(goodClaims()).replace('"sub":"user-1"', `"sub":"${first}","sub":"${last}"`);
    expect((await verifier.verify(signedByRsa(text('admin', 'user-1')))).identity.subject).toBe('user-1');
    const issuers = JSON.stringify({...goodClaims()}).replace('"sub"', '"iss":"https://other.example","sub"');
    expect(await rejectionOf(verifier.verify(signedByRsa(issuers)))).toMatch(/^NoAuthProvider/);
  });

  test('claims that would grow without end when flattened are refused', async () => {
    const local = Verifier.of(
      [{type: 'customJwt', issuer: rsa.issuer, jwks: `${rsa.issuer}/jwks`, algorithm: 'RS256', applicationID: null}],
      {fetch: request => egressFetch(egress, request), clock: () => NOW_S * 1000},
    );
    const many = Object.fromEntries(Array.from({length: 500}, (_, n) => [`k${n}`, 1]));
    const token = signedByRsa({...goodClaims(), ['x'.repeat(4_000)]: many});
    expect(await rejectionOf(local.verify(token))).toMatch(/claims are longer than/);
  });
});

describe('forms', () => {
  test.each([
    ['nothing', ''],
    ['one part', 'abc'],
    ['two parts', 'a.b'],
    ['four parts', 'a.b.c.d'],
    ['dots', '..'],
    ['a JWE', `${part({alg: 'dir', enc: 'A256GCM', kid: 'key-1'})}..aaaa.bbbb.cccc`],
    ['white space inside', 'a b.c.d'],
    ['base64 with padding', `${part({alg: 'RS256'})}=.e30=.c2ln`],
    ['standard base64', 'a+b.c/d.e'],
    ['not ASCII', 'ä.b.c'],
  ])('%s is no token', async (_title, token) => {
    expect(await rejectionOf(verifier.verify(token))).toMatch(/^InvalidAuthHeader: Could not parse JWT payload/);
  });

  test.each([
    ['the access token', `svc_access_${'a'.repeat(43)}`],
    ['the admin token', `svc_admin_${'b'.repeat(43)}`],
    ['a key', `svc_key_${'c'.repeat(12)}_${'d'.repeat(49)}`],
    ['a key', 'svc_key_x.y.z'],
  ])('%s of the server is named, and not repeated: %#', async (name, secret) => {
    const rejection = await rejectionOf(verifier.verify(secret));
    expect(rejection).toContain(`InvalidAuthHeader: This is ${name} of a server`);
    expect(rejection).not.toContain(secret.slice(-3));
  });

  test.each([
    ['text', 'not json'],
    ['a string', '"x"'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a token', 'eyJhbGciOiJub25lIn0.e30.'],
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d]).toString('latin1')],
  ])('a payload that is %s is refused though the signature is good', async (_title, payload) => {
    expect(await rejectionOf(verifier.verify(signedByRsa(payload)))).not.toBe('accepted');
  });

  test.each([
    [64, 'accepted'],
    [65, /Could not parse JWT payload/],
    [3_000, /Could not parse JWT payload/],
  ])('a payload nested %i levels deep: %s', async (levels, answer) => {
    const nested = '['.repeat(levels - 1) + ']'.repeat(levels - 1);
    const token = signedByRsa(JSON.stringify({...goodClaims(), deep: 0}).replace('"deep":0', `"deep":${nested}`));
    expect(await rejectionOf(verifier.verify(token))).toMatch(answer);
  });

  test('a token longer than 16 KiB is not even parsed', async () => {
    expect(await rejectionOf(verifier.verify(`${'a'.repeat(16 * 1024 - 3)}.b.c`))).toMatch(
      /longer than 16384 characters/,
    );
    expect(await rejectionOf(verifier.verify(`${'a'.repeat(16 * 1024 - 4)}.b.c`))).toMatch(/Could not parse/);
  });
});
