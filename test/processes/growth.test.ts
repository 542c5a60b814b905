/** How the soak tells growth from garbage. */
import {expect, test} from 'vitest';
import {growthPerMinute} from '../../bench/soak/memory.ts';

/** Samples of an hour, every two seconds. */
function anHour(bytesAt: (minute: number) => number) {
  return Array.from({length: 1_800}, (_, n) => ({minute: n / 30, bytes: bytesAt(n / 30)}));
}

test('garbage that is collected again is no growth, however much it is', () => {
  expect(growthPerMinute(anHour(minute => 100_000 + 50_000 * (minute % 0.7)))).toBeCloseTo(0, -3);
});

test('what is kept is growth, under garbage as without', () => {
  expect(growthPerMinute(anHour(minute => 100_000 + 2_000 * minute))).toBeCloseTo(2_000);
  const growth = growthPerMinute(anHour(minute => 100_000 + 2_000 * minute + 50_000 * (minute % 0.7)));
  expect(growth).toBeGreaterThan(1_800);
  expect(growth).toBeLessThan(2_200);
});

test('of less than three minutes nothing is said', () => {
  expect(growthPerMinute(anHour(() => 1).filter(({minute}) => minute < 2))).toBeNaN();
});
