/** When drills of the backup are due. */
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, expect, test, vi} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {DRILL_CHECK_MS} from '../../supervisor/limits.ts';
import {Drills, type DrillsParts} from '../../supervisor/server/drills.ts';

const DAY_MS = 86_400_000;

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ['one is due once a week has passed', 8 * DAY_MS, 1],
  ['none is due before', 6 * DAY_MS, 0],
  ['one is due if the last one is in the future: the clock was set back', -400 * DAY_MS, 1],
])('%s', async (_, sinceMs, drills) => {
  vi.useFakeTimers();
  const tenants = vi.fn<DrillsParts['copier']['tenants']>(() => Promise.resolve([]));
  const parts: DrillsParts = {
    everyMs: 7 * DAY_MS,
    scratch: join(tmpdir(), 'svc-drill-times-none'),
    times: {drilledMs: 1_000 * DAY_MS, provenMs: null},
    remember: () => undefined,
    copier: {tenants, restore: vi.fn(), record: vi.fn()},
    isWriter: () => true,
    runErrand: vi.fn(),
    letPass: () => undefined,
    clock: () => 1_000 * DAY_MS + sinceMs,
    log: createLogger({process: 'supervisor'}, {level: 'error', format: 'json'}),
  };
  const due = new Drills(parts);
  await due.start();
  await vi.advanceTimersByTimeAsync(DRILL_CHECK_MS);
  due.close();
  expect(tenants).toHaveBeenCalledTimes(drills);
});
