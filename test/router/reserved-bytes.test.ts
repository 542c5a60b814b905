import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {ROUTER_RESERVED_BYTES_MAX, TENANT_RESERVED_BYTES_MAX, TENANT_SHARE_BYTES} from '../../router/limits.ts';
import {limitsOfOne, reservedTotal} from '../../router/router-limits.ts';
import {ReservedBytes} from '../../shared/byte-accounts.ts';

/** Takes all it can get in pieces. */
function takeAll(tenant: ReservedBytes, chunk = 64 * 1024): number {
  while (tenant.hasRoom(chunk)) tenant.take(chunk);
  return tenant.reserved;
}

describe('bytes that the router holds', () => {
  test('one tenant has TENANT_HELD_BYTES_MAX at most, and when many take all they can, the next has its share', () => {
    const router = reservedTotal(limitsOfOne(1));
    expect(takeAll(new ReservedBytes(router))).toBe(TENANT_RESERVED_BYTES_MAX);
    for (let tenants = 1; tenants < 200; tenants++) {
      expect(takeAll(new ReservedBytes(router))).toBeGreaterThanOrEqual(TENANT_SHARE_BYTES);
    }
    expect(router.reserved).toBeLessThanOrEqual(ROUTER_RESERVED_BYTES_MAX);
    expect(new ReservedBytes(router).hasRoom(TENANT_SHARE_BYTES)).toBe(true);
  });

  test('whatever tenants take and give back: the sum is right and never beyond the maximum', () => {
    const steps = fc.array(fc.record({tenant: fc.nat(4), bytes: fc.nat(300 * 1024 * 1024), gives: fc.boolean()}));
    fc.assert(
      fc.property(steps, all => {
        const router = reservedTotal(limitsOfOne(1));
        const tenants = Array.from({length: 5}, () => new ReservedBytes(router));
        for (const {tenant: n, bytes, gives} of all) {
          const tenant = tenants[n]!;
          if (gives) tenant.give(Math.min(bytes, tenant.reserved));
          else if (tenant.hasRoom(bytes)) tenant.take(bytes);
          expect(router.reserved).toBe(tenants.reduce((sum, {reserved}) => sum + reserved, 0));
          expect(router.reserved).toBeLessThanOrEqual(ROUTER_RESERVED_BYTES_MAX);
        }
      }),
    );
  });
});
