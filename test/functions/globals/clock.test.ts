/** Time and chance: what stands still, what is the same again, and what is the host's. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {DEPLOYED_AT, HOST_TIME, STARTED_AT, TestRealm} from './realm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await TestRealm.open();
});
afterAll(() => realm.close());

const NOW =
  'return [Date.now(), new Date().getTime(), new Date(Date()).getTime(), new (class extends Date {})().getTime()]';

describe('the clock', () => {
  test.each([
    ['import', DEPLOYED_AT],
    ['query', STARTED_AT],
    ['mutation', STARTED_AT],
    ['action', HOST_TIME],
  ] as const)('of %s, however it is asked', (phase, time) => {
    const seconds = Math.floor(time / 1000) * 1000;
    expect(realm.in(phase, NOW)).toEqual([time, time, seconds, time]);
    expect(Number.isInteger(realm.in(phase, 'return Date.now()'))).toBe(true);
  });

  test.each([
    ['a date from parts is UTC', 'return new Date(2020, 0, 2, 3).toISOString()', '2020-01-02T03:00:00.000Z'],
    ['parse', "return Date.parse('2020-01-02T00:00:00Z')", Date.UTC(2020, 0, 2)],
    ['UTC', 'return Date.UTC(2020, 0, 2)', Date.UTC(2020, 0, 2)],
    ['an invalid date', "return String(new Date('x'))", 'Invalid Date'],
    ['a call gives a string', 'return typeof Date(0)', 'string'],
    ['instanceof', 'return new Date() instanceof Date', true],
    ['the constructor of an instance', 'return new Date().constructor === Date', true],
    ['no way back to V8’s own', 'return Object.getPrototypeOf(new Date(0)).constructor.now()', STARTED_AT],
    ['a subclass', 'class D extends Date { y() { return this.getUTCFullYear(); } } return new D(0).y()', 1970],
    ['its name and length', 'return [Date.name, Date.length]', ['Date', 7]],
    ['a format without a date', "return new Intl.DateTimeFormat('en', {timeZone: 'UTC'}).format()", '7/7/2025'],
    [
      'parts without a date',
      "return new Intl.DateTimeFormat('en', {timeZone: 'UTC'}).formatToParts().map(p => p.value).join('')",
      '7/7/2025',
    ],
    ['a format is bound', "const f = new Intl.DateTimeFormat('en'); return f.format === f.format", true],
  ])('%s', (_title, body, expected) => {
    expect(realm.in('query', body)).toEqual(expected);
  });
});

describe('performance', () => {
  const THRICE = 'return [performance.now(), performance.now(), performance.now()]';

  test.each(['import', 'query'] as const)('now() is fixed in %s', phase => {
    expect(realm.in(phase, THRICE)).toEqual([0, 0, 0]);
  });

  test.each(['mutation', 'action'] as const)('now() grows in %s', phase => {
    const [a, b, c] = realm.in(phase, THRICE) as [number, number, number];
    expect(a).toBeLessThan(b);
    expect(b).toBeLessThan(c);
  });

  test.each(['import', 'query', 'mutation', 'action'] as const)('timeOrigin is the deployment’s time in %s', phase => {
    expect(realm.in(phase, 'return performance.timeOrigin')).toBe(DEPLOYED_AT);
  });
});

describe('chance', () => {
  const DRAWS = `return [Math.random(), Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(5))]]`;

  test.each(['import', 'query', 'mutation'] as const)('in %s the seed says what is drawn', phase => {
    const first = realm.in(phase, DRAWS) as [number, number];
    expect(first[0]).not.toBe(first[1]);
    expect(realm.in(phase, DRAWS)).toEqual(first);
    realm.seed = 'fedcba98765432100123456789abcdef';
    expect(realm.in(phase, DRAWS)).not.toEqual(first);
    realm.seed = '0123456789abcdef0123456789abcdef';
  });

  test('in actions crypto is the host’s', () => {
    const [, , uuid, bytes] = realm.in('action', DRAWS) as unknown[];
    const [, , nextUuid, nextBytes] = realm.in('action', DRAWS) as unknown[];
    expect([uuid, bytes]).not.toEqual([nextUuid, nextBytes]);
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
