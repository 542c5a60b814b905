import {describe, expect, test} from 'vitest';
import type {AuthProvider} from '../../../shared/protocol/functions.ts';
import {identityOf} from '../../../worker/functions/auth/identity.ts';

const OIDC: AuthProvider = {type: 'oidc', domain: 'https://idp.example', applicationID: 'app'};
const CUSTOM: AuthProvider = {
  type: 'customJwt',
  issuer: 'https://idp.example',
  jwks: 'data:,{}',
  algorithm: 'RS256',
  applicationID: null,
};
const base = {iss: 'https://idp.example', sub: 'u'};
const always = {tokenIdentifier: 'https://idp.example|u', subject: 'u', issuer: 'https://idp.example'};

describe('the identity of an OIDC token', () => {
  test('has the standard claims under their camel-case names only', () => {
    const claims = {
      name: 'Ada Byron',
      given_name: 'Ada',
      family_name: 'Byron',
      nickname: 'A',
      preferred_username: 'ada',
      profile: 'https://p',
      picture: 'https://i',
      website: 'https://w',
      email: 'a@b.c',
      email_verified: true,
      phone_number: '+1',
      phone_number_verified: false,
      gender: 'f',
      birthdate: '1815-12-10',
      zoneinfo: 'Europe/London',
      locale: 'en',
      address: {formatted: '1 Street', country: 'UK'},
      updated_at: 1_800_000_000,
    };
    expect(identityOf(OIDC, {...base, ...claims})).toEqual({
      ...always,
      name: 'Ada Byron',
      givenName: 'Ada',
      familyName: 'Byron',
      nickname: 'A',
      preferredUsername: 'ada',
      profileUrl: 'https://p',
      pictureUrl: 'https://i',
      websiteUrl: 'https://w',
      email: 'a@b.c',
      emailVerified: true,
      phoneNumber: '+1',
      phoneNumberVerified: false,
      gender: 'f',
      birthday: '1815-12-10',
      timezone: 'Europe/London',
      language: 'en',
      address: '1 Street',
      updatedAt: '2027-01-15T08:00:00.000Z',
    });
  });

  test.each([
    ['2027-01-15T08:00:00.000Z', '2027-01-15T08:00:00.000Z'],
    [1e300, undefined],
    [{}, undefined],
  ])('has a text or nothing as updatedAt: %j', (given, updatedAt) => {
    expect(identityOf(OIDC, {...base, updated_at: given}).updatedAt).toBe(updatedAt);
  });

  test('has every other claim as it is', () => {
    const roles = {org: {id: 1, tags: ['a']}, 'https://x/role': 'admin', aud: 'app', azp: null};
    expect(identityOf(OIDC, {...base, ...roles})).toEqual({...always, ...roles});
  });

  test('is equal for a refreshed token', () => {
    const first = identityOf(OIDC, {...base, jti: 'a', nbf: 1, exp: 2, iat: 1, fva: [0, 1], nonce: 'n', at_hash: 'h'});
    expect(first).toEqual(identityOf(OIDC, {...base, jti: 'b', nbf: 9, exp: 10, iat: 9, fva: [5, 6], at_hash: 'i'}));
    expect(first).toEqual(always);
  });

  test.each([
    ['tokenIdentifier', 'https://idp.example|admin'],
    ['subject', 'admin'],
    ['issuer', 'https://other.example'],
  ])('cannot be given another %s by a claim', (claim, value) => {
    expect(identityOf(OIDC, {...base, [claim]: value})).toEqual(always);
    expect(identityOf(CUSTOM, {...base, [claim]: value})).toEqual(always);
  });

  test('has no standard field from a claim that only bears its name', () => {
    expect(identityOf(OIDC, {...base, emailVerified: true, givenName: 'Eve'})).toEqual(always);
  });

  test('reads "false" of careless providers as false', () => {
    expect(identityOf(OIDC, {...base, email_verified: 'false'}).emailVerified).toBe(false);
  });

  test('never carries a prototype', () => {
    const claims = JSON.parse('{"iss":"https://idp.example","sub":"u","__proto__":{"admin":true}}');
    expect(Object.keys(identityOf(OIDC, claims))).not.toContain('__proto__');
    expect(identityOf(OIDC, claims).admin).toBeUndefined();
  });
});

describe('the identity of a custom JWT', () => {
  test('keeps raw names, flattens objects, keeps arrays', () => {
    const claims = {given_name: 'Ada', email_verified: 'false', properties: {id: 'p', deep: {x: 1}}, list: [{a: 1}]};
    expect(identityOf(CUSTOM, {...base, ...claims})).toEqual({
      ...always,
      given_name: 'Ada',
      email_verified: 'false',
      'properties.id': 'p',
      'properties.deep.x': 1,
      list: [{a: 1}],
    });
  });
});
