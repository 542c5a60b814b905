import fc from 'fast-check';
import {expect, test} from 'vitest';
import {WORKER_LINK_OUTPUT_BYTES_MIN, WORKER_OUTPUT_BYTES_MAX} from '../../worker/ipc/limits.ts';
import {LinkShare} from '../../worker/ipc/link-share.ts';
import {RouterCaches} from '../../worker/ipc/router-caches.ts';

test('links of routers of any host share the output, each with a least share, whatever opens and closes', () => {
  fc.assert(
    fc.property(fc.integer({min: 1, max: 16}), fc.array(fc.boolean(), {maxLength: 400}), (routers, steps) => {
      const share = new LinkShare(routers, RouterCaches.of(routers, false));
      let links = 0;
      for (const opens of steps) {
        if (opens) {
          share.opened();
          links++;
        } else if (links > 0) {
          share.closed();
          links--;
        }
        const {outputBytesMax} = share;
        expect(outputBytesMax).toBeGreaterThanOrEqual(WORKER_LINK_OUTPUT_BYTES_MIN);
        const isLeast = outputBytesMax === WORKER_LINK_OUTPUT_BYTES_MIN;
        expect(isLeast || Math.max(routers, links) * outputBytesMax <= WORKER_OUTPUT_BYTES_MAX).toBe(true);
        if (links <= routers) expect(outputBytesMax).toBe(WORKER_OUTPUT_BYTES_MAX / routers);
      }
    }),
  );
});
