import {describe, expect, test} from 'vitest';
import {ROUTERS_MAX} from '../../cli/limits.ts';
import {FUNCTION_SOCKET_UNHANDLED_BYTES_MAX, SOCKETS_MAX} from '../../router/limits.ts';
import {limitsOfOne, type RouterLimits} from '../../router/router-limits.ts';
import {BODY_BYTES_MAX, FRAME_BODY_BYTES_MAX} from '../../shared/limits.ts';

const COUNTS = Array.from({length: ROUTERS_MAX}, (_, i) => i + 1);
const one = limitsOfOne(1);

describe('the limits of all routers together', () => {
  test('are those of the service', () => {
    expect(one.sockets).toBe(SOCKETS_MAX);
    // How fast failures are earned back is a time, not an amount; what waits for one tenant holds a body at least, and what its sockets
    // have said all that one of them may.
    const {authFailureEarnedMs: _, waitingBytes: __, functionSocketsUnhandledBytes: ___, ...amounts} = one;
    for (const routers of COUNTS) {
      const share = limitsOfOne(routers);
      for (const name of Object.keys(amounts) as (keyof RouterLimits)[]) {
        expect(share[name] * routers).toBeLessThanOrEqual(one[name]);
        expect(share[name] * routers).toBeGreaterThan(one[name] - routers);
      }
      expect(share.authFailureEarnedMs).toBe(one.authFailureEarnedMs * routers);
    }
  });

  test.each(COUNTS)('of %i leave each room for any one request and any one answer', routers => {
    const share = limitsOfOne(routers);
    for (const bytes of [
      share.reservedBytes * 0.75,
      share.tenantReservedBytes,
      share.waitingBytes,
      share.inFlightBytes,
    ]) {
      expect(bytes).toBeGreaterThanOrEqual(BODY_BYTES_MAX);
    }
    expect(share.functionSocketsUnhandledBytes).toBeGreaterThanOrEqual(FUNCTION_SOCKET_UNHANDLED_BYTES_MAX);
    expect(share.unsentReplyBytes).toBeGreaterThanOrEqual(FRAME_BODY_BYTES_MAX);
    expect(share.authFailuresAtOnce).toBeGreaterThanOrEqual(10);
  });
});
