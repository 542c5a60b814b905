import {hash} from 'node:crypto';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {Credentials} from '../../router/auth/credentials.ts';
import {KeyRing} from '../../router/auth/key-ring.ts';
import {covers, type Grant, type KeyRecord} from '../../shared/ipc/keys.ts';
import {isWellFormed, newKeyId, newKeySecret} from '../../shared/key-secret.ts';
import {monotonicMs} from '../../shared/monotonic.ts';
import {SCOPES} from '../../shared/rights.ts';
import {until} from '../harness/until.ts';

const NOW = 1_000_000;
const request = (authorization: string, adminToken = '') => ({
  getHeader: (name: string) => ({authorization, 'x-svc-admin-token': adminToken})[name] ?? '',
});

function recordOf(secrets: [secret: string, expiresAt: number | null][], more: Partial<KeyRecord> = {}): KeyRecord {
  const id = secrets[0]![0].slice(8, 20);
  return {
    ...{id, name: 'app', scopes: ['data:read'], tenants: null, tables: null, expires_at: null, rate_limit: null},
    ...{created_at: 0, created_by: null},
    secrets: secrets.map(([secret, expires_at]) => ({sha256: hash('sha256', secret), created_at: 0, expires_at})),
    ...more,
  };
}

function ringOf(...records: KeyRecord[]) {
  const clock = {ms: NOW};
  const ring = new KeyRing({records, isInCluster: false, now: () => clock.ms, onUsed: () => undefined});
  const credentials = new Credentials(
    hash('sha256', 'svc_key_operators_own_token'),
    hash('sha256', 'admin-token'),
    ring,
  );
  return {clock, ring, credentials};
}

describe('the secret of a key', () => {
  test('has a prefix, the id and a checksum; one wrong letter is detected', () => {
    const id = newKeyId();
    const secret = newKeySecret(id);
    expect(secret).toMatch(/^svc_key_[a-z2-9]{12}_[0-9A-Za-z]{49}$/);
    expect(secret.slice(8, 20)).toBe(id);
    expect(isWellFormed(secret)).toBe(true);
    fc.assert(
      fc.property(fc.nat({max: secret.length - 1}), fc.constantFrom(...'aZ09_-'), (at, letter) => {
        const other = secret.slice(0, at) + letter + secret.slice(at + 1);
        expect(isWellFormed(other)).toBe(other === secret);
      }),
      {numRuns: 200},
    );
    expect(isWellFormed(`${secret}x`)).toBe(false);
    expect(isWellFormed(secret.slice(0, -1))).toBe(false);
  });
});

describe('a key in a header', () => {
  const secret = newKeySecret(newKeyId());

  test.each([
    [`Bearer ${secret}`, ''],
    [`bearer   ${secret}`, ''],
    ['', secret],
    ['Bearer nonsense', secret],
  ])('%# is known, the second time as well', (authorization, adminToken) => {
    const {credentials} = ringOf(recordOf([[secret, null]]));
    for (const _ of [1, 2]) expect(credentials.of(request(authorization, adminToken))?.key.name).toBe('app');
  });

  test('in any other form is none', () => {
    const {credentials} = ringOf(recordOf([[secret, null]]));
    for (const shown of [secret, `Basic ${secret}`, `Bearer x${secret}`, `Bearer ${secret}x`, `Bearer ${secret} x`]) {
      expect(credentials.of(request(shown))).toBeUndefined();
    }
    expect(credentials.of(request('', `Bearer ${secret}`))).toBeUndefined();
  });

  test("does not take the place of an operator's own token that begins as keys do", () => {
    const {credentials} = ringOf();
    expect(credentials.of(request('Bearer svc_key_operators_own_token'))).toBeNull();
  });

  test('only callers with the secret learn why it is refused', () => {
    const {credentials, ring, clock} = ringOf(recordOf([[secret, null]], {expires_at: NOW + 5}));
    const why = (token: string) => credentials.refusal(`Bearer ${token}`, '', 'nothing shown');
    clock.ms = NOW + 5;
    expect(credentials.of(request(`Bearer ${secret}`))).toBeUndefined();
    expect(why(secret)).toBe(`this key expired at ${new Date(NOW + 5).toISOString()}`);
    expect(why(newKeySecret(secret.slice(8, 20)))).toContain('there is no such key');
    expect(why(`${secret.slice(0, -1)}-`)).toContain('misspelled');
    expect(why('other')).toBe('nothing shown');
    ring.remove(secret.slice(8, 20));
    expect(why(secret)).toContain('there is no such key');
  });

  test('two secrets are valid while one takes the place of the other, and who came with the older ends with it', () => {
    const next = newKeySecret(secret.slice(8, 20));
    const {credentials, ring, clock} = ringOf(recordOf([[secret, null]]));
    const old = credentials.of(request(`Bearer ${secret}`))!;
    let told = 0;
    ring.watch(() => told++);
    ring.put(
      recordOf([
        [next, null],
        [secret, NOW + 10],
      ]),
    );
    expect(told).toBe(1);
    expect(credentials.of(request(`Bearer ${secret}`))).toBe(old);
    expect(credentials.of(request(`Bearer ${next}`))?.key).toBe(old.key);
    expect(old.isValid(NOW + 9)).toBe(true);
    clock.ms = NOW + 10;
    expect(old.isValid(clock.ms)).toBe(false);
    expect(credentials.of(request(`Bearer ${secret}`))).toBeUndefined();
    expect(credentials.refusal(`Bearer ${secret}`, '', '')).toContain('after its key was rotated');
    expect(credentials.of(request(`Bearer ${next}`))).toBeDefined();
    ring.put(recordOf([[newKeySecret(secret.slice(8, 20)), null]]));
    expect(credentials.of(request(`Bearer ${next}`))).toBeUndefined();
  });
});

describe('a key gives no more than it has', () => {
  const names = fc.option(fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), {minLength: 1}), {nil: null});
  const grant: fc.Arbitrary<Grant> = fc.record({
    scopes: fc.subarray([...SCOPES]),
    tenants: names,
    tables: names,
    expires_at: fc.option(fc.nat({max: 3}), {nil: null}),
    rate_limit: fc.option(fc.record({requests_per_second: fc.nat({max: 2}), burst: fc.nat({max: 2})}), {nil: null}),
  });
  /** What a grant opens, asked one by one. */
  const may = (
    {scopes, tenants, tables, expires_at}: Grant,
    [scope, tenant, table, at]: readonly [string, string, string, number],
  ) =>
    scopes.some(one => one === scope) &&
    (tenants?.includes(tenant) ?? true) &&
    (tables?.includes(table) ?? true) &&
    (expires_at === null || at < expires_at);

  test('whatever the given one opens, the giver does too', () => {
    const asked = fc.tuple(
      fc.constantFrom(...SCOPES),
      fc.constantFrom('a', 'b', 'd'),
      fc.constantFrom('a', 'c', 'd'),
      fc.nat({max: 4}),
    );
    fc.assert(
      fc.property(grant, grant, asked, (reserved, given, question) => {
        if (covers(reserved, given) && may(given, question)) expect(may(reserved, question)).toBe(true);
        expect(covers(reserved, reserved)).toBe(true);
      }),
      {numRuns: 500},
    );
  });
});

test('without a lease, keys are neither accepted nor refused, and admin credentials go on', () => {
  const secret = newKeySecret(newKeyId());
  const {ring, credentials} = ringOf(recordOf([[secret, null]]));
  const header = (token: string) => ({
    getHeader: (name: string) => (name === 'authorization' ? `Bearer ${token}` : ''),
  });
  const caller = credentials.of(header(secret))!;
  expect(ring.faultOf(caller)).toBeNull();
  let changes = 0;
  ring.watch(() => changes++);
  ring.setCurrentUntil(monotonicMs());
  expect(changes).toBe(1);
  expect(() => credentials.of(header(secret))).toThrow('the host has no lease');
  expect(ring.faultOf(caller)).toMatchObject({code: 'session.worker_unavailable'});
  expect(credentials.of(header('svc_key_operators_own_token'))).toBeNull();
  expect(ring.faultOf(null)).toBeNull();
  ring.setCurrentUntil(monotonicMs() + 3_600_000);
  expect(credentials.of(header(secret))).toBe(caller);
});

test('a lease that nothing renews ends by itself, and with it what keys have opened', async () => {
  const secret = newKeySecret(newKeyId());
  const {ring, credentials} = ringOf(recordOf([[secret, null]]));
  const caller = credentials.of(request(`Bearer ${secret}`))!;
  let changes = 0;
  ring.watch(() => changes++);
  ring.setCurrentUntil(monotonicMs() + 100);
  expect([changes, ring.faultOf(caller)]).toEqual([0, null]);
  await until('the end of the lease', () => changes > 0);
  expect(ring.faultOf(caller)).toMatchObject({code: 'session.worker_unavailable'});
  expect(() => credentials.of(request(`Bearer ${secret}`))).toThrow('the host has no lease');
});
