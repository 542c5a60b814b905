import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {ROUTER_HELD_BYTES_MAX, TENANT_HELD_BYTES_MAX, TENANT_SHARE_BYTES} from '../../router/limits.ts';
import {limitsOfOne} from '../../router/router-limits.ts';
import {HeldBytes, RouterBytes} from '../../router/workers/held-bytes.ts';

/** Takes all it can get in pieces. */
function takeAll(tenant: HeldBytes, chunk = 64 * 1024): number {
  while (tenant.hasRoom(chunk)) tenant.take(chunk);
  return tenant.held;
}

describe('bytes that the router holds', () => {
  test('one tenant has TENANT_HELD_BYTES_MAX at most, and when many take all they can, the next has its share', () => {
    const router = new RouterBytes(limitsOfOne(1));
    expect(takeAll(new HeldBytes(router))).toBe(TENANT_HELD_BYTES_MAX);
    for (let tenants = 1; tenants < 200; tenants++) {
      expect(takeAll(new HeldBytes(router))).toBeGreaterThanOrEqual(TENANT_SHARE_BYTES);
    }
    expect(router.held).toBeLessThanOrEqual(ROUTER_HELD_BYTES_MAX);
    expect(new HeldBytes(router).hasRoom(TENANT_SHARE_BYTES)).toBe(true);
  });

  test('whatever tenants take and give back: the sum is right and never beyond the maximum', () => {
    const steps = fc.array(fc.record({tenant: fc.nat(4), bytes: fc.nat(300 * 1024 * 1024), gives: fc.boolean()}));
    fc.assert(
      fc.property(steps, all => {
        const router = new RouterBytes(limitsOfOne(1));
        const tenants = Array.from({length: 5}, () => new HeldBytes(router));
        for (const {tenant: n, bytes, gives} of all) {
          const tenant = tenants[n]!;
          if (gives) tenant.give(Math.min(bytes, tenant.held));
          else if (tenant.hasRoom(bytes)) tenant.take(bytes);
          expect(router.held).toBe(tenants.reduce((sum, {held}) => sum + held, 0));
          expect(router.held).toBeLessThanOrEqual(ROUTER_HELD_BYTES_MAX);
        }
      }),
    );
  });
});
