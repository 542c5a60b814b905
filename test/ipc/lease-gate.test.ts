import {expect, test} from 'vitest';
import {LeaseGate} from '../../worker/ipc/lease-gate.ts';

function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

test('one that waits again while it is resumed waits for the next renewal', async () => {
  const gate = new LeaseGate();
  expect(gate.holds()).toBe(false);
  const resumed: boolean[] = [];
  const again = Promise.withResolvers<boolean>();
  gate.whenRenewed(holds => {
    resumed.push(holds);
    gate.whenRenewed(again.resolve);
  });
  gate.until(nowMs() + 60_000);
  expect([resumed, gate.holds()]).toEqual([[true], true]);
  gate.until(nowMs() + 60_000);
  expect(await again.promise).toBe(true);
});
