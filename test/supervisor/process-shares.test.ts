/** CPU shares of processes: over a window, however often the figures are read. */
import {afterEach, expect, test, vi} from 'vitest';
import {PROCESSES_POLL_MS} from '../../supervisor/limits.ts';
import {SupervisorMetrics} from '../../supervisor/metrics/metrics.ts';

afterEach(() => vi.useRealTimers());

test('a scrape of a moment ago does not make them shares of a moment', async () => {
  vi.useFakeTimers({toFake: ['performance']});
  const metrics = new SupervisorMetrics([], {
    tenants: () => 0,
    spares: () => 0,
    isUnwritable: () => false,
    states: () => [],
    children: () => new Map(),
  });
  await metrics.json();
  const before = process.cpuUsage();
  while (process.cpuUsage(before).user < 60_000);
  vi.advanceTimersByTime(PROCESSES_POLL_MS);
  const {shares, cpuMs} = await metrics.processes();
  expect(shares.supervisor).toBeGreaterThan(0);
  expect(shares.supervisor).toBeLessThanOrEqual(cpuMs.supervisor / PROCESSES_POLL_MS);
  vi.advanceTimersByTime(1);
  const [, again] = await Promise.all([metrics.json(), metrics.processes()]);
  expect(again.shares).toEqual(shares);
});
