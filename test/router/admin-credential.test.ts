import {hash} from 'node:crypto';
import {describe, expect, test} from 'vitest';
import {AdminCredential} from '../../router/auth/admin-credential.ts';

const ACCESS = 'access-token';
const ADMIN = 'admin-token';
/** A request with these headers. */
const request = (authorization: string, adminToken: string) => ({
  getHeader: (name: string) => ({authorization, 'x-svc-admin-token': adminToken})[name] ?? '',
});
const fresh = () => new AdminCredential(hash('sha256', ACCESS), hash('sha256', ADMIN));

describe.each([
  ['before', (credential: AdminCredential) => credential],
  [
    'after',
    (credential: AdminCredential) => {
      credential.accepts(request(`Bearer ${ACCESS}`, ''));
      credential.accepts(request('', ADMIN));
      return credential;
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
    expect(prepare(fresh()).accepts(request(authorization, adminToken))).toBe(true);
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
    expect(prepare(fresh()).accepts(request(authorization, adminToken))).toBe(false);
  });
});

test('a token beyond ASCII is taken whole, never cut to the length of another', () => {
  const credential = new AdminCredential(hash('sha256', 'é'), hash('sha256', ADMIN));
  expect(credential.accepts(request('Bearer é', ''))).toBe(true);
  expect(credential.accepts(request('Bearer éx', ''))).toBe(false);
});
