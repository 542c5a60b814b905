import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {TenantChanges} from '../../supervisor/server/tenant-changes.ts';

const RETRY_MS = 5_000;
const full = new Error('the disk is full');
let changes: TenantChanges;
let made: string[];
/** What fails now. */
let failing: Set<string>;

beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout']});
  changes = new TenantChanges({retryMs: RETRY_MS, log: createLogger({}, {write: () => undefined})});
  [made, failing] = [[], new Set()];
});
afterEach(() => void vi.useRealTimers());

const change = (name: string) => async () => {
  if (failing.has(name)) throw full;
  made.push(name);
};

async function later(): Promise<void> {
  vi.advanceTimersByTime(RETRY_MS);
  await changes.tried;
}

describe('changes of tenants of the cluster', () => {
  test('are made in their order, and one that fails again until it succeeds', async () => {
    failing.add('acme is made');
    changes.repeat('acme', change('acme is made'));
    changes.repeat('other', change('other is made'));
    await changes.tried;
    await later();
    expect(made).toEqual(['other is made']);
    failing.clear();
    await later();
    await later();
    expect(made).toEqual(['other is made', 'acme is made']);
  });

  test('are not made any more when a later one of the tenant is there: a deleted tenant stays deleted', async () => {
    failing.add('acme is made');
    changes.repeat('acme', change('acme is made'));
    await changes.tried;
    failing.clear();
    changes.repeat('acme', change('acme is deleted'));
    await changes.tried;
    await later();
    expect(made).toEqual(['acme is deleted']);
  });

  test('that a request waits for fail with their error', async () => {
    failing.add('acme is made');
    await expect(changes.make(change('acme is made'))).rejects.toBe(full);
    await changes.make(change('other is made'));
    expect(made).toEqual(['other is made']);
  });
});
