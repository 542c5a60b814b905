import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {LONGEST_DELAY_WINDOW_MS, LongestDelay} from '../../router/metrics/longest-delay.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a scrape does not take the longest delay from the next one, and it is shown for one to two windows', () => {
  const sampler = {
    max: 0.52e9,
    reset() {
      this.max = 0;
    },
  };
  const delay = new LongestDelay(sampler);
  expect([delay.seconds(), delay.seconds()]).toEqual([0.5, 0.5]);
  vi.advanceTimersByTime(LONGEST_DELAY_WINDOW_MS);
  expect([delay.seconds(), delay.seconds()]).toEqual([0.5, 0.5]);
  sampler.max = 0.12e9;
  expect(delay.seconds()).toBe(0.5);
  vi.advanceTimersByTime(LONGEST_DELAY_WINDOW_MS);
  expect(delay.seconds()).toBeCloseTo(0.1);
  vi.advanceTimersByTime(LONGEST_DELAY_WINDOW_MS);
  expect(delay.seconds()).toBe(0);
});
