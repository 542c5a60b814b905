/** Rate limits: how many come through, and what is said of the rest. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {RateLimits} from '../../router/rates/rate-limits.ts';
import {ServiceError} from '../../shared/errors.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import type {RateLimit} from '../../shared/rate-limit.ts';
import {TokenBucket} from '../../shared/token-bucket.ts';

/** Where every tenant has a limit. */
class Counted extends RateLimits {
  override ofTenant(tenant: object) {
    return super.ofTenant(tenant)!;
  }
}

function limits(tenant: RateLimit, routers = 1) {
  const clock = {nowMs: 5_000};
  return {clock, all: new Counted({tenant, key: null}, routers, () => clock.nowMs, new RouterMetrics())};
}

test('a bucket gives what a plain simulation of it gives, whenever requests come', () => {
  const limit = fc.record({
    requests_per_second: fc.constantFrom(0.5, 1, 4, 250),
    burst: fc.integer({min: 1, max: 20}),
  });
  fc.assert(
    fc.property(limit, fc.array(fc.constantFrom(0, 1, 4, 250, 1_000, 60_000), {maxLength: 60}), (of, pauses) => {
      const bucket = new TokenBucket(of, 0);
      // In thousandths of a request, which each millisecond earns some of: whole numbers or halves, without rounding.
      let model = of.burst * 1_000;
      let nowMs = 0;
      for (const pauseMs of pauses) {
        nowMs += pauseMs;
        model = Math.min(of.burst * 1_000, model + pauseMs * of.requests_per_second);
        const isThere = model >= 1_000;
        if (isThere) model -= 1_000;
        expect(bucket.take(nowMs)).toBe(isThere);
        expect(bucket.left).toBe(Math.floor(model / 1_000));
        const missing = Math.max(0, 1_000 - model);
        expect(bucket.secondsUntil(1)).toBe(Math.ceil(missing / 1_000 / of.requests_per_second));
      }
    }),
  );
});

test('without a limit there is nothing to count', () => {
  const none = new RateLimits({tenant: null, key: null}, 1, () => 0, new RouterMetrics());
  expect(none.ofTenant({})).toBeNull();
  expect(none.ofKey(null)).toBeNull();
  expect(none.ofKey({rateLimit: null})).toBeNull();
});

test('a key has its own limit, or that of all keys; who comes with another secret of it spends from the same', () => {
  const all = new RateLimits({tenant: null, key: {requests_per_second: 1, burst: 1}}, 1, () => 0, new RouterMetrics());
  const spend = (key: Parameters<RateLimits['ofKey']>[0]) => all.ofKey(key)?.spend()?.detail?.limit ?? null;
  const key = {rateLimit: {requests_per_second: 1, burst: 2}};
  expect([spend(key), spend(key), spend(key)]).toEqual([null, null, 'key']);
  const other = {rateLimit: null};
  expect([spend(other), spend(other)]).toEqual([null, 'key']);
  expect([spend(null), spend(null), spend(null)]).toEqual([null, null, null]);
});

describe('of each tenant', () => {
  test('beyond its burst requests are 429, and as many as it earns are served', () => {
    const {clock, all} = limits({requests_per_second: 2, burst: 3});
    const tenant = {};
    const spend = (count: number) => Array.from({length: count}, () => all.ofTenant(tenant).spend()?.status ?? 200);
    expect(spend(5)).toEqual([200, 200, 200, 429, 429]);
    clock.nowMs += 1_000;
    expect(spend(3)).toEqual([200, 200, 429]);
    clock.nowMs += 3_600_000;
    expect(spend(5)).toEqual([200, 200, 200, 429, 429]);
  });

  test('one does not spend what is another one’s', () => {
    const {all} = limits({requests_per_second: 1, burst: 1});
    const [one, other] = [{}, {}];
    expect([one, one, other].map(tenant => all.ofTenant(tenant).spend()?.status ?? 200)).toEqual([200, 429, 200]);
  });

  test('who is refused learns by which limit, and when to come again', () => {
    const {all} = limits({requests_per_second: 0.01, burst: 1});
    const allowance = all.ofTenant({});
    allowance.spend();
    const error = allowance.spend();
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      code: 'op.rate_limited',
      retryAfterS: 100,
      detail: {limit: 'tenant', retry_after_seconds: 100},
      message: 'this tenant may have 0.01 requests a second, and 1 at once: try again in 100 s',
    });
  });

  test('what is left is said in the form of the draft', () => {
    const {clock, all} = limits({requests_per_second: 10, burst: 50});
    const allowance = all.ofTenant({});
    for (let i = 0; i < 20; i++) allowance.spend();
    expect(Object.fromEntries(allowance.headers())).toEqual({
      'RateLimit-Policy': '"tenant";q=50;w=5',
      RateLimit: '"tenant";r=30;t=2',
    });
    clock.nowMs += 60_000;
    allowance.spend();
    expect(allowance.headers()[1]).toEqual(['RateLimit', '"tenant";r=49;t=1']);
  });

  test('several routers together give what one gives, and each at least one at once', () => {
    const tenant = {};
    const four = Array.from({length: 4}, () => limits({requests_per_second: 8, burst: 12}, 4));
    const served = () =>
      four.map(
        ({all}) => Array.from({length: 12}, () => all.ofTenant(tenant).spend()).filter(error => error === null).length,
      );
    expect(served()).toEqual([3, 3, 3, 3]);
    for (const {clock} of four) clock.nowMs += 500;
    expect(served()).toEqual([1, 1, 1, 1]);
    expect(limits({requests_per_second: 1, burst: 1}, 16).all.ofTenant(tenant).spend()).toBeNull();
  });
});
