import {hash} from 'node:crypto';
import {describe, expect, test} from 'vitest';
import {Credentials} from '../../router/auth/credentials.ts';
import {KeyRing} from '../../router/auth/key-ring.ts';

const ACCESS = 'access-token';
const ADMIN = 'admin-token';
/** A request with these headers. */
const request = (authorization: string, adminToken: string) => ({
  getHeader: (name: string) => ({authorization, 'x-svc-admin-token': adminToken})[name] ?? '',
});
const noKeys = () => new KeyRing({records: [], isInCluster: false, now: Date.now, onUsed: () => undefined});
const fresh = (access = ACCESS) => new Credentials(hash('sha256', access), hash('sha256', ADMIN), noKeys());

describe.each([
  ['before', (credentials: Credentials) => credentials],
  [
    'after',
    (credentials: Credentials) => {
      credentials.of(request(`Bearer ${ACCESS}`, ''));
      credentials.of(request('', ADMIN));
      return credentials;
    },
  ],
])('%s the right credentials were seen', (_when, prepare) => {
  test.each([
    [`Bearer ${ACCESS}`, ''],
    [`bearer ${ACCESS}`, ''],
    [`BEARER   ${ACCESS}`, ''],
    ['', ADMIN],
    ['Bearer wrong', ADMIN],
    [`Bearer ${ACCESS}`, 'wrong'],
  ])('Authorization %j and X-Svc-Admin-Token %j are accepted', (authorization, adminToken) => {
    expect(prepare(fresh()).of(request(authorization, adminToken))).toBe(null);
  });

  test.each([
    ['', ''],
    ['Bearer', ''],
    ['Bearer ', ''],
    [`Basic ${ACCESS}`, ''],
    [ACCESS, ''],
    [`Bearer ${ADMIN}`, ''],
    ['', ACCESS],
    [`Bearer ${ACCESS}x`, ''],
    [`Bearer ${ACCESS.slice(0, -1)}`, ''],
    [`Bearer ${ACCESS.slice(0, -1)}N`, ''],
    [`Bearer ${ACCESS.slice(0, -1)}\u016e`, ''],
  ])('Authorization %j and X-Svc-Admin-Token %j are not', (authorization, adminToken) => {
    expect(prepare(fresh()).of(request(authorization, adminToken))).toBe(undefined);
  });
});

test('a token beyond ASCII is taken whole, never cut to the length of another', () => {
  const credentials = fresh('é');
  expect(credentials.of(request('Bearer é', ''))).toBe(null);
  expect(credentials.of(request('Bearer éx', ''))).toBe(undefined);
});
