/** What an operator learns of a token: the first check that fails, as calls do it, and what would be right. */
import type {JWTPayload} from 'jose';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import {TOKEN_CHECKS, type TokenCheckName} from '../../../shared/token-checks.ts';
import {Verifier} from '../../../worker/functions/auth/verifier.ts';
import {egressFetch} from '../../../worker/runtime/egress/fetch.ts';
import {TestEgress} from '../../harness/egress.ts';
import {IdentityProvider} from './identity-provider.ts';
import {rejectionOf} from './rejections.ts';

const NOW_S = 1_800_000_000;
const network = new TestEgress();
const egress = network.under({allow: ['127.0.0.1'], deny: []});
let oidc: IdentityProvider;
let stranger: IdentityProvider;
let down: IdentityProvider;
let verifier: Verifier;

beforeAll(async () => {
  [oidc, stranger, down] = await Promise.all([
    IdentityProvider.start('RS256'),
    IdentityProvider.start('RS256'),
    IdentityProvider.start('RS256'),
  ]);
  down.answers.set('/.well-known/openid-configuration', {status: 503, body: ''});
  const providers = [oidc, down].map(
    ({issuer}): AuthProvider => ({type: 'oidc', domain: issuer, applicationID: 'app'}),
  );
  verifier = Verifier.of(providers, {fetch: request => egressFetch(egress, request), clock: () => NOW_S * 1_000});
});
afterAll(() => Promise.all([network.close(), oidc.stop(), stranger.stop(), down.stop()]));

function claimsOf({issuer}: IdentityProvider, changes: Record<string, unknown> = {}): JWTPayload {
  return {iss: issuer, sub: 'ada', aud: 'app', iat: NOW_S - 10, exp: NOW_S + 600, ...changes} as JWTPayload;
}
const signed =
  (changes: Record<string, unknown>, header: Record<string, unknown> = {}) =>
  () =>
    oidc.token(claimsOf(oidc, changes), header);

test('a good token passes every check, and shows the identity that functions get', async () => {
  const token = await signed({name: 'Ada'})();
  const examined = await verifier.examine(` Bearer ${token}\n`);
  expect(examined.checks.map(({check, outcome}) => [check, outcome])).toEqual(TOKEN_CHECKS.map(it => [it, 'passed']));
  expect(examined).toMatchObject({
    is_valid: true,
    header: {alg: 'RS256', kid: 'key-1'},
    claims: {sub: 'ada'},
    identity: {name: 'Ada', subject: 'ada'},
  });
});

const CASES: [failing: TokenCheckName, token: () => Promise<string>, text: RegExp, toDo: RegExp][] = [
  ['form', async () => 'not a token', /valid JWT format/, /alg and kid/],
  ['form', signed({sub: undefined}), /no subject/, /sub and exp/],
  ['form', async () => 'svc_admin_0123456789', /admin token of a server/, /signed JWT/],
  ['form', signed({iss: {toString: 1, valueOf: 1}}), /no issuer/, /iss, sub/],
  ['issuer', signed({iss: 'https://other.example'}), /https:\/\/other\.example/, /127\.0\.0\.1:\d+".*auth\.config/],
  ['audience', signed({aud: ['app', 'b']}), /\["?\\?"?app/, /configured for "app".*one audience/],
  ['algorithm', signed({}, {alg: 'RS256', kid: 'key-1'}), /./, /./],
  ['keys', () => down.token(claimsOf(down)), /answered 503/, /egress policy/],
  ['key', signed({}, {kid: 'old'}), /no usable key "old"/, /has the keys "key-1"/],
  ['signature', () => stranger.token(claimsOf(oidc)), /signature was not made/, /another server signed it/],
  ['not_before', signed({nbf: NOW_S + 60}), /2027-01-15T08:01:00/, /clock of the provider.*2027-01-15T08:00:00/],
  ['expiry', signed({exp: NOW_S - 60}), /expired 60 seconds ago.*2027-01-15T07:59:00/, /new token/],
  ['issued_at', signed({iat: NOW_S + 60}), /future/, /clock/],
];

test.each(CASES)('the check that fails is %s, as for a call', async (failing, make, text, toDo) => {
  const token =
    failing === 'algorithm'
      ? `${Buffer.from('{"alg":"HS256","kid":"key-1"}').toString('base64url')}.${(await make()).split('.').slice(1).join('.')}`
      : await make();
  const {checks, is_valid, identity} = await verifier.examine(token);
  const at = TOKEN_CHECKS.indexOf(failing);
  expect(checks.map(({outcome}) => outcome)).toEqual(
    TOKEN_CHECKS.map((_, n) => (n < at ? 'passed' : n === at ? 'failed' : 'skipped')),
  );
  expect(checks[at]!.text).toMatch(text);
  expect(checks[at]!.to_do).toMatch(toDo);
  expect([is_valid, identity]).toEqual([false, null]);
  expect(await rejectionOf(verifier.verify(token))).not.toBe('accepted');
});

test('without providers, it says where to list them, and fetches nothing', async () => {
  const token = await signed({})();
  oidc.asked.length = 0;
  const none = Verifier.of([], {fetch: request => egressFetch(egress, request), clock: () => NOW_S * 1_000});
  const {checks} = await none.examine(token);
  expect(checks[1]).toMatchObject({check: 'issuer', outcome: 'failed', to_do: expect.stringContaining('No provider')});
  expect(oidc.asked).toEqual([]);
});
